// Package replay has the invariants of dead letters and their replay.
package replay
