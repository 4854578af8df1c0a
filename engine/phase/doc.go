// Package phase names the parts of handling a job. The engine tags the context of every store and
// bus call with the job and the phase it serves; retry events, logs and metrics carry the phase
// too (Dispatch ordering, next step 2: "Tag retry events with dispatch phase").
//
// Its files, each of which calls only those after it:
//
//	phase.go                         the phases of a job's dispatch, and the tag
//	policy.go, output.go, tenant.go  those of the safety kernel, of outputs and of tenants
//	saga.go, replay.go, workflow.go  those of sagas, of dead letters and of runs
package phase
