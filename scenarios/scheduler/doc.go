// Package scheduler puts the scheduler of package engine into a world of package sim.
//
// A [System] starts the nodes of a plan: schedulers with the clients that the world gives them, the safety kernel, and
// those around them (package actors). [Tags] and [MessageTags] name their operations, [Describe] says in words what one
// did, and [JudgeConfig] what judging has to know of a plan. This is the only room where the engine meets the
// simulator.
//
// Its files, each of which calls only those after it:
//
//	system.go                         the nodes of a plan
//	approvals.go, runs.go, kernel.go  who approves, who starts runs, and the safety kernel
//	client.go                         what clients of the scheduler are given
//	stalepicks.go                     picks of stale workers, which no event shows
//	judging.go                        what judging has to know of a plan
//	failures.go                       which executions fail
//	asked.go                          what clients ask for
//	describe.go                       what an operation did, in a sentence
//	records.go, tags.go               the engine's words for states and operations
package scheduler
