// Package store keeps job records in Redis: a hash job:<id> a job, and a sorted set
// job:index:<STATE> a state, whose scores are the records' updated_at in unix milliseconds.
//
// Where the dispatch order asks for it, it keeps an outbox too: see [Entry].
//
// Every state write is one MULTI..EXEC that moves the record and its index entry together. Writes
// are blind: the caller holds the job's lock and says what state it read. Since one transaction
// spans keys of several slots, the store wants a single Redis (with replicas or sentinels), not a
// cluster.
package store
