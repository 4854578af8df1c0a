// Package search draws plans and shrinks them.
//
// [Draw] draws plans of a [Space]: the room of all plans, or perturbations of one. generate.go holds the drawer,
// dials.go and drawkernel.go draw settings, strikes.go draws faults, situations.go brings about what takes several
// things at once, and perturb.go changes a given plan a little.
//
// [Shrink] takes from a plan what its failure does not need, and plainer.go makes plainer what is left.
package search
