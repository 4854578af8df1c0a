// Package campaign runs many plans in worker processes, and says what they found.
//
// A [Spec] says, as data, which plans there are: drawn by rapid, a grid of settings under paired
// seeds, one plan struck by sets of faults in turn, or plans that are given. [Run] hands ranges of their numbers to workers and takes back a [Record] for each run, which
// it appends to a journal; killed at any moment, it goes on from there. What it makes of the records
// does not depend on the order in which they come, so that a budget of runs gives the same [Result],
// byte for byte, on any number of workers.
//
// A campaign is a folder: [Create] makes it, [Look] says what one holds, [LoadResult] reads what came of
// it. One process at a time runs it.
//
// A process for each worker, which calls [Serve], contains what the code under test may do: a panic, a hang, leaked
// goroutines, a heap without bound. The run is then a [Finding], as a broken promise is. Between a
// campaign and its workers goes nothing but data: [Assignment] there, [Answer] back.
//
// Several machines share a campaign in two ways. [Shard] is a part of its runs, and [Merge] puts the folders of all parts
// together. [Elsewhere] has its runs done by whoever joins, each a [Job] that does chunks of runs; package queue has one
// that goes by JetStream. In both the result is that of one machine: a run depends on its number alone, and what is
// examined depends on the runs in their order, whoever made them.
//
// Its files, each of which calls only those after it:
//
//	merge.go                           a campaign of the folders of its shards
//	gaps.go                            the runs that no folder has
//	sofar.go                           what one has found so far, over or not
//	campaign.go                        a campaign from its folder to its result
//	open.go                            from the folder to where it was left
//	chunks.go                          runs for a campaign on another machine
//	loop.go                            its runs
//	seat.go                            one worker: what it has in hand, and what becomes of that
//	pursue.go                          an examination of what broke
//	elsewhere.go                       runs on other machines
//	supervisor.go                      the state of a campaign, and a run that is done
//	crew.go, options.go                the workers, what they are to do, and how
//	serve.go                           a worker
//	heap.go, stopwatch.go, measure.go  its memory and time, and the measures of a run
//	repair.go                          what became of the jobs that failed
//	process.go, seam.go                a worker from outside
//	examine.go                         from a run that broke a promise to a finding
//	unshrunk.go                        a finding that could not be examined
//	hunt.go                            which run to examine next
//	story.go                           a finding's story
//	source.go                          what a folder holds of a campaign, and where two differ
//	folder.go                          the folder
//	journal.go                         the runs that are done
//	files.go                           files that are written whole
//	fold.go                            records into a result
//	group.go                           findings by what is to blame
//	result.go                          the result
//	fingerprint.go                     what a finding is known by
//	observe.go                         a run into a record
//	cause.go                           what a plan has that a calm one has not
//	kinds.go                           kinds of faults, by whom and what they strike
//	record.go                          a record
//	spec.go, todo.go, shard.go         which plans there are, which are still to run, and which a shard has
//	stack.go                           the stacks that a process leaves behind
package campaign
