package plots

import (
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// retries is the plot of retries and rollbacks, counted up over virtual time.
func (p *runPlots) retries() chart {
	ch := chart{Figure: Figure{Title: "Retries and rollbacks, counted up"}, label: "Retries and rollbacks over virtual time, counted up"}
	ch.Legend = []LegendEntry{
		{"line", "retry", "retries (a message handed back; " + words.Count(len(p.Naks)) + " in all)"},
		{"dash", "rollback", "rollbacks (DISPATCHED back to SCHEDULED; " + words.Count(len(p.Rollbacks)) + " in all)"},
	}
	ch.Legend = append(ch.Legend, p.faultLegend()...)
	if len(p.Naks)+len(p.Rollbacks) == 0 {
		ch.Legend = nil
		ch.Empty = "No message was handed back, and no dispatch was rolled back."
		return ch
	}
	ch.label += ": " + ch.Legend[0].Text + ", " + ch.Legend[1].Text + "."
	ch.draw = func(s size) *plot.Plot {
		out := p.start("count", s)
		out.Y.Tick.Marker = unitTicks{whole, 5}
		retries := steps(p.countUp(p.Naks, s))
		retries.Color, retries.Width = retryColour, 2
		rollbacks := steps(p.countUp(p.Rollbacks, s))
		rollbacks.Color, rollbacks.Width, rollbacks.Dashes = backColour, 2, []vg.Length{6, 3}
		out.Add(retries, rollbacks)
		return p.finish(out, 0, float64(max(len(p.Naks), len(p.Rollbacks), 2))*1.1)
	}
	return ch
}

// countUp is how many of times have passed at each of them, one point a pixel.
func (p *runPlots) countUp(times []time.Duration, s size) plotter.XYs {
	points := plotter.XYs{{X: 0, Y: 0}}
	pixel := p.end / s.width
	for i, at := range times {
		point := plotter.XY{X: at.Seconds(), Y: float64(i + 1)}
		if n := len(points); n > 1 && int(points[n-1].X/pixel) == int(point.X/pixel) {
			points[n-1].Y = point.Y
			continue
		}
		points = append(points, point)
	}
	return append(points, plotter.XY{X: p.end, Y: float64(len(times))})
}
