// Package sweep answers a designer's question with many runs: which value of a setting is best, and
// against what does it trade.
//
// A [Definition] is a plan, a grid of settings over it and the seeds under which every point is run. It
// comes from a ready-made sweep, a sweep file, or a scenario and the grids of a command line: see
// [Load] and [Definition.Grid]. Its Spec is a campaign; [Analyse] makes a [Result] of that campaign's
// records: estimates with their intervals, the Pareto front, and for each condition which value to take, by
// so much, and how sure that is. It says no more than paired differences bear out: where they show nothing there
// is nothing to take. A point at which a promise was broken is never recommended.
//
// An [Alternatives] is the same for one of the documentation's tables: each of its rows under the same
// plans and seeds, and a [Comparison] with measured columns.
//
// Its files, each of which calls only those after it:
//
//	load.go         a sweep by its name or its file
//	decode.go       a sweep file
//	compare.go      one of the documentation's tables
//	comparisons.go  the tables that there are
//	round.go        runs that are added where the answer is open
//	analyse.go      records into a result
//	evidence.go     the differences behind an answer
//	answer.go       the mean over all conditions, in words
//	effect.go       how much another axis does
//	gist.go         the rows of an answer in a sentence
//	advice.go       one of the rows
//	decide.go       which value to take under one choice of the others
//	worst.go        the run of a point that is worth a look
//	table.go        records by point and seed
//	definition.go   the definition
//	axis.go         one axis of its grid
//	refusal.go      what is wrong with a definition
//	result.go       the result
//	own.go          numbers of somebody's own system
//	contest.go      values against each other, seed by seed
//	estimate.go     a mean and its interval
//	together.go     how many comparisons a sweep makes at once
//	words.go        names and numbers in words
//	values.go       the values of an axis, as written
package sweep
