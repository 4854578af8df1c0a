// Package scenarios runs plans and says what came of them.
//
// [Run] has package scheduler put schedulers, workers and their clients into a world of package sim, lets package
// faults break it, and gives every event to package invariants. Its [Result] holds the verdict, and tells what happened to
// the jobs that the plan is about.
//
// A plan comes from package plans, which has the named scenarios; package search draws plans and shrinks them. What was
// found so, and is worth keeping, is in testdata/regressions; package why finds what it hangs on. Package campaign makes
// many runs, and package sweep compares the points of a grid. Package claims says what the scheduler's documents claim,
// and what here shows it. Package samples is what a Prometheus would scrape in a run, and package alerts evaluates rules
// over that.
//
// Its files, each of which calls only those after it:
//
//	run.go                         a run from its plan to its result
//	conditions.go                  how slow its network is
//	judge.go                       the result
//	command.go                     the commands that make the run again, and explain it
//	check.go                       a stored result against its run
//	story.go                       the story, in the order of time
//	struck.go                      the strikes in it
//	tell.go                        whom it is about, and how they ended
//	record.go                      an event taken down, for the story
//	progress.go                    whether anything is left to wait for
//	runresult.go, derived.go       workflow runs, and jobs that come of other jobs
//	notes.go, locks.go, causes.go  what the judge's model adds, locks, and why something came about
//	deliveries.go                  messages that came again
//	loss.go, blind.go              what servers lost, and jobs that nobody was at
//	letters.go                     dead letters, and what is left to do about them
//	consent.go                     approvals
//	jobrecord.go                   all that was taken down, and of a job
//	moments.go                     one thing that happened, in words
//	lines.go                       a sentence of a story, and its place
//	noticed.go                     an alert, beside who else noticed
//	words.go                       numbers and lists in words
//	result.go                      what a result holds
package scenarios
