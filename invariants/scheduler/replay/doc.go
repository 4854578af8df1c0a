// Package replay has the invariants of dead letters and their replay.
//
// Its files, each of which calls only those after it:
//
//	turns.go    which dead letter is visited next
//	triaged.go  where triage leaves a dead letter
//	backoff.go  when a replay comes
//	decided.go  what is told of decisions
//	people.go   what people decide
//	told.go     what a dead letter says of what is decided on it
//	effects.go  what was done on the outside, and under which policy
//	replay.go   what is replayed, and what is not
package replay
