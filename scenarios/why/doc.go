// Package why holds what is known of why an invariant was broken.
//
// A [Cause] has the changes to the plan that were tried, which of them the violation does not come without, and what else comes
// of each; the nearest run that holds; the point of no return; and the path, a few sentences that lead to it. Its String is
// what a finding says; a terminal and a page say the two halves of it. Package whatif finds it out by running the plan again;
// this package knows no plans, so that who shows a cause needs none.
//
// Its files, each of which calls only those after it:
//
//	words.go   a cause in sentences
//	cause.go   the cause, as data
package why
