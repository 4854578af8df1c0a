// Package scenarios runs plans and reports the results.
//
// [Run] makes a world of package sim. Package scheduler puts schedulers, workers and clients into it, package
// faults strikes it, and package invariants judges every event. The [Result] holds the verdict, and tells
// what happened to the jobs that the plan is about.
//
// Plans come from package plans, which also has the named scenarios. Package search draws plans at random and
// shrinks them; the finds that are worth keeping are in testdata/regressions. Package why finds what a
// violation depends on. Package campaign makes many runs, and package sweep compares the points of a grid.
// Package claims lists what the scheduler's documents claim, and what here shows it. Package samples records
// what a Prometheus would scrape in a run, and package alerts evaluates rules over that.
//
// Its files, each of which calls only those after it:
//
//	run.go                         a run, from its plan to its result
//	conditions.go                  the delays of its network and disks
//	judge.go                       the assembly of the result
//	command.go                     the commands that repeat the run and explain it
//	check.go                       the check of a stored result against its run
//	story.go                       the story, in the order of time
//	struck.go                      the strikes in it
//	tell.go                        the jobs that the story is about, and how they ended
//	record.go                      an event, recorded for the story
//	progress.go                    whether anything is left to wait for
//	runresult.go, derived.go       workflow runs, and jobs that the schedulers submit
//	notes.go, locks.go, causes.go  what the judge's model adds, locks, and causes
//	deliveries.go                  redelivered messages
//	loss.go, blind.go              what servers lost, and jobs that no worker had
//	letters.go                     dead letters, and what is left to do about them
//	consent.go                     approvals
//	jobrecord.go                   what is recorded of the run, and of a job
//	moments.go                     one thing that happened, in words
//	lines.go                       a sentence of a story, and its place
//	noticed.go                     an alert, compared with the run
//	words.go                       numbers and lists in words
//	result.go                      what a result holds
package scenarios
