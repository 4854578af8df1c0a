package plots

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// breakersMax is how many breakers have a row in their plot.
const breakersMax = 12

// breaker is one replica's breaker over a run.
type breaker struct {
	name  string
	spans []breakerSpan
}

// breakerSpan is a time, in seconds, for which it was in one state.
type breakerSpan struct {
	from, to float64
	state    string // closed, half-open or open
	alone    bool
}

// breakersOf turns changes into spans, each breaker's up to end. A breaker is closed until it says
// otherwise.
func breakersOf(changes []scenarios.BreakerChange, end float64) (list []breaker) {
	circuits := map[string]bool{}
	for _, c := range changes {
		circuits[c.Circuit] = true
	}
	at := map[string]int{}
	for _, c := range changes {
		name := c.Node
		if len(circuits) > 1 {
			name += " " + c.Circuit
		}
		i, known := at[name]
		if !known {
			i = len(list)
			at[name] = i
			list = append(list, breaker{name: name, spans: []breakerSpan{{state: "closed"}}})
		}
		b := &list[i]
		b.spans[len(b.spans)-1].to = c.At.Seconds()
		b.spans = append(b.spans, breakerSpan{from: c.At.Seconds(), state: c.State, alone: c.Alone})
	}
	for i := range list {
		b := &list[i]
		b.spans[len(b.spans)-1].to = end
		b.spans = slices.DeleteFunc(b.spans, func(s breakerSpan) bool { return s.to <= s.from })
	}
	slices.SortFunc(list, func(a, b breaker) int { // scheduler-2 before scheduler-10
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	return list
}

// breakers is the plot of every replica's circuit breakers over virtual time.
func (p *runPlots) breakers() chart {
	ch := chart{Figure: Figure{Title: "Circuit breakers of each replica"}, label: "States of each replica's circuit breakers over virtual time", reads: "none"}
	list := breakersOf(p.res.Breakers, p.end)
	for _, b := range list {
		ch.label += "; " + b.name + " was open for " + b.openFor()
	}
	if left := len(list) - breakersMax; left > 0 {
		ch.Notes = append(ch.Notes, fmt.Sprintf("Of %d breakers, the first %d are drawn.", len(list), breakersMax))
		list = list[:breakersMax]
	}
	ch.Legend = []LegendEntry{{"line", "ink-2", "closed"}, {"band", "retry", "half-open, for probes"}, {"band", "bad", "open, nobody is asked"}}
	if slices.ContainsFunc(p.res.Breakers, func(c scenarios.BreakerChange) bool { return c.Alone }) {
		ch.Legend = append(ch.Legend, LegendEntry{"dash", "ink-2", "by its own count, without Redis"})
	}
	ch.Legend = append(ch.Legend, p.faultLegend()...)
	ch.draw = func(s size) *plot.Plot {
		out := p.start("", s)
		out.Y.Tick.Marker = breakerTicks(list)
		out.Add(breakerRows(list))
		return p.finish(out, 0, float64(len(list)))
	}
	return ch
}

// openFor says for how long in all a breaker was open.
func (b *breaker) openFor() string {
	total := 0.0
	for _, s := range b.spans {
		if s.state == "open" {
			total += s.to - s.from
		}
	}
	return words.Duration(time.Duration(total * float64(time.Second)))
}

// breakerTicks name the rows, the first on top.
type breakerTicks []breaker

func (t breakerTicks) Ticks(float64, float64) (ticks []plot.Tick) {
	for i, b := range t {
		ticks = append(ticks, plot.Tick{Value: float64(len(t)-i) - .5, Label: b.name})
	}
	return ticks
}

// breakerRows draws a row a breaker: the more a breaker keeps back, the higher it stands.
type breakerRows []breaker

func (rows breakerRows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, b := range rows {
		middle := float64(len(rows)-i) - .5
		for _, s := range b.spans {
			from, to := max(x(s.from), c.Min.X), min(x(s.to), c.Max.X)
			to = max(to, from+1)
			bar := func(half float64) vg.Rectangle {
				return vg.Rectangle{Min: vg.Point{X: from, Y: y(middle - half)}, Max: vg.Point{X: to, Y: y(middle + half)}}
			}
			switch s.state {
			case "open":
				fill(c, bar(.36), limitColour)
			case "half-open":
				fill(c, bar(.18), retryColour)
			default:
				c.StrokeLine2(draw.LineStyle{Color: inkColour, Width: 1.5}, from, y(middle), to, y(middle))
			}
			if s.alone {
				c.StrokeLine2(draw.LineStyle{Color: inkColour, Width: 1.5, Dashes: []vg.Length{4, 3}}, from, y(middle+.43), to, y(middle+.43))
			}
		}
	}
}
