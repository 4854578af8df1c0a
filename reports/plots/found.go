package plots

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/wavetank-sim/wavetank/scenarios/power"
)

// foundFrom is where the axis of Found begins: no search finds anything sooner.
const foundFrom = 10 * time.Millisecond

// Found is the share of the mutants that each search has found over its time.
func Found(r *power.Result) Figure {
	f := Figure{Title: "Found over time"}
	rates := r.Rates()
	if len(rates) == 0 {
		f.Empty = "No mutant that changes a run was measured."
		return f
	}
	rates = rates[:len(rates)-1] // the last is of all together
	label := "Share of the mutants that each search found, over its time on a log scale"
	for i, rate := range rates {
		mark := "dash"
		if len(jobDashes(i)) == 0 {
			mark = "line"
		}
		f.Legend = append(f.Legend, LegendEntry{mark, fmt.Sprintf("job-%d", i%Colours), rate.Search})
		label += fmt.Sprintf("; %s: %d of %d", rate.Search, rate.Killed, rate.Of)
	}
	for _, s := range sizes {
		f.SVGs = append(f.SVGs, drawFound(r, rates, s, label))
	}
	return f
}

func drawFound(r *power.Result, rates []power.Rate, s size, label string) template.HTML {
	at := func(d time.Duration) float64 { return math.Log10(max(d, foundFrom).Seconds()) }
	out := newPlot("time of one search, log scale", "mutants found, in %", s)
	out.Add(rules())
	for i, rate := range rates {
		took := r.Took(rate.Search)
		slices.Sort(took)
		points := plotter.XYs{{X: at(foundFrom)}}
		for n, d := range took {
			points = append(points, plotter.XY{X: at(min(d, r.Budget)), Y: 100 * float64(n+1) / float64(rate.Of)})
		}
		points = append(points, plotter.XY{X: at(r.Budget), Y: 100 * float64(len(took)) / float64(rate.Of)})
		line := steps(points)
		line.Color, line.Width, line.Dashes = jobColour(i%Colours), 2, jobDashes(i)
		out.Add(line)
	}
	out.X.Tick.Marker = powerTicks{1, secondsLabel}
	out.X.Min, out.X.Max = at(foundFrom), at(r.Budget)
	out.Y.Tick.Marker = unitTicks{whole, 5}
	out.Y.Min, out.Y.Max = 0, 100
	return render(out, s, leftOf(out, s), label)
}
