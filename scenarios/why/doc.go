// Package why holds what is known of why an invariant was broken.
//
// A [Cause] has the changes to the plan that were tried, and which of them the violation does not come without; the nearest run
// without it; the point of no return; and the path, a few sentences that lead to it. Its String is what a terminal, a page and
// a finding say. Package whatif finds it out by running the plan again; this package knows no plans, so that who shows a cause
// needs none.
package why
