package reports

import (
	"fmt"
	"math"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// comparisonView is one table: a column for each alternative, a row for each measure.
type comparisonView struct {
	*sweep.Comparison
	ID           string
	Under        string
	Warning      string
	Verdict      []string
	Alternatives []alternative
	Measures     []measureRow
	Broke        bool // an alternative broke promises, or was broken outside of them
}

// alternative is a column.
type alternative struct {
	sweep.Row
	BrokenIn  []string
	OutsideIn []string
}

// measureRow is one measure of every alternative.
type measureRow struct {
	words.Measure
	Cells []estimateCell
}

// estimateCell is one number of a table. Best says that it is the least of its row, or not told apart
// from it.
type estimateCell struct {
	Text  string
	Best  bool
	Page  string    // of the worst run behind it
	Chart *interval // nil where there is no number
}

// interval is an estimate drawn from 0 to the row's greatest number, which is at 100.
type interval struct{ Low, Mean, Width float64 }

// intervalOf draws e where most is the greatest number of the row. What an interval has below 0 is cut off.
func intervalOf(e sweep.Estimate, most float64) *interval {
	if e.N == 0 || math.IsInf(e.Mean, 0) {
		return nil
	}
	at := func(v float64) float64 {
		if most <= 0 {
			return 0
		}
		return math.Round(1000*min(max(v, 0)/most, 1)) / 10
	}
	return &interval{Low: at(e.Low), Mean: at(e.Mean), Width: at(e.High) - at(e.Low)}
}

// LessIsBetter says of what less is better.
func (v comparisonView) LessIsBetter() string {
	var neither []string
	for _, m := range v.Measures {
		if m.Neutral {
			neither = append(neither, inSentence(m.Title))
		}
	}
	if len(neither) == 0 {
		return "Less is better"
	}
	return "Less is better, but of " + invariants.List(neither)
}

func comparisonViewOf(c *sweep.Comparison) comparisonView {
	v := comparisonView{Comparison: c, Under: underWhich(c)}
	if !c.Complete {
		v.Warning = "The comparison was stopped before every alternative was run under every plan and seed."
	} else if few := c.TooFew(); few != "" {
		v.Warning = few + "."
	}
	for _, m := range c.Metrics {
		most, reach := 0.0, 0.0
		for _, row := range c.Rows {
			if e := row.Estimates[m.Name]; e.N > 0 && !math.IsInf(e.Mean, 0) {
				most, reach = max(most, e.Mean), max(reach, e.High)
			}
		}
		row := measureRow{Measure: words.MeasureOf(m, most)}
		best := make([]bool, len(c.Rows))
		if !m.Neutral {
			best = bestOf(c.Rows, m.Name)
		}
		for i := range c.Rows {
			e := c.Rows[i].Estimates[m.Name]
			cell := estimateCell{Text: row.PlusMinus(e), Best: best[i], Chart: intervalOf(e, reach)}
			if e, ok := c.Rows[i].Worst[m.Name]; ok && cell.Text != "" {
				cell.Page = e.File + ".html"
			}
			row.Cells = append(row.Cells, cell)
		}
		v.Measures = append(v.Measures, row)
	}
	for _, row := range c.Rows {
		a := alternative{row, words.BrokenIn(row.Broken, row.Runs), words.BrokenIn(row.Outside, row.Runs)}
		v.Broke = v.Broke || len(a.BrokenIn)+len(a.OutsideIn) > 0
		v.Alternatives = append(v.Alternatives, a)
	}
	v.Verdict = verdictOf(v)
	return v
}

// underWhich says under which plans and seeds a comparison was made.
func underWhich(c *sweep.Comparison) string {
	plans, left := words.Capped(c.Plans, 12)
	if left > 0 {
		plans = append(plans[:len(plans):len(plans)], words.Counted(left, "more plan"))
	}
	return fmt.Sprintf("%s, each under %s", list2(plans), seeded(c.Seeds, c.FirstSeed))
}

// list2 is list, or a word for no items.
func list2(items []string) string {
	if len(items) == 0 {
		return "nothing"
	}
	return invariants.List(items)
}
