// Package invariants has what every judge of runs needs: the [Invariant], the promise matrix as a mechanism,
// and the tally of violations. It knows no service. Packages below invariants/scheduler judge this project's
// scheduler.
//
// An Always invariant is judged at every step, an Eventually invariant once the world has settled. A
// Sometimes is a situation that a campaign must reach, and is counted. An invariant is checked whatever
// happens. But a violation is [Violation.Promised] only if no strike that releases the invariant has reached
// its subject. The invariant's [Row] of the matrix says which strikes release it; settings can close a cell
// of the row. One violation can make others meaningless. Needs names the invariants on which an invariant
// depends: after a violation of one of these, it is no longer checked.
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
