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
// plan.go holds the type, kernel.go, routing.go, runs.go and failure.go its larger parts. A setting is described by
// the tags of its field, by the presets, and by its entry in knobs.go, if it has one. [Toggles] lists what the engine
// can do without: for each part the scenario that shows its worth, and the invariant that is violated there without
// it. phases.go lists the operations that a fault can strike. cuts.go makes a plan smaller, which search does step by
// step. shape.go and patience.go say how long a plan's parts take.
package plans
