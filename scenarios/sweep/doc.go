// Package sweep answers a designer's question with many runs: which value of a setting is best, and what is
// its price.
//
// A [Definition] is a plan, a grid of settings and the seeds with which every point is run. It comes from a
// ready-made sweep, a sweep file, or a scenario and the grids of a command line: see [Load] and
// [Definition.Grid]. Its Spec is a campaign. [Analyse] makes a [Result] of the campaign's records. The Result
// has estimates with their intervals and the Pareto front. For each condition it says which value to take, by
// how much it is better, and how sure that is. It says no more than paired differences bear out: if they show
// nothing, there is no value to take. A point at which a promise was broken is never recommended.
//
// An [Alternatives] does the same for one of the documentation's tables: it runs each row with the same plans
// and seeds. Its result is a [Comparison], the table with measured columns.
//
// Its files, each of which calls only those after it:
//
//	load.go         a sweep, by its name or its file
//	decode.go       a sweep file
//	compare.go      one of the documentation's tables
//	comparisons.go  the list of those tables
//	round.go        runs that are added while an answer is open
//	analyse.go      from records to a result
//	evidence.go     the differences behind an answer
//	answer.go       the mean over all conditions, in words
//	effect.go       the effect of a condition
//	gist.go         a summary of the rows of an answer
//	advice.go       a row of an answer
//	decide.go       which value to take under one combination of the others
//	worst.go        the run of a point that is worth a look
//	table.go        records by point and seed
//	definition.go   the definition
//	axis.go         one axis of its grid
//	refusal.go      errors in a definition
//	result.go       the result
//	own.go          numbers of the user's own system
//	contest.go      the comparison of values, seed by seed
//	estimate.go     a mean and its interval
//	together.go     how many comparisons a sweep makes
//	words.go        names and numbers in text
//	values.go       the values of an axis, as written
package sweep
