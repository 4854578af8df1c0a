// Package search draws plans and shrinks them.
//
// [Draw] draws plans of a [Space]: any plans, or perturbations of one. [Shrink] removes from a plan what its
// failure does not need, and simplifies the rest.
//
// Its files, each of which calls only those after it:
//
//	shrink.go      a plan, reduced to what its failure needs
//	plainer.go     simpler forms of the rest
//	generate.go    a plan, drawn from nothing
//	perturb.go     a given plan, changed a little
//	strikes.go     faults
//	leads.go       what must happen before an operation can
//	situations.go  situations that take several things at once
//	dials.go       settings
//	workload.go    what happens to single jobs
//	drawkernel.go  the safety kernel and its rules
//	drawer.go      one draw, and one change of the plan
package search
