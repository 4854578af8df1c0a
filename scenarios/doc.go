// Package scenarios runs plans and says what came of them.
//
// A [Plan] is everything that a run depends on besides the build: the engine's settings, the
// nodes, the workload, the faults, the order of steps, the seed, and what the run is there to
// show. It is one YAML file, whether written by hand, drawn at random, shrunk from a failure or
// kept as a regression. [Load] reads a named one ([Names]) or a file, strictly (package strictyaml): an
// error gives file, line and column, what is wrong, and what would be right. [Plan.Set] changes one setting
// of those that [Settings] lists, and [Marshal] writes a plan back.
//
// [Run] puts schedulers, workers and their clients (package world) into a world of package sim,
// lets package faults break it, and gives every event to package invariants. Its [Result] holds the
// verdict, and tells what happened to the jobs that the plan is about.
//
// A setting is described by the tags of its field, by the presets, and by its entry in knobs.go, if it has one.
// [Toggles] lists what the engine can do without: for each part the scenario that shows its worth, and the
// invariant that is violated there without it.
//
// [Draw] draws plans of a [Space]: the room of all plans, or perturbations of one. [Shrink] takes from
// a plan what its failure does not need. What was found so, and is worth keeping, is in
// testdata/regressions.
//
// This is the only room where the engine meets the simulator.
package scenarios
