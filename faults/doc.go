// Package faults says what can go wrong in a world, and makes it so.
//
// A [Fault] is one semantic decision: "the 2nd rollback_write of job 3 fails after it was applied",
// never an offset into a run, so that it still means the same when the code under test has
// changed. [Kinds] lists the effects, with the kinds of operation that each can strike;
// [Fault.Validate] says what is wrong with a fault and what would be right.
//
// The package knows operations, nodes and phases only by what its caller tells it in a [World], so
// it serves any service that runs in a world of package sim.
package faults
