// Package scheduler puts the scheduler of package engine into a world of package sim.
//
// A [System] starts the nodes of a plan: schedulers with the world's clients, the safety kernel, and the
// nodes around them (package actors). [Tags] and [MessageTags] name their operations, [Describe] describes an
// operation, and [JudgeConfig] is what judging must know of a plan. This is the only package in which the
// engine meets the simulator.
//
// Its files, each of which calls only those after it:
//
//	system.go                         the nodes of a plan
//	approvals.go, runs.go, kernel.go  approvers, starters of runs, and the safety kernel
//	client.go                         clients of the scheduler
//	stalepicks.go                     picks of stale workers, which no event shows
//	judging.go                        what judging must know of a plan
//	failures.go                       which executions fail
//	asked.go                          the requests of clients
//	describe.go                       an operation in words
//	records.go, tags.go               the engine's words for states and operations
package scheduler
