// Package campaign runs many plans in worker processes, and says what they found.
//
// A [Spec] says, as data, which plans there are: drawn by rapid, or a grid of settings under paired
// seeds. [Run] hands ranges of their numbers to workers and takes back a [Record] for each run, which
// it appends to a journal; killed at any moment, it goes on from there. What it makes of the records
// does not depend on the order in which they come, so that a budget of runs gives the same [Result],
// byte for byte, on any number of workers.
//
// A campaign is a folder: [Create] makes it, [Look] says what one holds, [LoadResult] reads what came of
// it. One process at a time runs it.
//
// A process for each worker, which calls [Serve], contains what the code under test may do: a panic, a hang, leaked
// goroutines, a heap without bound. The run is then a [Finding], as a broken promise is. Between a
// campaign and its workers goes nothing but data: [Assignment] there, [Answer] back. [Worker] is the
// seam at which a queue over several machines could take the place of processes.
package campaign
