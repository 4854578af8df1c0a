package plots

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// OverNights is a number of each night, over the nights. One that is not known is NaN, and has no point.
func OverNights(title, unit string, days []string, numbers []float64) Figure {
	f := Figure{Title: title}
	points := plotter.XYs{}
	top := 0.0
	for i, n := range numbers {
		if !math.IsNaN(n) {
			points = append(points, plotter.XY{X: float64(i), Y: n})
			top = max(top, n)
		}
	}
	if len(points) == 0 {
		f.Empty = "It is not known of any night."
		return f
	}
	last := points[len(points)-1]
	label := fmt.Sprintf("%s of each night; %s on %s", title, words.Number(last.Y), days[int(last.X)])
	for _, s := range sizes {
		f.SVGs = append(f.SVGs, drawNights(points, top, unit, days, s, label))
	}
	return f
}

func drawNights(points plotter.XYs, top float64, unit string, days []string, s size, label string) template.HTML {
	out := newPlot("night", unit, s)
	out.Add(rules())
	line := steps(points)
	line.StepStyle = plotter.NoStep
	line.Color, line.Width = jobColour(0), 2
	out.Add(line, dots(points, jobColour(0), 3))
	out.X.Tick.Marker = nightTicks{days, int(s.width / 90)}
	out.X.Min, out.X.Max = -0.5, float64(len(days))-0.5
	out.Y.Tick.Marker = unitTicks{whole, 5}
	out.Y.Min, out.Y.Max = 0, max(top, 1)*1.1
	return render(out, s, leftOf(out, s), label)
}

// nightTicks are the days of some nights, spread evenly.
type nightTicks struct {
	days []string
	most int
}

func (t nightTicks) Ticks(_, _ float64) (ticks []plot.Tick) {
	every := (len(t.days) + t.most - 1) / max(t.most, 1)
	for i := 0; i < len(t.days); i += max(every, 1) {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: t.days[i]})
	}
	return ticks
}
