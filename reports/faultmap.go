package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
)

var faultMapTemplate = pageTemplateOf("faultmap.html")

// faultMapView is what the template sees.
type faultMapView struct {
	frame
	*exhaust.Certificate
	Lead     string
	Tone     string
	Verdict  string
	Legend   []faultMark
	Empty    string // what an empty cell says
	What     string // was tried
	Same     string // what faults that are left out have in common with another
	About    string // what rows, columns and cells are
	Heads    []string
	Columns  []string
	Rows     []strikeRow
	Releases []releaseRow
}

// faultMark is how the map shows an outcome.
type faultMark struct {
	Class, Sign, Says string
	Tries             int
}

var faultMarks = map[exhaust.Outcome]faultMark{
	exhaust.Held:         {Class: "promised", Sign: "·", Says: "nothing was broken"},
	exhaust.Outside:      {Class: "open", Sign: "○", Says: "an invariant was broken outside of its promise"},
	exhaust.Broken:       {Class: "impossible", Sign: "✗", Says: "a promise was broken"},
	exhaust.OutOfBounds:  {Class: "impossible", Sign: "!", Says: "the code under test took its process down"},
	exhaust.Inconclusive: {Class: "with", Sign: "?", Says: "not everything could be judged"},
	exhaust.Missed:       {Class: "with", Sign: "–", Says: "the fault had no effect"},
}

// outcomes are in the order of the legend; of several tries in one cell the map shows that which is named last.
var outcomes = []exhaust.Outcome{exhaust.Missed, exhaust.Held, exhaust.Outside, exhaust.Inconclusive, exhaust.Broken, exhaust.OutOfBounds}

// strikeRow is one operation; of pairs, one kind of first fault.
type strikeRow struct {
	Head  string
	Notes []string // more about it
	Cells []strikeCell
}

// strikeCell is one kind of fault in a row. The zero strikeCell is a kind that was not tried there.
type strikeCell struct {
	faultMark
	Title string
	File  string // of the worst try
}

// releaseRow is why tries are outside of a promise.
type releaseRow struct {
	exhaust.Release
	Says string
	File string
}

// FaultMap writes the page of a certificate: operations down, or of pairs the kinds of the first fault, and kinds of fault
// across.
func FaultMap(w io.Writer, c *exhaust.Certificate) error {
	v := faultMapView{frame: newFrame("Fault map of "+c.Name, pageCSS, overviewCSS), Certificate: c}
	v.Tone, v.Verdict = certified(c)
	for _, o := range outcomes {
		mark := faultMarks[o]
		mark.Tries = c.Counts[o]
		if o == exhaust.Held && len(c.Baseline) > 0 {
			mark.Says += " but what the plan breaks by itself"
		}
		v.Legend = append(v.Legend, mark)
	}
	v.Empty = "it cannot strike there, or was not tried"
	if triesEvery(c) {
		v.Empty = "it cannot strike there"
	}
	v.Lead, v.Same = leadOf(c), exhaust.LooksTheSame(c.Reduced, c.Pairs)
	row := v.rows()
	met := make([]bool, len(c.Kinds))
	worst := map[[2]int]int{}
	for n := range c.Tries {
		t := &c.Tries[n]
		met[t.Kind] = true
		at := [2]int{row(t), t.Kind}
		if was, there := worst[at]; there {
			than := slices.Index(outcomes, t.Outcome) - slices.Index(outcomes, c.Tries[was].Outcome)
			if than < 0 || than == 0 && (fileOf(c, was) != "" || fileOf(c, n) == "") { // of those that are as bad, one that can be opened
				continue
			}
		}
		worst[at] = n
		v.Rows[at[0]].Cells[t.Kind] = strikeCell{faultMarks[t.Outcome], titleOf(c, n), fileOf(c, n)}
	}
	v.Rows = slices.DeleteFunc(v.Rows, func(r strikeRow) bool {
		return !slices.ContainsFunc(r.Cells, func(c strikeCell) bool { return c.Sign != "" })
	})
	for i := len(met) - 1; i >= 0; i-- { // what can strike nothing here needs no column
		if met[i] {
			continue
		}
		for row := range v.Rows {
			v.Rows[row].Cells = slices.Delete(v.Rows[row].Cells, i, i+1)
		}
	}
	for i, kind := range c.Kinds {
		if met[i] {
			v.Columns = append(v.Columns, kind)
		}
	}
	for i := range c.Releases {
		r := &c.Releases[i]
		v.Releases = append(v.Releases, releaseRow{*r, r.Says(), fileOf(c, r.First)})
	}
	return execute(w, faultMapTemplate, v)
}

// rows makes the rows, empty, with what they are about, and says in which of them a try is.
func (v *faultMapView) rows() func(*exhaust.Tried) int {
	c := v.Certificate
	const cells = " A cell is the worst of its runs; its link, if it has one, opens that run or the plan of it."
	if c.Pairs {
		v.What = "pairs of faults"
		if triesEvery(c) {
			v.What = "every pair of faults"
		}
		v.About = "A row is what strikes first, a column what strikes after it." + cells
		for _, kind := range c.Kinds {
			v.Rows = append(v.Rows, strikeRow{Head: kind, Cells: make([]strikeCell, len(c.Kinds))})
		}
		return func(t *exhaust.Tried) int { return c.Firsts[t.First-1].Kind }
	}
	v.What = "single faults"
	if triesEvery(c) {
		v.What = "every single fault"
	}
	v.About = "A row is an operation, in the order in which the plan by itself makes them; a column is what strikes it." + cells
	v.Heads = []string{"node", "at"}
	for _, site := range c.Sites {
		v.Rows = append(v.Rows, strikeRow{site.String(), []string{site.Node, words.Instant(site.At)}, make([]strikeCell, len(c.Kinds))})
	}
	return func(t *exhaust.Tried) int { return t.Site }
}

// triesEvery says whether the certificate is of all that there is to try: nothing was asked for alone, left out or cut short.
func triesEvery(c *exhaust.Certificate) bool {
	return c.Complete && !c.Reduced && c.Alike == 0 && c.Apart == 0 && c.Beyond == 0 && len(c.Phases) == 0 && len(c.Kinds) == len(exhaust.Kinds())
}

// leadOf says what was tried, and what was not.
func leadOf(c *exhaust.Certificate) string {
	was, where := "was", ""
	kinds, can := "every kind of fault", "can strike it"
	if !c.Complete {
		was = "is to be"
	}
	if len(c.Kinds) < len(exhaust.Kinds()) {
		kinds, can = "every kind of fault that was asked for", "was asked for and can strike it"
	}
	if len(c.Phases) > 0 {
		where = " of the phases " + invariants.List(c.Phases)
	}
	lead := fmt.Sprintf("Each of %s%s in one run %s struck alone by every kind of fault that %s, in a run for each.", words.Counted(len(c.Sites), "operation"), where, was, can)
	if c.Pairs {
		lead = fmt.Sprintf("Each of %s %s followed by %s, at every operation%s that its run makes from then on, in a run for each.", words.Counted(len(c.Firsts), "single fault"), was, kinds, where)
	}
	if c.Beyond > 0 {
		lead += fmt.Sprintf(" No second follows %s, which took the process down.", words.Counted(c.Beyond, "single fault"))
	}
	if c.Pairs {
		lead += " The single faults have a certificate of their own."
	}
	if c.Alike > 0 {
		lead += " A fault is left out where another " + exhaust.LooksTheSame(c.Reduced, c.Pairs) + "."
	}
	if c.Reduced {
		lead += " Operations of jobs that the plan is not about are not struck."
	}
	if !c.Complete {
		lead += fmt.Sprintf(" So far %s of %s were tried. An operation that nothing has struck yet has no row.", words.Count(len(c.Tries)), words.Counted(c.All, c.Noun()))
	}
	return lead
}

// WriteFaultMap writes report.html into dir.
func WriteFaultMap(dir string, c *exhaust.Certificate) error {
	return writeAll(dir, []file{{PageFile, func(w io.Writer) error { return FaultMap(w, c) }}})
}

// certified is what a certificate comes to, in the tones of an index.
func certified(c *exhaust.Certificate) (tone, says string) {
	broken := c.Counts[exhaust.Broken] + c.Counts[exhaust.OutOfBounds]
	switch {
	case broken+c.Beyond > 0:
		return "bad", fmt.Sprintf("%s of %s broke a promise.", words.Count(broken), words.Counted(len(c.Tries), c.Noun()))
	case !c.Complete:
		return "warn", fmt.Sprintf("Unfinished: %s of %s were tried, and none broke a promise.", words.Count(len(c.Tries)), words.Counted(c.All, c.Noun()))
	}
	says = fmt.Sprintf("None of %s broke a promise", words.Counted(len(c.Tries), c.Noun()))
	switch n, open := c.Counts[exhaust.Outside], c.Counts[exhaust.Inconclusive]; {
	case open > 0:
		return "warn", says + fmt.Sprintf("; %s could not be judged.", words.Count(open))
	case n > 0:
		return "outside", says + fmt.Sprintf("; %s broke something outside of a promise.", words.Count(n))
	case len(c.Baseline) > 0:
		return "outside", says + "; the plan by itself breaks something outside of a promise."
	}
	return "good", says + "."
}

func titleOf(c *exhaust.Certificate, n int) string {
	title := c.Words(n) + ": " + c.Tries[n].Came()
	if unjudged := c.Tries[n].Unjudged; len(unjudged) > 0 {
		title += "; not judged: " + strings.Join(unjudged, ", ")
	}
	return title
}

// fileOf is what a try opens: its page, or its plan; "" is nothing.
func fileOf(c *exhaust.Certificate, n int) string {
	switch {
	case c.Tries[n].Page != "":
		return c.Tries[n].Page
	case c.HasPlan(n):
		return exhaust.TryFile(n) + ".yaml"
	}
	return ""
}
