// Package search draws plans and shrinks them.
//
// [Draw] draws plans of a [Space]: the room of all plans, or perturbations of one. [Shrink] takes from a plan what its
// failure does not need, and makes plainer what is left.
//
// Its files, each of which calls only those after it:
//
//	shrink.go      from a plan to what its failure needs
//	plainer.go     to what says it more plainly
//	generate.go    from nothing to a plan
//	perturb.go     a given plan, changed a little
//	strikes.go     faults
//	leads.go       what must come about before an operation is made
//	situations.go  what takes several things at once
//	dials.go       settings
//	workload.go    what becomes of single jobs
//	drawkernel.go  the safety kernel's rules, and what comes of them
//	drawer.go      one draw, and one change of the plan
package search
