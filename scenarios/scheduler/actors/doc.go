// Package actors holds those around the scheduler: the submitter that gives it jobs, the
// workers that execute them, and the ledger of what the executions did to the outside.
//
// They are real clients of the same servers, and nodes of the same world: they crash, are cut off
// and race like everyone else. None of them knows the scheduler's insides; they speak its packets.
package actors
