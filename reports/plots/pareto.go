package plots

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
)

// trade is the plot of the two measures that pull against each other. Points compete under the same
// conditions only: the values of the first condition have a colour each, the others a panel.
type trade struct {
	x, y        words.Measure
	choices     []int // of the axes, by index
	condition   int   // the axis whose values are colours; -1 if there is none
	colours     []string
	rest        []int // the axes whose values are panels
	bottom, top plotter.XY
	bare        int // points of fronts without room for a label
}

// tradePanel is one panel of it.
type tradePanel struct {
	fronts    [][]frontPoint // by colour
	dominated plotter.XYs
	broken    plotter.XYs
}

// Pareto is the figure of what is traded against what: a dot for each point, and the front of those
// that no other beats under the same conditions.
func (p *SweepPlots) Pareto() Figure {
	t := &trade{x: p.measures[p.res.Pareto.X], y: p.measures[p.res.Pareto.Y], condition: -1}
	fig := Figure{Title: "What is traded against what", Halo: true}
	if t.x.Name == "" || t.y.Name == "" {
		fig.Empty = "This sweep has no two measures that pull against each other."
		return fig
	}
	fig.Title = t.x.Title + " against " + words.LowerFirst(t.y.Title)
	var conditions []values
	for i, a := range p.axes {
		switch {
		case i == 0 || !a.Condition:
			t.choices = append(t.choices, i)
		case t.condition < 0:
			t.condition, t.colours = i, spread(a.Values, Colours)
		default:
			t.rest, conditions = append(t.rest, i), append(conditions, a)
		}
	}
	panels, left := panelsOf(conditions)
	list := t.sortIn(p, panels)
	if math.IsInf(t.bottom.X, 1) {
		fig.Empty = "Nothing was measured."
		return fig
	}
	fig.Legend = t.legend(p, list)
	same := ""
	if t.condition >= 0 {
		same = "under the same conditions "
	}
	fig.Notes = append(fig.Notes, "Less is better in both. A point is on the front if "+same+"no other sound one is better in one measure and no worse in the other. "+
		"Labels of the front are its values of "+strings.Join(t.names(p), " · ")+".")
	fig.addPanels(panels, func(i int, s size) template.HTML {
		return t.draw(list[i], s, paretoWords(fig.Title+within(panels[i]), list[i].fronts))
	})
	if t.bare > 0 {
		fig.Notes = append(fig.Notes, "Where points of the front are too close for a label each, the table of points has their values.")
	}
	if t.condition >= 0 && len(t.colours) < len(p.axes[t.condition].Values) {
		fig.Notes = append(fig.Notes, fmt.Sprintf("Of %s of %s, %d are drawn.", words.Counted(len(p.axes[t.condition].Values), "value"), p.axes[t.condition].Name(), len(t.colours)))
	}
	fig.leftOut(left, "more plot")
	return fig
}

// names are those of the axes that are choices.
func (t *trade) names(p *SweepPlots) (names []string) {
	for _, i := range t.choices {
		names = append(names, p.axes[i].Name())
	}
	return names
}

func pick(from []string, indices []int) (picked []string) {
	for _, i := range indices {
		picked = append(picked, from[i])
	}
	return picked
}

// sortIn gives every point its panel, and measures how far they reach.
func (t *trade) sortIn(p *SweepPlots, panels []panel) []tradePanel {
	t.bottom, t.top = plotter.XY{X: math.Inf(1), Y: math.Inf(1)}, plotter.XY{}
	list := make([]tradePanel, len(panels))
	for i := range list {
		list[i].fronts = make([][]frontPoint, max(1, len(t.colours)))
	}
	for i := range p.res.Points {
		point := &p.res.Points[i]
		a, b := cellOf(point, t.x), cellOf(point, t.y)
		n := slices.IndexFunc(panels, func(q panel) bool { return slices.Equal(q.rest, pick(point.Values, t.rest)) })
		colour := 0
		if t.condition >= 0 {
			colour = slices.Index(t.colours, point.Values[t.condition])
		}
		if !a.known || !b.known || n < 0 || colour < 0 {
			continue
		}
		at := plotter.XY{X: a.value, Y: b.value}
		t.bottom = plotter.XY{X: min(t.bottom.X, at.X), Y: min(t.bottom.Y, at.Y)}
		t.top = plotter.XY{X: max(t.top.X, at.X), Y: max(t.top.Y, at.Y)}
		switch {
		case !point.Sound():
			list[n].broken = append(list[n].broken, at)
		case point.OnFront:
			f := frontPoint{at.X, at.Y, strings.Join(pick(point.Values, t.choices), " · "), colour}
			list[n].fronts[colour] = append(list[n].fronts[colour], f)
		default:
			list[n].dominated = append(list[n].dominated, at)
		}
	}
	for i := range list {
		for c := range list[i].fronts {
			list[i].fronts[c] = merged(list[i].fronts[c])
		}
	}
	return list
}

func (t *trade) legend(p *SweepPlots, list []tradePanel) (legend []LegendEntry) {
	var dominated, broken int
	for _, panel := range list {
		dominated, broken = dominated+len(panel.dominated), broken+len(panel.broken)
	}
	if t.condition < 0 {
		legend = append(legend, LegendEntry{"dash", "job-0", "the front"})
	}
	for i, value := range t.colours {
		if i == 0 {
			value = "the front at " + p.axes[t.condition].Name() + " " + value
		}
		legend = append(legend, LegendEntry{"dash", fmt.Sprintf("job-%d", i), value})
	}
	if dominated > 0 {
		legend = append(legend, LegendEntry{"dot", "faint", "another point is better"})
	}
	if broken > 0 {
		legend = append(legend, LegendEntry{"cross", "bad", "a promise was broken there"})
	}
	return legend
}

func (t *trade) draw(panel tradePanel, s size, label string) template.HTML {
	s.height += 70
	out := newPlot("", "", s)
	style := out.X.Tick.Label
	out.X.Label.Text = wrapped(t.x.Heading(), style, vg.Length(s.width-60))
	out.Y.Label.Text = wrapped(t.y.Heading(), style, vg.Length(s.height-60))
	out.X.Tick.Marker, out.Y.Tick.Marker = unitTicks{plain, s.ticks}, unitTicks{plain, 5}
	grid := rules()
	grid.Vertical = grid.Horizontal
	x, y := (t.top.X-t.bottom.X)/s.width, (t.top.Y-t.bottom.Y)/s.height
	dominated, broken := thinned(panel.dominated, x, y), thinned(panel.broken, x, y)
	crosses := dots(broken, limitColour, 4)
	crosses.Shape = crossGlyph{}
	out.Add(grid, dots(dominated, faintColour, 2.5), crosses)
	labels := &frontLabels{others: slices.Concat(dominated, broken), style: style}
	for colour, front := range panel.fronts {
		var line plotter.XYs
		for _, f := range front {
			line = append(line, plotter.XY{X: f.x, Y: f.y})
		}
		if len(line) == 0 {
			continue
		}
		edge := &plotter.Line{XYs: line, StepStyle: plotter.PostStep}
		edge.Color, edge.Width, edge.Dashes = jobColour(colour), 1.25, []vg.Length{4, 3}
		marks := dots(line, jobColour(colour), 4)
		marks.Shape = curveShapes[colour%len(curveShapes)]
		out.Add(edge, marks)
		labels.points = append(labels.points, front...)
	}
	out.Add(labels)
	out.X.Min, out.X.Max = margins(t.bottom.X, t.top.X)
	out.Y.Min, out.Y.Max = margins(t.bottom.Y, t.top.Y)
	svg := render(out, s, leftOf(out, s), label)
	t.bare += labels.left
	return svg
}

// margins is the range of an axis for points from lo to hi, with room for those at its ends.
func margins(lo, hi float64) (bottom, top float64) {
	bottom, top = spanOf(lo, hi)
	return bottom - (top-bottom)*.03, top
}

func thinned(list plotter.XYs, x, y float64) plotter.XYs {
	p := pixels{seen: map[[2]int]bool{}, x: max(x, math.SmallestNonzeroFloat32), y: max(y, math.SmallestNonzeroFloat32)}
	for _, at := range list {
		p.add(at.X, at.Y)
	}
	return p.points
}

// merged sorts the points of a front and makes one of those at the same place.
func merged(front []frontPoint) []frontPoint {
	slices.SortStableFunc(front, func(a, b frontPoint) int {
		return cmp.Or(cmp.Compare(a.x, b.x), -cmp.Compare(a.y, b.y))
	})
	var out []frontPoint
	more := 0
	for _, f := range front {
		if n := len(out); n > 0 && out[n-1].x == f.x && out[n-1].y == f.y {
			more++
			continue
		}
		out, more = named(out, more), 0
		out = append(out, f)
	}
	return named(out, more)
}

func named(out []frontPoint, more int) []frontPoint {
	if n := len(out); n > 0 && more > 0 {
		out[n-1].text += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// paretoWords are for those who do not see the plot.
func paretoWords(title string, fronts [][]frontPoint) string {
	shown, left := words.Capped(slices.Concat(fronts...), 12)
	var said []string
	for _, f := range shown {
		said = append(said, fmt.Sprintf("%s at %s and %s", f.text, words.Number(f.x), words.Number(f.y)))
	}
	if left > 0 {
		said = append(said, words.Count(left)+" more")
	}
	if len(said) == 0 {
		return title + "."
	}
	return title + ". On the front: " + invariants.List(said) + "."
}
