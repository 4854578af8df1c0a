// Package invariants has what any judge of runs needs: what an [Invariant] is, the promise matrix as a mechanism, and
// the tally of what was found. It knows no service; package invariants/scheduler has the judge of this project's.
//
// What must always hold is judged at every step, what must eventually hold once the world has settled, and what a
// campaign must sometimes see is counted. An invariant is checked whatever happens. A violation is
// [Violation.Promised] only if no strike that releases the invariant has reached what it is about. Which strikes do is
// its [Row] of the matrix, where settings can close a cell. One violation can make others meaningless; Needs says
// which, and the checks that depend on it stop.
//
// invariant.go says what an invariant is, promise.go what a row of the matrix is, strike.go what a kind of strike is.
// explain.go puts rows into words. tally.go counts the violations of one invariant, with the sets of places.go, and
// words.go says who did something.
package invariants
