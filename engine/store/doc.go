// Package store keeps job records in Redis: a hash job:<id> a job, and a sorted set
// job:index:<STATE> a state, whose scores are the records' updated_at in unix milliseconds.
//
// Where the dispatch order asks for it, it keeps an outbox too: see [Entry].
//
// Every state write is one MULTI..EXEC that moves the record and its index entry together, and counts
// the record's version. The caller holds the job's lock and says what it read. With Store.Fence that
// is compared in the same transaction, so that a holder who overstayed its lock changes nothing;
// without, writes are blind. Since one transaction spans keys of several slots, the store wants a
// single Redis (with replicas or sentinels), not a cluster.
//
// A sorted set job:deadlines holds the jobs that have a deadline and are not over, by that deadline.
//
// Its files, each of which calls only those after it:
//
//	store.go              a record is made and read
//	approval.go           a record is approved
//	write.go              a record is changed
//	outbox.go, tenant.go  what goes along: the outbox, and the tenant's place
//	index.go              records by state
//	record.go             a record
//	cache.go              what was known of a record
//	watch.go              how Redis does
//	replica.go            a replica of Redis has what was written
package store
