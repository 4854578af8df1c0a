package plots

import (
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Run draws the figures of a run. The same input gives the same bytes.
func Run(plan *plans.Plan, res *scenarios.Result, seen Traced) []Figure {
	end := lastWord(res, seen)
	p := &runPlots{plan: plan, res: res, Traced: seen, colour: map[string]int{}, end: end.Seconds(), time: unitFor(end)}
	for i, id := range seen.Focus {
		p.colour[id] = i
	}
	charts := []chart{p.attempts(), p.latency(), p.retries()}
	if len(res.Breakers) > 0 {
		charts = append(charts, p.breakers())
	}
	charts = append(charts, p.panels()...)
	var all []*chart
	for i := range charts {
		for ch := &charts[i]; ch != nil; ch = ch.under {
			all = append(all, ch)
		}
	}
	for _, s := range sizes {
		drawn := make([]*plot.Plot, len(all))
		gutter := vg.Length(0)
		for i, ch := range all {
			if ch.Empty == "" {
				drawn[i] = ch.draw(s)
				gutter = max(gutter, leftOf(drawn[i], s))
			}
		}
		for i, ch := range all {
			if drawn[i] != nil {
				ch.SVGs = append(ch.SVGs, located(render(drawn[i], s, gutter, ch.label), drawn[i], s, gutter, ch.reads))
			}
		}
	}
	out := make([]Figure, len(charts))
	for i, ch := range charts {
		out[i] = ch.Figure
		if ch.under != nil {
			out[i].SVGs = append(out[i].SVGs, ch.under.SVGs...)
		}
	}
	return out
}

// lastWord is when the last thing happened that a plot could show, and a little.
func lastWord(res *scenarios.Result, seen Traced) time.Duration {
	last := time.Duration(0)
	for _, j := range res.Jobs {
		last = max(last, j.Submitted, j.Settled)
		if n := len(j.Path); n > 0 {
			last = max(last, j.Path[n-1].At)
		}
		if n := len(j.Dispatches); n > 0 {
			last = max(last, j.Dispatches[n-1].At)
		}
	}
	for _, f := range res.Fired {
		last = max(last, f.At, f.Until)
	}
	if n := len(res.Breakers); n > 0 {
		last = max(last, res.Breakers[n-1].At)
	}
	for _, a := range res.Alerts {
		last = max(last, a.Fired)
	}
	for _, times := range [][]time.Duration{seen.Naks, seen.Rollbacks} {
		if n := len(times); n > 0 {
			last = max(last, times[n-1])
		}
	}
	if last <= 0 {
		last = max(res.Virtual, time.Second)
	}
	return last + last/50
}
