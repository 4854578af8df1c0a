// Package invariants has what any judge of runs needs: what an [Invariant] is, the promise matrix as a mechanism, and
// the tally of what was found. It knows no service; package invariants/scheduler has the judge of this project's.
//
// What must always hold is judged at every step, what must eventually hold once the world has settled, and what a
// campaign must sometimes see is counted. An invariant is checked whatever happens. A violation is
// [Violation.Promised] only if no strike that releases the invariant has reached what it is about. Which strikes do is
// its [Row] of the matrix, where settings can close a cell. One violation can make others meaningless; Needs says
// which, and the checks that depend on it stop.
//
// Its files, each of which calls only those after it:
//
//	tally.go             the violations of one invariant
//	explain.go           rows of the matrix in words
//	promise.go           a row of the matrix
//	strike.go            a kind of strike
//	invariant.go         an invariant
//	places.go, words.go  sets of what was struck, and who did something
package invariants
