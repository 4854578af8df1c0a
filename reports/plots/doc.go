// Package plots draws the figures of the pages as SVG, to be inlined, in the colours of the page's style sheet.
//
// [Run] draws a run: its attempts, latencies, retries and breakers over virtual time. [Sweep] draws a sweep: its
// curves and Pareto front, and the map, which is a table. [Found] draws which mutants searches find. [OverNights] draws a number of each night. [MachineOf] draws the state machine of a job. Equal results give equal bytes.
//
// Its files, each of which calls only those after it:
//
//	run.go                    the figures of a run
//	attempts.go, latency.go,
//	retries.go, breakers.go,
//	panels.go                 one of them each
//	timeline.go               what they share
//	pareto.go, curves.go      one kind of figure of a sweep each
//	heatmap.go                its map, cell by cell
//	sweep.go                  what they share
//	found.go                  what searches find, over their time
//	nights.go                 numbers of nights
//	machine.go                the state machine, which is no plot
//	figure.go                 what the template gets
//	labels.go, marks.go       what is drawn into a plot: labels at points and lines; faults, dots and crosses
//	values.go                 the values of a sweep's axis, and the panels of a figure
//	valueaxis.go, scale.go    the axis of a measure, and its scale of colours
//	axes.go                   ticks at round numbers, in a unit that fits
//	svg.go                    sizes and colours, and from gonum's plot to SVG
package plots
