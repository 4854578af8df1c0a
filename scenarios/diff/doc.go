// Package diff says in what two stored runs differ: their plans, their verdicts, the first event that one of them has
// and the other has not, and what came of it in each.
//
// Two runs are equal if they have the same events, the same verdict and the same violations. Their plans and builds may
// differ: then the difference made none.
//
// Its files, each of which calls only those after it:
//
//	diff.go     two runs, and in what they differ
//	plan.go     in what their plans do
//	story.go    both stories from the parting, on one axis
//	parting.go  the first event that differs
package diff
