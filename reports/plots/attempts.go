package plots

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// faintMax is how many jobs besides those in focus have a line in the plot of attempts.
const faintMax = 200

// attempts is the plot of every job's attempts over virtual time.
func (p *runPlots) attempts() chart {
	ch := chart{Figure: Figure{Title: "Attempts of each job"}, label: "Attempts of each job over virtual time"}
	most, paths := 0, 0
	var faint []scenarios.JobResult
	for _, j := range p.res.Jobs {
		if len(j.Path) == 0 {
			continue
		}
		paths++
		for _, point := range j.Path {
			most = max(most, point.Attempts)
		}
		if _, own := p.colour[j.ID]; !own {
			faint = append(faint, j)
		}
	}
	if paths == 0 {
		ch.Empty = "No job's state was ever written."
		return ch
	}
	ch.label += p.inWords(func(j scenarios.JobResult) string {
		said := "ends at " + words.Count(j.Attempts)
		if j.Blind != nil {
			said += ", blind window " + words.BlindFor(j.Blind)
		}
		return said
	})
	slices.SortStableFunc(faint, func(a, b scenarios.JobResult) int { return cmp.Compare(b.Attempts, a.Attempts) })
	ch.Legend = p.jobLegend("line", len(faint) > 0)
	blind, jobs := p.blind()
	if len(jobs) > 0 {
		of := "blind window of "
		if len(jobs) > 1 {
			of = "blind windows of "
		}
		ch.Legend = append(ch.Legend, LegendEntry{"hatch", "blind", of + invariants.List(jobs)})
	}
	if len(faint) > faintMax {
		ch.Notes = append(ch.Notes, fmt.Sprintf("Of %s, the %d with the most attempts are drawn.", words.Counted(len(faint), "other job"), faintMax))
		faint = faint[:faintMax]
	}
	ceiling := p.plan.Engine.MaxSchedulingRetries
	nearCeiling := ceiling > 0 && 2*most >= ceiling
	if nearCeiling {
		ch.Legend = append(ch.Legend, LegendEntry{"dash", "bad", fmt.Sprintf("retry ceiling, %d", ceiling)})
	}
	ch.draw = func(s size) *plot.Plot {
		out := p.start("attempts", s)
		out.Add(blind)
		out.Y.Tick.Marker = unitTicks{whole, 5}
		for _, j := range faint {
			line := steps(p.attemptPoints(j))
			line.Color, line.Width = faintColour, 1
			out.Add(line)
		}
		for _, j := range p.res.Jobs {
			if i, own := p.colour[j.ID]; own && len(j.Path) > 0 {
				points := p.attemptPoints(j)
				line := steps(points)
				line.Color, line.Width, line.Dashes = jobColour(i), 2, jobDashes(i)
				out.Add(line, dots(points[:len(points)-1], jobColour(i), 3))
			}
		}
		top := float64(max(most, 2)) * 1.1
		if nearCeiling {
			top = max(top, float64(ceiling)*1.05)
			out.Add(&plotter.Line{XYs: plotter.XYs{{X: 0, Y: float64(ceiling)}, {X: p.end, Y: float64(ceiling)}},
				LineStyle: draw.LineStyle{Color: limitColour, Width: 1.5, Dashes: []vg.Length{6, 4}}})
		}
		return p.finish(out, 0, top)
	}
	return ch
}

// blind is when a job in focus was blind, and which jobs were.
func (p *runPlots) blind() (marks blindMarks, jobs []string) {
	for _, j := range p.res.Jobs {
		if _, own := p.colour[j.ID]; own && j.Blind != nil {
			to := p.end
			if !j.Blind.Open {
				to = j.Blind.Closed.Seconds()
			}
			marks, jobs = append(marks, blindMark{j.Blind.Opened.Seconds(), to}), append(jobs, j.ID)
		}
	}
	return marks.union(), jobs
}

// attemptPoints are the instants at which the attempts of j changed, and its end.
func (p *runPlots) attemptPoints(j scenarios.JobResult) plotter.XYs {
	var points plotter.XYs
	for _, point := range j.Path {
		if n := len(points); n > 0 && points[n-1].Y == float64(point.Attempts) {
			continue
		}
		points = append(points, plotter.XY{X: point.At.Seconds(), Y: float64(point.Attempts)})
	}
	end := p.end
	if j.Settled > 0 {
		end = j.Settled.Seconds()
	}
	last := points[len(points)-1]
	return append(points, plotter.XY{X: max(end, last.X), Y: last.Y})
}
