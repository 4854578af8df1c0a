package plots

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// bandsMax is how far the intervals of curves may stretch their plot, in multiples of the largest mean.
const bandsMax = 2

// endMax is how many characters a name has that there is room for at the end of a curve.
const endMax = 16

// curve is a measure over the values of the first axis, at one value of the second.
type curve struct {
	value  string // of the second axis; empty if there is none
	colour int
	points []curvePoint // those that were measured
}

type curvePoint struct {
	x               float64
	mean, low, high float64
	sound           bool
}

// Curves is the figure of a measure over the first axis: a line for each value of the second, with
// its interval, and a panel for each combination of the others.
func (p *SweepPlots) Curves(m words.Measure) Figure {
	fig := Figure{Title: m.Heading(), Notes: []string{m.Says}}
	all, lo, hi, most := make([][]curve, len(p.panels)), math.Inf(1), 0.0, 0.0
	broken, wide := false, false
	for i, panel := range p.panels {
		all[i] = p.curvesOf(m, panel)
		for _, c := range all[i] {
			for _, point := range c.points {
				lo, hi = min(lo, point.mean, positive(point.low, point.mean)), max(hi, point.mean, point.high)
				most = max(most, point.mean)
				broken, wide = broken || !point.sound, wide || point.high > point.low
			}
		}
	}
	if math.IsInf(lo, 1) {
		fig.Empty = "It was not measured at any point."
		return fig
	}
	if bound := bandsMax * most; most > 0 && hi > bound {
		hi = bound
		fig.Notes = append(fig.Notes, "Some intervals reach beyond the plot: there were too few runs for them to be narrower.")
	}
	y := axisFor(m, lo, hi)
	fig.Legend = p.curveLegend(all)
	if wide {
		fig.Legend = append(fig.Legend, LegendEntry{"band", "faint", "95 % confidence"})
	}
	if broken {
		fig.Legend = append(fig.Legend, LegendEntry{"cross", "bad", "a promise was broken there"})
	}
	if !p.axes[0].toScale && len(p.axes[0].Values) > 2 {
		if _, number := quantity(p.axes[0].Values[0]); number {
			fig.Notes = append(fig.Notes, "The values of "+p.axes[0].Name()+" stand at equal distances, not to scale.")
		}
	}
	fig.addPanels(p.panels, func(i int, s size) template.HTML {
		return p.drawCurves(m, y, all[i], s, fmt.Sprintf("%s by %s%s.", m.Heading(), p.axes[0].title(), within(p.panels[i])))
	})
	if len(p.axes) > 1 && len(p.axes[1].Values) > Colours {
		fig.Notes = append(fig.Notes, fmt.Sprintf("Of %s of %s, %d are drawn; the table of points has all.", words.Counted(len(p.axes[1].Values), "value"), p.axes[1].Name(), Colours))
	}
	fig.leftOut(p.panelsLeft, "more plot")
	return fig
}

// positive is low, or mean if low is not above 0.
func positive(low, mean float64) float64 {
	if low > 0 {
		return low
	}
	return mean
}

func (p *SweepPlots) curvesOf(m words.Measure, panel panel) (list []curve) {
	seconds := []string{""}
	if len(p.axes) > 1 {
		seconds = spread(p.axes[1].Values, Colours)
	}
	for colour, second := range seconds {
		c := curve{value: second, colour: colour}
		for i, first := range p.axes[0].Values {
			at := []string{first}
			if len(p.axes) > 1 {
				at = append(at, second)
			}
			point := p.points.find(append(at, panel.rest...)...)
			if cell := cellOf(point, m); cell.known {
				e := point.Estimates[m.Name]
				low, high := m.In(e.Low), m.In(e.High)
				if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
					low, high = cell.value, cell.value // an interval of one seed
				}
				c.points = append(c.points, curvePoint{p.axes[0].at[i], cell.value, low, high, cell.sound})
			}
		}
		list = append(list, c)
	}
	return list
}

func (p *SweepPlots) curveLegend(all [][]curve) (legend []LegendEntry) {
	if len(p.axes) < 2 || len(all) == 0 {
		return nil
	}
	for i, c := range all[0] {
		mark := "line"
		if i > 0 {
			mark = "dash"
		}
		text := c.value
		if i == 0 {
			text = p.axes[1].Name() + ": " + c.value
		}
		legend = append(legend, LegendEntry{mark, fmt.Sprintf("job-%d", c.colour), text})
	}
	return legend
}

func (p *SweepPlots) drawCurves(m words.Measure, y valueAxis, list []curve, s size, label string) template.HTML {
	out := newPlot("", "", s)
	style := out.X.Tick.Label
	name := m.Heading()
	if y.log {
		name += ", log scale"
	}
	out.Y.Label.Text = wrapped(name, style, vg.Length(s.height-56))
	out.Y.Tick.Marker = y.marker
	out.Add(rules())
	for _, c := range list {
		out.Add(intervals{c, y})
	}
	ends := endLabels{style: style}
	named := len(list) > 1 && !slices.ContainsFunc(list, func(c curve) bool { return words.Cut(c.value, endMax) != c.value }) // or by the legend alone
	for _, c := range list {
		out.Add(c.line(y))
		for _, point := range c.points {
			at := plotter.XYs{{X: point.x, Y: y.of(point.mean)}}
			mark := dots(at, jobColour(c.colour), 3)
			mark.Shape = curveShapes[c.colour%len(curveShapes)]
			if !point.sound {
				mark.Color, mark.Radius, mark.Shape = limitColour, 4.5, crossGlyph{}
			}
			out.Add(mark)
		}
		if n := len(c.points); n > 0 && named {
			ends.at = append(ends.at, endLabel{c.points[n-1].x, y.of(c.points[n-1].mean), c.value, jobColour(c.colour)})
		}
	}
	out.Add(ends)
	axis := p.axes[0]
	room := vg.Length(s.width) - 60 - ends.width()
	out.X.Label.Text = wrapped(axis.title(), style, room)
	out.X.Tick.Marker = valueTicks{axis, style, room}
	out.X.Min, out.X.Max = axis.at[0], axis.at[len(axis.at)-1]
	if pad := (out.X.Max - out.X.Min) * .02; pad > 0 {
		out.X.Min, out.X.Max = out.X.Min-pad, out.X.Max+pad
	} else {
		out.X.Min, out.X.Max = out.X.Min-1, out.X.Max+1
	}
	out.Y.Min, out.Y.Max = y.bottom, y.top
	return render(out, s, leftOf(out, s), label)
}

func (c curve) line(y valueAxis) *plotter.Line {
	line := &plotter.Line{}
	for _, point := range c.points {
		line.XYs = append(line.XYs, plotter.XY{X: point.x, Y: y.of(point.mean)})
	}
	line.Color, line.Width, line.Dashes = jobColour(c.colour), 2, jobDashes(c.colour)
	return line
}

// intervals is the band of a curve's confidence; where a point has no neighbour, a bar.
type intervals struct {
	curve
	y valueAxis
}

func (b intervals) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	if len(b.points) == 1 {
		x := tx(b.points[0].x)
		c.StrokeLine2(draw.LineStyle{Color: jobColour(b.colour), Width: 1.5}, x, ty(b.y.of(b.points[0].low)), x, min(ty(b.y.of(b.points[0].high)), c.Max.Y))
		return
	}
	within := func(v float64) vg.Length { return min(ty(b.y.of(v)), c.Max.Y) }
	var upper, lower []vg.Point
	for _, point := range b.points {
		upper = append(upper, vg.Point{X: tx(point.x), Y: within(point.high)})
		lower = append(lower, vg.Point{X: tx(point.x), Y: within(point.low)})
	}
	slices.Reverse(lower)
	if len(upper) > 1 {
		c.FillPolygon(intervalColour(b.colour), append(upper, lower...))
	}
}
