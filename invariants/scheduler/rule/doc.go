// Package rule has what every invariant of the scheduler is made of. A [Rule] is an invariant with its
// checker and its row of the promise matrix. A [Tally] keeps what the checker found in a run. A rule without
// a checker is a [Situation], which a campaign must sometimes see.
package rule
