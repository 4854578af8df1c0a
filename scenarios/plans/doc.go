// Package plans is what a run depends on besides the build: a [Plan].
//
// A plan is one YAML file: the engine's settings, the nodes, the workload, the faults, the order of steps, the seed,
// and what the run is there to show. It may be written by hand, drawn at random, shrunk from a failure or kept as a
// regression. The YAML files beside this one are the named scenarios.
//
// [Load] reads a named plan ([Names]) or a file, strictly (package strictyaml): an error gives file, line and column,
// what is wrong, and what would be right. [Plan.Set] changes one setting of those that [Settings] lists, and [Marshal]
// writes a plan back.
//
// A setting is described by the tags of its field, by the presets, and by its entry in knobs.go, if it has one. [Toggles]
// lists what the engine can do without: for each part the scenario that shows its worth, and the invariant that is
// violated there without it.
//
// Its files, each of which calls only those after it:
//
//	load.go                         a plan from a file, and back
//	idle.go, toggles.go             settings that mean nothing in a plan, and what the engine can do without
//	cuts.go                         a smaller plan
//	validate.go                     what is wrong with a plan
//	settings.go                     settings by name
//	patience.go, defaults.go        how long a plan takes to settle, and the plan that says nothing
//	knobs.go                        what a setting is for, and what search draws for it
//	phases.go                       the operations that a fault can strike
//	routing.go, perjob.go           what is said of single jobs
//	kernel.go, runs.go, failure.go  the safety kernel, workflow runs and executions that fail
//	shape.go                        how long a plan's parts last
//	expect.go                       what a plan is there to show
//	about.go                        the jobs that a plan is about
//	plan.go                         a plan
//	lag.go                          how long something is under way
//	instant.go                      when the world begins
//	named.go, names.go              the scenarios, and the names of jobs and nodes
package plans
