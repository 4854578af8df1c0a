// Package observe updates a model with a run, event by event, and calls the hooks of the judge's checkers.
//
// Its files, each of which calls only those after it:
//
//	observe.go            an event, taken apart
//	stream.go             messages and executions
//	lock.go, record.go    a job's lock and its record
//	guard.go, tick.go     the idempotency guard, and the loops
//	saga.go, workflow.go  sagas and runs
//	rescue.go             a path of rescue that did what another should have done
//	told.go, hooks.go     what an observer can be asked, and what a checker hooks into
package observe
