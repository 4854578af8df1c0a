package reports

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/faultline-sim/faultline/faults"
	"github.com/faultline-sim/faultline/scenarios"
)

// faultMarks shades the faults behind the data of every plot: a band where a fault lasts, a line
// where it is an instant. Two marks on one pixel are drawn once.
type faultMarks struct {
	fired []scenarios.FiredFault
	end   float64 // of the time axis, in seconds
}

// Plot implements [plot.Plotter].
func (m faultMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	within := func(seconds float64) vg.Length { return min(max(x(seconds), c.Min.X), c.Max.X) }
	drawn := map[[2]int]bool{}
	for _, bands := range []bool{true, false} { // lines over bands
		for _, f := range m.fired {
			until, lasts := endOf(f, m.end)
			from, to := within(f.At.Seconds()), within(until)
			if lasts != bands || drawn[[2]int{int(from), int(to)}] {
				continue
			}
			drawn[[2]int{int(from), int(to)}] = true
			if bands {
				c.FillPolygon(bandColour, []vg.Point{{X: from, Y: c.Min.Y}, {X: max(to, from+1), Y: c.Min.Y},
					{X: max(to, from+1), Y: c.Max.Y}, {X: from, Y: c.Max.Y}})
				continue
			}
			c.StrokeLine2(draw.LineStyle{Color: faultColour, Width: 1.25, Dashes: []vg.Length{2, 2}}, from, c.Min.Y, from, c.Max.Y)
		}
	}
}

// endOf says when f ended, in seconds, and whether it lasted at all. What takes a node away and
// never gave it back lasts until end.
func endOf(f scenarios.FiredFault, end float64) (until float64, lasts bool) {
	switch {
	case f.Until > f.At:
		return f.Until.Seconds(), true
	case f.Until == 0 && (f.Do == string(faults.Crash) || f.Do == string(faults.Partition)):
		return end, true
	}
	return f.At.Seconds(), false
}

// pixels collects points and leaves out those that would fall on one that is there already, so
// that a plot's size has a bound and its look does not change.
type pixels struct {
	seen   map[[2]int]bool
	x, y   float64 // of one pixel
	points plotter.XYs
}

func (p *pixels) add(x, y float64) {
	at := [2]int{int(x / p.x / 2), int(math.Floor(y / p.y / 2))}
	if !p.seen[at] {
		p.seen[at] = true
		p.points = append(p.points, plotter.XY{X: x, Y: y})
	}
}

// jobDashes tell the lines of the jobs in focus apart where they cover one another.
func jobDashes(i int) []vg.Length {
	return [][]vg.Length{nil, {8, 4}, {3, 3}, {10, 3, 3, 3}, {14, 5}, {2, 2}}[i%focusMax]
}

func steps(points plotter.XYs) *plotter.Line {
	return &plotter.Line{XYs: points, StepStyle: plotter.PostStep}
}

func dots(points plotter.XYs, c color.RGBA, radius vg.Length) *plotter.Scatter {
	return &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}}
}
