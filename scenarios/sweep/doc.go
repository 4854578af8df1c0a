// Package sweep answers a designer's question with many runs: which value of a setting is best, and
// against what does it trade.
//
// A [Definition] is a plan, a grid of settings over it and the seeds under which every point is run. It
// comes from a ready-made sweep, a sweep file, or a scenario and the grids of a command line: see
// [Load] and [Definition.Grid]. Its Spec is a campaign; [Analyse] makes a [Result] of that campaign's
// records: estimates with their intervals, the Pareto front, and a sentence of recommendation that
// says no more than paired differences bear out. A point at which a promise was broken is never
// recommended.
//
// An [Alternatives] is the same for one of the documentation's tables: each of its rows under the same
// plans and seeds, and a [Comparison] with measured columns.
package sweep
