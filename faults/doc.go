// Package faults says what can go wrong in a world, and makes it so.
//
// A [Fault] is one semantic decision: "the 2nd rollback_write of job 3 fails after it was applied",
// never an offset into a run, so that it still means the same when the code under test has
// changed. [Kinds] lists the effects, with the kinds of operation that each can strike;
// [Fault.Validate] says what is wrong with a fault and what would be right.
//
// The package knows operations, nodes and phases only by what its caller tells it in a [World], so
// it serves any service that runs in a world of package sim.
//
// Its files, each of which calls only those after it:
//
//	validate.go   what is wrong with a fault, and what would be right
//	window.go     from the first fault until nothing of one is left, and the heal
//	injector.go   which fault strikes what, and those that strike nodes and servers
//	partition.go  what a node is cut off from, and what then becomes of its operations
//	refuse.go     a Redis that refuses commands
//	fired.go      what took effect, until when, and what did not
//	effect.go     what becomes of an operation that is struck
//	words.go      a fault in words
//	family.go     operations for which a fault means the same
//	catalog.go    the kinds of fault, and what each can strike
//	refusal.go    which commands Redis refuses, and why
//	fault.go      a fault
package faults
