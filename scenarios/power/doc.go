// Package power measures how much of what can be wrong with the scheduler the searches of this repository find.
//
// [Mutations] makes mistakes by machine, all over the code of package engine: nobody chose them because a test finds them.
// [Draw] takes some of each kind by seed. [Bench.Begin] builds the testbed without a mistake. [Bench.Measure] builds the testbed with one of them planted, and has each
// [Search] run it until a promise is broken, or a process ends, hangs or grows without bound. Each has the same time at most, and
// one process with one thread. A drawn plan, or a fault, may break a promise without the mistake, too. So each plan that breaks
// something runs once more without the mistake, and what it breaks there counts for nothing: the search goes on.
//
// [Bench.Cover] finds out before which code each search executes without a mistake. Until a run comes to the mistake it is
// what it is without it. So a search that does not execute the code of a mistake within its time is not run with it.
//
// A mistake under which every event of every run is what it is without it counts for nothing, either: it changes no behaviour,
// or none that a search came upon. One that changes events, and that nothing finds, changes nothing that any document asks
// for, or the judge has a hole. Which of the two it is a person has to say.
//
// Its files, each of which calls only those after it:
//
//	measure.go   a mutant, and what each search comes to
//	covered.go   what each search executes
//	build.go     the testbed's program, with a mistake and without
//	runs.go      runs of a search, and their digests without the mistake
//	search.go    what is run
//	result.go    the rates, with their intervals
//	mutate.go    the mistakes
package power
