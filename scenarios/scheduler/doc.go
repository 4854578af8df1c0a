// Package scheduler puts the scheduler of package engine into a world of package sim.
//
// A [System] starts the nodes of a plan: schedulers with the clients that the world gives them, the safety kernel, and
// those around them (package actors). [Tags] and [MessageTags] name their operations, [Describe] says in words what one
// did, and [JudgeConfig] what judging has to know of a plan. This is the only room where the engine meets the
// simulator.
//
// system.go starts what the files after it run: kernel.go, approvals.go, runs.go and failures.go. stalepicks.go follows
// what no event shows. records.go and tags.go have the words of the engine that runs, stories and pages use, and
// describe.go makes sentences of them.
package scheduler
