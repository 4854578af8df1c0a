// Package replay has the invariants of dead letters and their replay.
//
// Its files, each of which calls only those after it:
//
//	replay.go   what is replayed, and what is not
//	effects.go  what was done on the outside, and under which policy
//	backoff.go  when a replay comes
//	turns.go    which dead letter is visited next
package replay
