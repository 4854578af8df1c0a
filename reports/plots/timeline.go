package plots

import (
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/plot"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Traced is what the figures of a run show that its result does not have.
type Traced struct {
	Focus     []string        // the jobs with a colour of their own, Colours at most
	Naks      []time.Duration // when messages were handed back
	Rollbacks []time.Duration // when jobs went back from DISPATCHED to SCHEDULED
}

// runPlots are what the charts of one run share: a time axis, its faults, and the colours of jobs.
type runPlots struct {
	plan *plans.Plan
	res  *scenarios.Result
	Traced
	colour map[string]int // of the jobs in focus
	end    float64        // of the time axis, in seconds
	time   unit
}

// chart is a figure that is still to be drawn, once for each size.
type chart struct {
	Figure
	label string
	draw  func(size) *plot.Plot
	under *chart // another plot of the same figure; nil is none
	reads string // what its values are: s for seconds, log for their logarithms, none if it has none; empty for numbers
}

func (p *runPlots) start(y string, s size) *plot.Plot {
	out := newPlot("virtual time ("+p.time.name+")", y, s)
	out.X.Tick.Marker = unitTicks{p.time, s.ticks}
	out.Add(rules(), faultMarks{p.res.Fired, p.end}, violationMarks(p.res.Violations), alertMarks(p.res.Alerts))
	return out
}

// finish sets the axes, after the data had their say.
func (p *runPlots) finish(out *plot.Plot, lo, hi float64) *plot.Plot {
	out.X.Min, out.X.Max = 0, p.end
	out.Y.Min, out.Y.Max = lo, hi
	return out
}

// inWords says of each job in focus what a plot shows of it, for those who do not see the plot.
func (p *runPlots) inWords(say func(scenarios.JobResult) string) string {
	var said []string
	for _, j := range p.res.Jobs {
		if _, own := p.colour[j.ID]; own {
			said = append(said, j.ID+" "+say(j))
		}
	}
	if len(said) == 0 {
		return "."
	}
	return ": " + invariants.List(said) + "."
}

func (p *runPlots) jobLegend(mark string, others bool) []LegendEntry {
	var legend []LegendEntry
	for i, id := range p.Focus {
		m := mark
		if mark == "line" && i > 0 {
			m = "dash"
		}
		legend = append(legend, LegendEntry{m, fmt.Sprintf("job-%d", i), id})
	}
	if others {
		legend = append(legend, LegendEntry{mark, "faint", "other jobs"})
	}
	return append(legend, p.faultLegend()...)
}

func (p *runPlots) faultLegend() []LegendEntry {
	var instants, spans bool
	for _, f := range p.res.Fired {
		_, lasts := endOf(f, p.end)
		spans, instants = spans || lasts, instants || !lasts
	}
	var legend []LegendEntry
	if instants {
		legend = append(legend, LegendEntry{"fault-line", "fault", "fault"})
	}
	if spans {
		legend = append(legend, LegendEntry{"band", "band", "fault that lasts"})
	}
	if slices.ContainsFunc(p.res.Violations, func(v scenarios.Violation) bool { return v.At.Seconds() <= p.end }) {
		legend = append(legend, LegendEntry{"violation-line", "bad", "violation"})
	}
	var fired []string
	for _, a := range p.res.Alerts {
		if !slices.Contains(fired, a.Name) {
			fired = append(fired, a.Name)
			legend = append(legend, LegendEntry{"alert-line", "bad", "alert " + a.Name})
		}
	}
	return legend
}
