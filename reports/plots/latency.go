package plots

import (
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// latency is the plot of the time from each job's submission to its first stored dispatch.
func (p *runPlots) latency() chart {
	ch := chart{Figure: Figure{Title: "Dispatch latency"}, label: "Dispatch latency of each job, by the virtual time of its submission"}
	lo, hi := math.Inf(1), 0.0
	never := 0
	for _, j := range p.res.Jobs {
		if l := latencyOf(j); l > 0 {
			lo, hi = min(lo, l), max(hi, l)
		} else {
			never++
		}
	}
	if hi == 0 {
		ch.Empty = "No dispatch was ever stored."
		return ch
	}
	ch.label += p.inWords(func(j scenarios.JobResult) string {
		if latencyOf(j) == 0 {
			return "is never dispatched"
		}
		return "takes " + words.Duration(j.Dispatches[0].At-began(j))
	})
	ch.Legend = p.jobLegend("dot", len(p.res.Jobs) > len(p.Focus))
	if never > 0 {
		ch.Legend = append(ch.Legend, LegendEntry{"cross", "bad", words.Counted(never, "job") + " never dispatched"})
	}
	ch.Notes = append(ch.Notes, "From a job's submission, where it stands on the time axis, to its first dispatch that a stream stored.")
	per := unitFor(time.Duration(hi * float64(time.Second)))
	ch.reads = "s"
	name, marker, scale := "latency ("+per.name+")", plot.Ticker(unitTicks{per, 5}), func(v float64) float64 { return v }
	bottom, top := 0.0, hi*1.15
	if hi > 30*lo {
		scale, ch.reads = math.Log10, "log"
		bottom, top = scale(lo)-.25, scale(hi)+.25
		name, marker = "latency (log scale)", powerTicks{1 + int((top-bottom)/6), secondsLabel}
	}
	if never > 0 {
		top += (top - bottom) / 12
	}
	ch.draw = func(s size) *plot.Plot {
		out := p.start(name, s)
		out.Y.Tick.Marker = marker
		faint := pixels{seen: map[[2]int]bool{}, x: p.end / s.width, y: (top - bottom) / s.height}
		lost := pixels{seen: map[[2]int]bool{}, x: faint.x, y: faint.y}
		for _, j := range p.res.Jobs {
			at, l := began(j).Seconds(), latencyOf(j)
			if _, own := p.colour[j.ID]; l <= 0 {
				lost.add(at, top-(top-bottom)/24)
			} else if !own {
				faint.add(at, scale(l))
			}
		}
		out.Add(dots(faint.points, faintColour, 2.5))
		for _, j := range p.res.Jobs {
			if i, own := p.colour[j.ID]; own && len(j.Dispatches) > 0 {
				out.Add(dots(plotter.XYs{{X: began(j).Seconds(), Y: scale(latencyOf(j))}}, jobColour(i), 4.5))
			}
		}
		crosses := dots(lost.points, limitColour, 4)
		crosses.Shape = crossGlyph{}
		out.Add(crosses)
		return p.finish(out, bottom, top)
	}
	return ch
}

// latencyOf is in seconds; 0 if no dispatch was stored.
func latencyOf(j scenarios.JobResult) float64 {
	if len(j.Dispatches) == 0 {
		return 0
	}
	return max(j.Dispatches[0].At-began(j), 1).Seconds()
}

// began is when the job was submitted, or stored if it never was.
func began(j scenarios.JobResult) time.Duration {
	if j.Submitted == 0 && len(j.Path) > 0 {
		return j.Path[0].At
	}
	return j.Submitted
}
