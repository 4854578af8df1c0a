// Package observe updates a model with a run, event by event, and calls the hooks of the judge's checkers.
//
// Its files, each of which calls only those after it:
//
//	observe.go            an event, taken apart
//	stream.go             messages and executions
//	lock.go, record.go    a job's lock and its record
//	guard.go, tick.go     the idempotency guard, and the loops
//	saga.go, workflow.go  sagas and runs
//	rescue.go             the rescue of a job or a run by another part of the scheduler
//	told.go, hooks.go     queries to an observer, and the hooks of checkers
package observe
