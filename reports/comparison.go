package reports

import (
	"fmt"
	"io"
	"math"

	"github.com/faultline-sim/faultline/scenarios/sweep"
)

// The files of a comparisons' folder besides report.html.
const (
	ComparisonFile     = "compare.json"
	ComparisonMarkFile = "compare.md"
)

var comparisonTemplate = pageTemplateOf("comparison.html")

// comparisonsView is what the template sees.
type comparisonsView struct {
	frame
	Build    string
	Sections []comparisonView
}

type comparisonView struct {
	*sweep.Comparison
	ID       string
	Under    string
	Warning  string
	Measures []measure
	Rows     []comparisonRow
	Broke    bool // a row has broken promises, or was broken outside of them
}

type comparisonRow struct {
	sweep.Row
	Numbers   []estimateCell // one for each measure
	BrokenIn  []string
	OutsideIn []string
}

// estimateCell is one number of a table. Best says that it is the least of its column, or not told apart from it.
type estimateCell struct {
	Text string
	Best bool
}

// ComparisonPage writes a page of comparisons: the documentation's tables with measured columns.
func ComparisonPage(w io.Writer, list []*sweep.Comparison) error {
	v := comparisonsView{frame: newFrame("Comparisons of "+list2(titlesOf(list)), pageCSS, overviewCSS)}
	for i, c := range list {
		section := comparisonViewOf(c)
		section.ID = fmt.Sprintf("comparison-%d", i+1)
		v.Build = c.Build
		v.Sections = append(v.Sections, section)
	}
	return execute(w, comparisonTemplate, v)
}

// WriteComparisons writes report.html, compare.md and compare.json into dir.
func WriteComparisons(dir string, list []*sweep.Comparison) error {
	return writeAll(dir, []file{
		{PageFile, func(w io.Writer) error { return ComparisonPage(w, list) }},
		{ComparisonMarkFile, func(w io.Writer) error { return ComparisonMarkdown(w, list) }},
		{ComparisonFile, func(w io.Writer) error { return encode(w, list) }},
	})
}

func titlesOf(list []*sweep.Comparison) (titles []string) {
	for _, c := range list {
		titles = append(titles, lowerFirst(c.Title))
	}
	return titles
}

// list2 is list, or a word for no items.
func list2(items []string) string {
	if len(items) == 0 {
		return "nothing"
	}
	return list(items)
}

func comparisonViewOf(c *sweep.Comparison) comparisonView {
	v := comparisonView{Comparison: c, Under: underWhich(c)}
	if !c.Complete {
		v.Warning = "The comparison was stopped before every alternative was run under every plan and seed."
	}
	for _, m := range c.Metrics {
		most := 0.0
		for _, row := range c.Rows {
			if e := row.Estimates[m.Name]; e.N > 0 && !math.IsInf(e.Mean, 0) {
				most = max(most, e.Mean)
			}
		}
		v.Measures = append(v.Measures, measureOf(m, most))
	}
	for _, row := range c.Rows {
		r := comparisonRow{Row: row, BrokenIn: brokenIn(row.Broken, row.Runs), OutsideIn: brokenIn(row.Outside, row.Runs)}
		v.Broke = v.Broke || len(r.BrokenIn)+len(r.OutsideIn) > 0
		for _, m := range v.Measures {
			r.Numbers = append(r.Numbers, estimateCell{Text: m.plusMinus(row.Estimates[m.Name])})
		}
		v.Rows = append(v.Rows, r)
	}
	for i, m := range v.Measures {
		markBest(v.Rows, i, m.Name)
	}
	return v
}

// markBest marks, in one column, the least mean and what cannot be told from it: their intervals
// meet. It marks nothing where nothing can be told apart.
func markBest(rows []comparisonRow, column int, metric string) {
	least, measured := sweep.Estimate{Mean: math.Inf(1)}, 0
	for _, r := range rows {
		if e := r.Estimates[metric]; e.N > 0 {
			measured++
			if e.Mean < least.Mean {
				least = e
			}
		}
	}
	best := 0
	meets := func(e sweep.Estimate) bool { return e.N > 0 && (e.Mean == least.Mean || e.Low <= least.High) }
	for _, r := range rows {
		if meets(r.Estimates[metric]) {
			best++
		}
	}
	for i := range rows {
		rows[i].Numbers[column].Best = best < measured && meets(rows[i].Estimates[metric])
	}
}

// underWhich says under which plans and seeds a comparison was made.
func underWhich(c *sweep.Comparison) string {
	plans, left := capped(c.Plans, 12)
	if left > 0 {
		plans = append(plans[:len(plans):len(plans)], counted(left, "more plan"))
	}
	return fmt.Sprintf("%s, each under %s", list2(plans), seeded(c.Seeds, c.FirstSeed))
}
