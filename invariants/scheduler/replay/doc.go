// Package replay has the invariants of dead letters and their replay.
//
// Its files, each of which calls only those after it:
//
//	turns.go    which dead letter is visited next
//	triaged.go  where triage leaves a dead letter
//	backoff.go  when a replay comes
//	decided.go  the audit of decisions
//	people.go   what people decide
//	told.go     what a dead letter says of what is decided on it
//	effects.go  effects, and the policy of a replay
//	replay.go   what is replayed, and what is not
package replay
