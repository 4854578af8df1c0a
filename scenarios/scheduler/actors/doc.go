// Package actors has the scheduler's surroundings: the submitter that gives it jobs, the workers that execute
// them, and the ledger of the executions' effects.
//
// Actors are real clients of the same servers, and nodes of the same world. They crash, are cut off and race
// like all nodes. They do not know how the scheduler works inside, only its packets.
//
// Its files, each of which calls only those after it:
//
//	worker.go                               a worker
//	failure.go, output.go                   the ends of its executions, and their outputs
//	ledger.go                               the effects of executions
//	submitter.go, approver.go, stranger.go  clients, and a node that publishes nonsense
//	kernel.go                               the safety kernel
//	errand.go                               what clients do at a time
//	roles.go                                the roles of nodes
package actors
