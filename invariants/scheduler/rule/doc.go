// Package rule is what every invariant of the scheduler is made of: a [Rule] is an invariant with its checker and its row of
// the promise matrix, and a [Tally] keeps what the checker found in a run. A rule without a checker of its own is a
// [Situation], which a campaign must sometimes see.
package rule
