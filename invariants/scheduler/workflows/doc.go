// Package workflows has the invariants of workflow runs and of sagas.
//
// Its files, each of which calls only those after it:
//
//	workflows.go  all of them
//	saga.go       sagas and their compensations
//	workflow.go   runs, their steps and their delays
package workflows
