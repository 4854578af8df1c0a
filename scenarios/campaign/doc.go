// Package campaign runs many plans in worker processes, and reports what they found.
//
// A [Spec] says, as data, which plans there are: plans drawn by rapid, a grid of settings with paired seeds,
// one plan struck by sets of faults in turn, or given plans. [Run] hands ranges of their numbers to workers,
// and receives a [Record] for each run. It appends the records to a journal. A Run that was killed at any
// moment continues from the journal. The [Result] does not depend on the order of the records: a budget of
// runs gives the same Result, byte for byte, on any number of workers.
//
// A campaign is a folder. [Create] makes it, [Look] says what a folder holds, and [LoadResult] reads the
// result. One process at a time runs it.
//
// Each worker is a process that calls [Serve]. It contains what the code under test may do: panic, hang, leak
// goroutines, or use memory without limit. Such a run is a [Finding], as a broken promise is. Only data
// passes between a campaign and its workers: an [Assignment] one way, an [Answer] the other.
//
// Several machines can share a campaign in two ways. A [Shard] is a part of its runs, and [Merge] puts the
// folders of all parts together. [Elsewhere] lets any machine join: each has the [Job] and does chunks of
// runs. Package queue implements it with JetStream. In both ways the result is that of one machine: a run
// depends only on its number, and the examinations depend on the runs in their order, whoever made them.
//
// Its files, each of which calls only those after it:
//
//	merge.go                           one campaign from the folders of its shards
//	gaps.go                            runs that are in no folder
//	sofar.go                           what an unfinished campaign has found so far
//	campaign.go                        a campaign from its folder to its result
//	open.go                            a folder, opened where its campaign was left
//	chunks.go                          chunks of runs for a campaign on another machine
//	loop.go                            the loop over its runs
//	seat.go                            one worker: its assignments, and their outcomes
//	pursue.go                          the examination of what broke
//	elsewhere.go                       runs on other machines
//	supervisor.go                      the state of a campaign, and a finished run
//	crew.go, options.go                the workers, their work, and the options
//	serve.go                           a worker
//	heap.go, stopwatch.go, measure.go  its memory and time, and the measures of a run
//	repair.go                          what became of failed jobs
//	process.go, seam.go                a worker, seen from outside
//	examine.go                         from a run that broke a promise to a finding
//	unshrunk.go                        a finding that could not be examined
//	hunt.go                            which run to examine next
//	story.go                           a finding's story
//	source.go                          what a folder holds of a campaign, and how two differ
//	folder.go                          the folder
//	journal.go                         the runs that are done
//	files.go                           files that are written atomically
//	fold.go                            from records to a result
//	group.go                           findings, grouped by what is to blame
//	result.go                          the result
//	fingerprint.go                     what identifies a finding
//	observe.go                         from a run to a record
//	cause.go                           what a plan has beyond a calm one
//	kinds.go                           kinds of fault, by what they do and where
//	record.go                          a record
//	spec.go, todo.go, shard.go         which plans there are, which are still to run, and which belong to a shard
//	stack.go                           the stacks that a process leaves behind
package campaign
