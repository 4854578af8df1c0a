package plots

import (
	"math"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// Map is the first measure over the first two axes: a table for each combination of the others. All
// share one scale of colours.
type Map struct {
	Title  string
	Legend []LegendEntry
	Scale  *scaleView // of the colours; nil if no point has one, as every one that was measured is struck out
	Tables []MapTable
	Notes  []string
}

// MapTable has the values of the first axis across and those of the second down.
type MapTable struct {
	Title        string // empty if there is one
	Across, Down string
	Columns      []string
	Rows         []MapRow
}

// MapRow is one value of the second axis.
type MapRow struct {
	Name  string
	Cells []MapCell
}

// MapCell is one point.
type MapCell struct {
	Text     string // its mean; empty if it was not measured
	Interval string
	Level    int    // of the scale
	Struck   string // why it is out of the question: what was broken there, in how many runs
	Take     bool   // the value to take in its row
	Page     string // the page of its worst run
	Says     string // for a pointer that rests on it
}

// Map makes the map of a measure.
func (p *SweepPlots) Map(m words.Measure) Map {
	out := Map{Title: m.Heading(), Notes: []string{m.Says}}
	lo, hi, broken, unknown := math.Inf(1), math.Inf(-1), 0, 0
	var widths []float64
	for i := range p.res.Points {
		switch c := cellOf(&p.res.Points[i], m); {
		case !c.known:
			unknown++
		case !c.sound:
			broken++
		default:
			lo, hi = min(lo, c.value), max(hi, c.value)
			if e := p.res.Points[i].Estimates[m.Name]; bounded(e) {
				widths = append(widths, m.In(e.High-e.Low))
			}
		}
	}
	sound := !math.IsInf(lo, 1)
	if !sound {
		lo, hi = 0, 0
	}
	if slices.Sort(widths); len(widths) > 0 && hi-lo < widths[len(widths)/2] { // colours of noise would look like differences
		middle, half := (lo+hi)/2, widths[len(widths)/2]/2
		lo, hi = middle-half, middle+half
		if lo < 0 { // nothing that is measured is negative
			lo, hi = 0, 2*half
		}
		out.Notes = append(out.Notes, "All means are closer together than an interval is wide. The colours span that width, so that noise does not look like a difference.")
	}
	powers := m.ByPowers(lo, hi)
	if !powers && lo > 0 && lo < hi/2 {
		lo = 0
	}
	bins := scaleFor(lo, hi, powers)
	if sound {
		out.Scale = bins.view()
	}
	out.Legend = append(out.Legend, LegendEntry{"taken", "ink", "the value to take"})
	if broken > 0 {
		out.Legend = append(out.Legend, LegendEntry{"hatch", "hatch", "struck out: a promise was broken there"})
	}
	if unknown > 0 {
		out.Legend = append(out.Legend, LegendEntry{"blank", "card", "not measured"})
	}
	decimals := 0
	if most := max(math.Abs(lo), math.Abs(hi)); most > 0 && !math.IsInf(most, 0) {
		decimals = min(12, max(0, 2-int(math.Floor(math.Log10(most)))))
	}
	for _, panel := range p.panels {
		out.Tables = append(out.Tables, p.table(panel, m, func(c *MapCell, e sweep.Estimate, v float64) {
			c.Level = bins.level(bins.bin(v))
			c.Text = lettering(v, decimals)
			if bounded(e) {
				c.Interval = words.Fixed(m.In(e.Low), decimals) + " to " + words.Fixed(m.In(e.High), decimals)
			}
		}))
	}
	if p.panelsLeft > 0 {
		out.Notes = append(out.Notes, words.Counted(p.panelsLeft, "more map")+" left out; the table of points has them.")
	}
	return out
}

// table is that of one panel; letter writes what a cell says.
func (p *SweepPlots) table(panel panel, m words.Measure, letter func(*MapCell, sweep.Estimate, float64)) MapTable {
	t := MapTable{Title: panel.Title, Across: p.axes[0].title(), Columns: p.axes[0].Values}
	down := []string{""}
	if len(p.axes) > 1 {
		t.Down, down = p.axes[1].title(), p.axes[1].Values
	}
	for _, y := range down {
		row := MapRow{Name: sweep.Shown(y)}
		for _, x := range p.axes[0].Values {
			var under []string
			if len(p.axes) > 1 {
				under = append([]string{y}, panel.rest...)
			}
			point := p.points.find(append([]string{x}, under...)...)
			var c MapCell
			if known := cellOf(point, m); known.known {
				letter(&c, point.Estimates[m.Name], known.value)
				c.Take = slices.ContainsFunc(p.res.Answer.Rows, func(a sweep.Advice) bool { return a.Take == x && slices.Equal(a.Under, under) })
			}
			if point != nil {
				c.Struck = invariants.List(words.BrokenIn(point.Broken, point.Runs))
				if w := point.Worst; w != nil {
					c.Page, c.Says = w.File+".html", w.Says
				}
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// bounded says whether an estimate has an interval.
func bounded(e sweep.Estimate) bool {
	return e.N > 1 && !math.IsNaN(e.Low) && !math.IsInf(e.Low, 0) && !math.IsNaN(e.High) && !math.IsInf(e.High, 0)
}

// lettering says v with that many decimals, and tells what is little from nothing.
func lettering(v float64, decimals int) string {
	if v == 0 {
		return "0"
	}
	least := math.Pow10(-decimals)
	if v > 0 && v < least/2 {
		return "<" + words.Fixed(least, decimals)
	}
	return words.Fixed(v, decimals)
}
