// Package plans has the [Plan], which is everything that a run depends on besides the build.
//
// A plan is a YAML file with the engine's settings, the nodes, the workload, the faults, the order of steps,
// the seed, and what the run is to show. It may be written by hand, drawn at random, shrunk from a failure,
// or kept as a regression. The YAML files of this package are the named scenarios.
//
// [Load] reads a named plan ([Names]) or a file, strictly (package strictyaml): an error gives file, line and
// column, what is wrong, and how to mend it. [Plan.Set] changes one of the settings that [Settings] lists.
// [Marshal] writes a plan.
//
// A setting is described by the tags of its field, by the presets, and by its entry in knobs.go, if it has
// one. [Toggles] lists the parts that the engine can do without. For each it has the scenario that shows its
// worth, and the invariant that is violated there without it.
//
// Its files, each of which calls only those after it:
//
//	load.go                         a plan, read from a file and written
//	idle.go, toggles.go             settings without effect in a plan, and what the engine can do without
//	cuts.go                         a smaller plan
//	validate.go                     the errors in a plan
//	settings.go                     settings by name
//	patience.go, defaults.go        how long a plan takes to settle, and the empty plan
//	knobs.go                        what a setting is for, and which values a search draws
//	phases.go                       the operations that a fault can strike
//	routing.go, perjob.go           settings of single jobs
//	kernel.go, runs.go, failure.go  the safety kernel, workflow runs and executions that fail
//	shape.go                        how long a plan's parts last
//	expect.go                       what a plan is to show
//	about.go                        the jobs that a plan is about
//	plan.go                         a plan
//	lag.go                          how long a message is under way
//	instant.go                      when the world begins
//	named.go, names.go              the scenarios, and the names of jobs and nodes
package plans
