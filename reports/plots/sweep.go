package plots

import (
	"math"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// SweepPlots are what the figures of one sweep share.
type SweepPlots struct {
	res        *sweep.Result
	axes       []values
	points     points
	panels     []panel
	panelsLeft int
	measures   map[string]words.Measure
}

// Sweep prepares the figures of a sweep that has an axis, a metric and a point.
func Sweep(res *sweep.Result) *SweepPlots {
	p := &SweepPlots{res: res, points: pointsOf(res), measures: map[string]words.Measure{}}
	for _, a := range res.Axes {
		p.axes = append(p.axes, valuesOf(a))
	}
	p.panels, p.panelsLeft = panelsOf(p.axes[min(2, len(p.axes)):])
	for _, m := range res.Metrics {
		most := 0.0
		for i := range res.Points {
			if e := res.Points[i].Estimates[m.Name]; e.N > 0 && !math.IsInf(e.Mean, 0) {
				most = max(most, e.Mean)
			}
		}
		p.measures[m.Name] = words.MeasureOf(m, most)
	}
	return p
}

// Measure is the metric of that name as every figure writes it.
func (p *SweepPlots) Measure(metric string) words.Measure { return p.measures[metric] }

// cell is one point of a sweep in a figure.
type cell struct {
	value float64 // in the measure's unit
	known bool    // there is an estimate
	sound bool
}

func cellOf(point *sweep.Point, m words.Measure) cell {
	if point == nil {
		return cell{}
	}
	e := point.Estimates[m.Name]
	c := cell{value: m.In(e.Mean), known: e.N > 0 && !math.IsNaN(e.Mean) && !math.IsInf(e.Mean, 0), sound: point.Sound()}
	if !c.known {
		c.value = 0
	}
	return c
}
