// Package why describes why an invariant was broken.
//
// A [Cause] has the changes to the plan that were tried, which of them prevent the violation, and what else
// happens with each. It also has the nearest run that holds, the point of no return, and the path: a few
// sentences that lead to the violation. Its String is the text of a finding; a terminal and a page show its
// two halves. Package whatif finds a Cause by running the plan again. This package knows no plans, so showing
// a cause needs none.
//
// Its files, each of which calls only those after it:
//
//	words.go   a cause in sentences
//	cause.go   the cause, as data
package why
