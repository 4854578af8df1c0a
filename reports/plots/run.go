package plots

import (
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/wavetank-sim/wavetank/reports/words"
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
	charts[0].Notes = append(charts[0].Notes, p.late()...)
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
			out[i].Under = &ch.under.Figure
		}
	}
	return out
}

// late says how many violations the plots end before, as those of what never came about in a long time.
func (p *runPlots) late() (note []string) {
	n, first := 0, time.Duration(math.MaxInt64)
	for _, v := range p.res.Violations {
		if v.At.Seconds() > p.end {
			n, first = n+1, min(first, v.At)
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return []string{"1 violation comes after the end of these plots, at " + words.Instant(first) + "."}
	}
	return []string{words.Count(n) + " violations come after the end of these plots, the first at " + words.Instant(first) + "."}
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
