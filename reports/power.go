package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/power"
)

var powerTemplate = pageTemplateOf("power.html")

// powerView is what the template sees.
type powerView struct {
	frame
	*power.Result
	Lead       string
	Each       string // the time of each search
	Rates      []powerRate
	Found      plots.Figure
	Survivors  []powerRow
	Unchanging []power.Row
	Rows       []powerRow // those that change a run
}

type powerRate struct {
	power.Rate
	Share, Interval, Median string
}

// powerRow is one mutant.
type powerRow struct {
	power.Row
	By     []string // promises that broke, or how the process ended, by the quickest search
	First  string   // that search, and its time
	Missed string   // the searches that did not find it
	Shown  string   // of a survivor: the runs that it changes
}

// PowerPage writes a page of which mutants the searches found.
func PowerPage(w io.Writer, r *power.Result) error {
	v := powerView{frame: newFrame("What the searches find", pageCSS, overviewCSS), Result: r, Each: words.Duration(r.Budget), Found: plots.Found(r), Unchanging: r.Unchanging()}
	for _, rate := range r.Rates() {
		row := powerRate{Rate: rate, Share: fmt.Sprintf("%.0f %%", 100*float64(rate.Killed)/float64(rate.Of)), Interval: fmt.Sprintf("%.0f to %.0f %%", 100*rate.Low, 100*rate.High)}
		if rate.Killed > 0 {
			row.Median = words.Duration(rate.Median.Round(10 * time.Millisecond))
		}
		v.Rates = append(v.Rates, row)
	}
	for _, m := range r.Changing() {
		row := powerRow{Row: m}
		var missed []string
		var took time.Duration
		for _, k := range m.Kills {
			switch {
			case len(k.By) == 0:
				missed = append(missed, k.Search)
			case row.First == "" || k.Took < took:
				took, row.By, row.First = k.Took, k.By, k.Search+", "+words.Duration(k.Took.Round(10*time.Millisecond))
			}
		}
		row.Missed = strings.Join(missed, ", ")
		v.Rows = append(v.Rows, row)
		if row.First == "" {
			runs, search, plan := m.Changed()
			row.Shown = fmt.Sprintf("%s, such as %s in %s", words.Counted(runs, "run"), plan, search)
			v.Survivors = append(v.Survivors, row)
		}
	}
	found := len(v.Rows) - len(v.Survivors)
	v.Lead = fmt.Sprintf("%s of the engine, run one at a time. Of the %d that change an event of a run, the searches together find %d.", words.Counted(len(r.Mutants()), "mutant"), len(v.Rows), found)
	return execute(w, powerTemplate, v)
}
