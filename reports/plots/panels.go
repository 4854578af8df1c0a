package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

// panels are the figures that the documents ask for on a dashboard, from what a Prometheus would have scraped: those of
// engine/grafana. What is to be seen beside something else stands under it.
func (p *runPlots) panels() []chart {
	rec := p.res.Samples
	if rec == nil {
		return nil
	}
	per := " per " + words.Duration(rec.Interval)
	failClosed := linesOf("fail-closed retries", rec.Increases("scheduler_state_read_fail_closed_total"))
	errors := linesOf("failed on Redis:", rec.Increases("scheduler_redis_errors_total", "operation"))
	stale := linesOf("picks of stale workers", rec.Increases("scheduler_stale_worker_retry_total"))
	denied := linesOf("denied", map[string][]float64{"": deniedShare(rec)})
	return []chart{
		p.panel("Retries by phase and reason", "No message was handed back.",
			panelPlot{"retries" + per, false, linesOf("", rec.Increases("scheduler_retry_total", "phase", "reason_code"))}),
		p.panel("Retries that failed closed and errors of Redis, beside its latency", "No state read failed, and no operation on Redis.",
			panelPlot{"failures" + per, false, append(failClosed, errors...)},
			panelPlot{"mean latency", true, linesOf("latency of a", means(rec, "scheduler_redis_latency", "operation"))}),
		p.panel("Picks of stale workers, beside the ages of heartbeats", "No pick met a stale worker.",
			panelPlot{"picks" + per, false, stale},
			panelPlot{"age", true, linesOf("age:", percentiles(rec.Highest("scheduler_heartbeat_age", "quantile")))}),
		p.panel("Growth of the dead-letter queue, beside the rate of denied replays", "No dead letter was written.",
			panelPlot{"new entries" + per, false, linesOf("", rec.Increases("dlq_entries_total", "reason_code"))},
			panelPlot{"share denied", false, denied}),
	}
}

// panelPlot is one plot of a panel: lines over the scrapes.
type panelPlot struct {
	y     string
	time  bool // the values are in seconds
	lines []sampled
}

// say says a value with its unit.
func (p panelPlot) say(value float64) string {
	if p.time {
		return words.Duration(time.Duration(value * float64(time.Second)))
	}
	return words.Number(value)
}

// sampled is a line with a value for each scrape.
type sampled struct {
	name   string
	values []float64
}

// linesOf are lines in the order of their names, without those that never rise above 0.
func linesOf(prefix string, groups map[string][]float64) (lines []sampled) {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if most(groups[group]) > 0 {
			lines = append(lines, sampled{strings.TrimSpace(prefix + " " + group), groups[group]})
		}
	}
	return lines
}

// most is the highest of values, 0 at least.
func most(values []float64) (highest float64) {
	for _, x := range values {
		if x > highest { // not so if x is NaN
			highest = x
		}
	}
	return highest
}

// means are a histogram's means between each scrape and the one before; NaN is none.
func means(rec *samples.Recording, name, by string) map[string][]float64 {
	sums, counts := rec.Increases(name+"_sum", by), rec.Increases(name+"_count", by)
	for group, values := range sums {
		for i := range values {
			values[i] /= counts[group][i]
		}
	}
	return sums
}

// percentiles are quantiles under the names that people have for them.
func percentiles(quantiles map[string][]float64) map[string][]float64 {
	named := map[string][]float64{}
	for q, values := range quantiles {
		named[map[string]string{"0.5": "50th percentile", "0.9": "90th percentile", "1": "oldest"}[q]] = values
	}
	return named
}

// deniedShare is how many of the replays that were decided by each scrape had been denied; NaN is of none.
func deniedShare(rec *samples.Recording) []float64 {
	outcomes := rec.Increases("dlq_replays_total", "outcome")
	share, denied, decided := make([]float64, rec.Scrapes), 0.0, 0.0
	for i := range share {
		for _, outcome := range []string{"denied", "replayed", "already_committed"} {
			if values := outcomes[outcome]; values != nil {
				decided += values[i]
			}
		}
		if values := outcomes["denied"]; values != nil {
			denied += values[i]
		}
		share[i] = denied / decided
	}
	return share
}

// panel is the chart of a panel, whose first plot is what it is about: without lines there is nothing to draw.
func (p *runPlots) panel(title, empty string, plots ...panelPlot) chart {
	ch := chart{Figure: Figure{Title: title}}
	if len(p.drawn(plots[0].lines)) == 0 {
		if ch.Empty = empty; len(plots[0].lines) > 0 {
			ch.Empty = strings.TrimSuffix(empty, ".") + " before these plots end."
		}
		return ch
	}
	var notes []string
	for i, at := range slices.Backward(plots) {
		at.lines = p.drawn(at.lines)
		part := chart{Figure: Figure{Title: title}, label: title, under: ch.under}
		if at.time {
			part.reads = "s"
		}
		if left := len(at.lines) - Colours; left > 0 {
			notes = append(notes, words.Counted(left, "more line")+" left out; samples.json has them.")
			at.lines = at.lines[:Colours]
		}
		for n, l := range at.lines {
			part.label += fmt.Sprintf("; %s up to %s", l.name, at.say(most(l.values)))
			mark := "dash"
			if n == 0 {
				mark = "line"
			}
			part.Legend = append(part.Legend, LegendEntry{mark, fmt.Sprintf("job-%d", n), l.name})
		}
		part.draw = func(s size) *plot.Plot { return p.drawPanel(at, s) }
		if i == 0 {
			ch = part
		} else if len(at.lines) > 0 {
			ch.under = &part
		}
	}
	ch.Legend = append(ch.Legend, p.faultLegend()...)
	every := words.Duration(p.res.Samples.Interval)
	ch.Notes = append(notes, "A value is of the whole "+every+" over which it is drawn, also if the plot ends within them.")
	return ch
}

// drawn are the lines up to the first scrape at which the plot is over, without those that have not risen above 0 by then.
func (p *runPlots) drawn(lines []sampled) (within []sampled) {
	every := p.res.Samples.Interval.Seconds()
	for _, l := range lines {
		n := 0
		for n < len(l.values) && float64(n-1)*every < p.end {
			n++
		}
		if l.values = l.values[:n]; most(l.values) > 0 {
			within = append(within, l)
		}
	}
	return within
}

// drawPanel draws lines, each in a colour of its own.
func (p *runPlots) drawPanel(at panelPlot, s size) *plot.Plot {
	highest := 0.0
	for _, l := range at.lines {
		highest = max(highest, most(l.values))
	}
	y, per := at.y, plain
	if highest > 1 { // no share
		per = whole
	}
	if at.time {
		per = unitFor(time.Duration(highest * float64(time.Second)))
		y += " (" + per.name + ")"
	}
	out := p.start(y, s)
	out.Y.Tick.Marker = unitTicks{per, 4}
	for n, l := range at.lines {
		for _, run := range unbroken(l.values, p.res.Samples.Interval.Seconds(), p.end) {
			line := &plotter.Line{XYs: run, StepStyle: plotter.PreStep}
			line.Color, line.Width, line.Dashes = jobColour(n), 2, jobDashes(n)
			out.Add(line)
		}
	}
	return p.finish(out, 0, highest*1.1)
}

// unbroken are the points of a line: a value is that of the time since the scrape before. A line breaks where there is
// none. It ends with the axis: cut there by the plot, its last point would be between two values.
func unbroken(values []float64, every, end float64) (runs []plotter.XYs) {
	var run plotter.XYs
	for i, x := range values {
		from, to := float64(i-1)*every, min(float64(i)*every, end)
		if math.IsNaN(x) || from >= to {
			run = nil
			continue
		}
		if run != nil {
			runs = runs[:len(runs)-1]
		} else if i > 0 {
			run = plotter.XYs{{X: from, Y: x}}
		}
		run = append(run, plotter.XY{X: to, Y: x})
		runs = append(runs, run)
	}
	return runs
}
