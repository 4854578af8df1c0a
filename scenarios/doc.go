// Package scenarios runs plans and says what came of them.
//
// [Run] has package scheduler put schedulers, workers and their clients into a world of package sim, lets package
// faults break it, and gives every event to package invariants. Its [Result] holds the verdict, and tells what happened to
// the jobs that the plan is about.
//
// A plan comes from package plans, which has the named scenarios; package search draws plans and shrinks them. What was
// found so, and is worth keeping, is in testdata/regressions. Package campaign makes many runs, and package sweep
// compares the points of a grid.
//
// run.go plays a plan, and progress.go says what it has still to wait for. record.go follows the run's facts (package
// invariants), moments.go, deliveries.go, locks.go, derived.go, loss.go, notes.go and causes.go what is told of them.
// judge.go makes the result, check.go checks a stored one, and story.go and tell.go tell its story.
package scenarios
