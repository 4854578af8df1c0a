// Package actors holds those around the scheduler: the submitter that gives it jobs, the
// workers that execute them, and the ledger of what the executions did to the outside.
//
// They are real clients of the same servers, and nodes of the same world: they crash, are cut off
// and race like everyone else. None of them knows the scheduler's insides; they speak its packets.
//
// Its files, each of which calls only those after it:
//
//	worker.go                               a worker
//	failure.go, output.go                   how its executions end, and what they leave
//	ledger.go                               what executions did to the outside
//	submitter.go, approver.go, stranger.go  clients, and one who publishes nonsense
//	kernel.go                               the safety kernel
//	errand.go                               what somebody does at a time
//	roles.go                                who there can be
package actors
