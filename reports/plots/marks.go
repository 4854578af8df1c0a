package plots

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wavetank-sim/wavetank/reports/lasting"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

// faultMarks shades the faults behind the data of every plot: a band where a fault lasts or where
// many come close upon one another, a line where it is an instant.
type faultMarks struct {
	fired []scenarios.FiredFault
	end   float64 // of the time axis, in seconds
}

const (
	crowdGap = 4 // pixels between instants that are too close to tell apart
	crowdMin = 4 // of them make a band
)

func (m faultMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	within := func(seconds float64) vg.Length { return inside(c, x(seconds)) }
	drawn := map[[2]int]bool{}
	band := func(from, to vg.Length) {
		if at := [2]int{int(from), int(to)}; !drawn[at] {
			drawn[at] = true
			fillBand(c, bandColour, from, to)
		}
	}
	var instants []vg.Length
	for _, f := range m.fired {
		if until, lasts := endOf(f, m.end); lasts {
			band(within(f.At.Seconds()), within(until))
		} else {
			instants = append(instants, within(until))
		}
	}
	slices.Sort(instants)
	for len(instants) > 0 {
		n := 1
		for n < len(instants) && instants[n]-instants[n-1] < crowdGap {
			n++
		}
		lines := instants[:n]
		if n >= crowdMin {
			band(instants[0], instants[n-1])
			lines = []vg.Length{instants[0], instants[n-1]}
		}
		for i, at := range lines {
			if i == 0 || at > lines[i-1]+1 {
				c.StrokeLine2(faultLine, at, c.Min.Y, at, c.Max.Y)
			}
		}
		instants = instants[n:]
	}
}

// violationMarks are lines where invariants were violated, one a pixel, up to the end of the plot.
type violationMarks []scenarios.Violation

func (m violationMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	drawn := map[int]bool{}
	for _, v := range m {
		if at := x(v.At.Seconds()); at <= c.Max.X && !drawn[int(at)] {
			drawn[int(at)] = true
			c.StrokeLine2(violationLine, at, c.Min.Y, at, c.Max.Y)
		}
	}
}

var violationLine = draw.LineStyle{Color: limitColour, Width: 1, Dashes: []vg.Length{4, 3}}

// alertMarks are lines where alerts began to fire.
type alertMarks []samples.Alert

func (m alertMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, a := range m {
		at := inside(c, x(a.Fired.Seconds()))
		c.StrokeLine2(alertLine, at, c.Min.Y, at, c.Max.Y)
	}
}

var alertLine = draw.LineStyle{Color: limitColour, Width: 2}

// blindMark is a time for which jobs in focus were blind, in seconds.
type blindMark struct{ from, to float64 }

// blindMarks hatches such times behind the data of a plot, since faults that last are shaded.
type blindMarks []blindMark

// union are the same times in order, none of which overlaps another.
func (m blindMarks) union() (merged blindMarks) {
	slices.SortFunc(m, func(a, b blindMark) int { return cmp.Compare(a.from, b.from) })
	for _, b := range m {
		if n := len(merged); n > 0 && b.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, b.to)
		} else {
			merged = append(merged, b)
		}
	}
	return merged
}

func (m blindMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, b := range m {
		from := inside(c, x(b.from))
		to := max(inside(c, x(b.to)), from+1)
		hatch(c, vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: to, Y: c.Max.Y}}, draw.LineStyle{Color: blindColour, Width: 1}, 9)
	}
}

// inside keeps x within the canvas.
func inside(c draw.Canvas, x vg.Length) vg.Length { return min(max(x, c.Min.X), c.Max.X) }

// fillBand shades the canvas between two places of its width, one pixel at least.
func fillBand(c draw.Canvas, colour color.RGBA, from, to vg.Length) {
	fill(c, vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: max(to, from+1), Y: c.Max.Y}}, colour)
}

func fill(c draw.Canvas, box vg.Rectangle, colour color.Color) {
	c.FillPolygon(colour, []vg.Point{box.Min, {X: box.Max.X, Y: box.Min.Y}, box.Max, {X: box.Min.X, Y: box.Max.Y}})
}

// hatch draws slanted lines over box, that far apart.
func hatch(c draw.Canvas, box vg.Rectangle, line draw.LineStyle, apart vg.Length) {
	width, height := box.Max.X-box.Min.X, box.Max.Y-box.Min.Y
	for d := apart / 2; d < width+height; d += apart {
		from := vg.Point{X: box.Min.X + min(d, width), Y: box.Min.Y + max(0, d-width)}
		to := vg.Point{X: box.Min.X + max(0, d-height), Y: box.Min.Y + min(d, height)}
		c.StrokeLine2(line, from.X, from.Y, to.X, to.Y)
	}
}

var faultLine = draw.LineStyle{Color: faultColour, Width: 1.25, Dashes: []vg.Length{2, 2}}

// endOf says when f ended, in seconds, and whether it lasted at all. What never ended lasts until end.
func endOf(f scenarios.FiredFault, end float64) (until float64, lasts bool) {
	at := lasting.UntilOf(&f, time.Duration(end*float64(time.Second)))
	return at.Seconds(), at > f.At
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
	return [][]vg.Length{nil, {8, 4}, {3, 3}, {10, 3, 3, 3}, {14, 5}, {2, 2}}[i%Colours]
}

// curveShapes tell curves apart without colour, as their dashes do.
var curveShapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, hollowGlyph{}, hollowGlyph{square: true}, draw.TriangleGlyph{},
}

func steps(points plotter.XYs) *plotter.Line {
	return &plotter.Line{XYs: points, StepStyle: plotter.PostStep}
}

func dots(points plotter.XYs, c color.RGBA, radius vg.Length) *plotter.Scatter {
	return &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}}
}

// crossGlyph is a cross that is as heavy as a dot.
type crossGlyph struct{}

func (crossGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * .75
	line := draw.LineStyle{Color: style.Color, Width: 2}
	c.StrokeLine2(line, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine2(line, at.X-r, at.Y+r, at.X+r, at.Y-r)
}

// hollowGlyph is the outline of a circle, or of a square, as heavy as a line.
type hollowGlyph struct{ square bool }

func (g hollowGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius
	line := draw.LineStyle{Color: style.Color, Width: 1.5}
	if g.square {
		c.StrokeLines(line, []vg.Point{{X: at.X - r, Y: at.Y - r}, {X: at.X + r, Y: at.Y - r}, {X: at.X + r, Y: at.Y + r}, {X: at.X - r, Y: at.Y + r}, {X: at.X - r, Y: at.Y - r}})
		return
	}
	var path vg.Path
	path.Move(vg.Point{X: at.X + r, Y: at.Y})
	path.Arc(at, r, 0, 2*math.Pi)
	path.Close()
	c.SetLineStyle(line)
	c.Stroke(path)
}
