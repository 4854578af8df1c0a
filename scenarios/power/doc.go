// Package power measures how many mistakes in the scheduler each search of this repository finds.
//
// [Mutations] makes mistakes mechanically, in all code of package engine. [Draw] chooses some of each kind by seed. [Bench.Begin]
// builds the testbed without a mistake. [Bench.Measure] builds it with one mistake. Each [Search] then runs that program until a
// promise is broken, or until a process ends, hangs or grows without bound. All searches have the same time, and each has one
// process with one thread. A plan may break a promise without the mistake, too. So a plan that breaks something runs once more
// without the mistake. What it breaks then does not count, and the search continues.
//
// [Bench.Cover] finds out first which code each search executes without a mistake. A run is not changed by a mistake that it does
// not execute. So a search that does not execute a mistake within its time is not run.
//
// A mistake that changes no event of any run does not count: either it changes no behaviour, or no search reached the
// behaviour. If a mistake changes events and no search finds it, either no document asks for what it changes, or the judge
// has a hole. A person must decide which.
//
// Its files, each of which calls only those after it:
//
//	measure.go   a mutant, and the outcome of each search
//	covered.go   the code that each search executes
//	build.go     the testbed's program, with a mistake and without
//	runs.go      runs of a search, and their digests without the mistake
//	search.go    the searches
//	result.go    the rates, with their intervals
//	mutate.go    the mistakes
package power
