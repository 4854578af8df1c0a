// Package faults describes what can go wrong in a world, and makes it happen.
//
// A [Fault] is one semantic decision, such as "the 2nd rollback_write of job 3 fails after it was applied".
// It is never an offset into a run, so it keeps its meaning when the code under test changes. [Kinds] lists
// the effects, with the kinds of operation that each can strike. [Fault.Validate] says what is wrong with a
// fault, and how to mend it.
//
// The package knows operations, nodes and phases only from the [World] that its caller gives it, so it serves
// any service that runs in a world of package sim.
//
// Its files, each of which calls only those after it:
//
//	validate.go   what is wrong with a fault, and how to mend it
//	window.go     the time from the first fault to the last effect, and the heal
//	injector.go   which fault strikes what; faults on nodes and servers
//	partition.go  what a node is cut off from, and the outcome of its operations
//	refuse.go     a Redis that refuses commands
//	fired.go      what took effect, until when, and what did not
//	effect.go     the outcome of an operation that is struck
//	words.go      a fault in words
//	family.go     operations for which a fault has the same meaning
//	catalog.go    the kinds of fault, and what each can strike
//	refusal.go    which commands Redis refuses, and why
//	fault.go      a fault
package faults
