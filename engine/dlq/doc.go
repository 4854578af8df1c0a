// Package dlq keeps what could not be done, for triage (Dead letters): an entry dlq:entry:<jobID> with
// a TTL, and the index dlq:index, whose scores are the times of the entries in unix milliseconds.
//
// Its files, each of which calls only those after it:
//
//	operator.go               what a person does to an entry
//	replayer.go               entries that are replayed by themselves
//	handover.go               a replay, as a job of its own
//	outcome.go                what is decided of an entry, and how it ends
//	growth.go                 a queue that grows too fast
//	change.go                 one change of an entry
//	list.go, dlq.go           the queue
//	status.go                 what becomes of a replay
//	policy.go                 which entries may be replayed
//	validate.go, taxonomy.go  what is wrong with such a policy, and the classes of failure
package dlq
