package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

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
	Columns  []string
	Rows     []siteRow
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
var outcomes = []exhaust.Outcome{exhaust.Missed, exhaust.Held, exhaust.Inconclusive, exhaust.Outside, exhaust.Broken, exhaust.OutOfBounds}

// siteRow is one site.
type siteRow struct {
	Site  exhaust.Site
	At    string
	Cells []siteCell
}

// siteCell is one kind of fault at one site. The zero siteCell is a kind that cannot strike there.
type siteCell struct {
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

// FaultMap writes the page of a certificate: sites down, kinds of fault across.
func FaultMap(w io.Writer, c *exhaust.Certificate) error {
	v := faultMapView{frame: newFrame("Fault map of "+c.Name, pageCSS, overviewCSS), Certificate: c}
	v.Tone, v.Verdict = certified(c)
	v.Lead = fmt.Sprintf("Each of %s of one run was struck alone by everything that can strike it, in a run for each.", words.Counted(len(c.Sites), "operation"))
	for _, o := range outcomes {
		mark := faultMarks[o]
		mark.Tries = c.Counts[o]
		v.Legend = append(v.Legend, mark)
	}
	met := make([]bool, len(c.Kinds))
	for _, site := range c.Sites {
		v.Rows = append(v.Rows, siteRow{site, words.Instant(site.At), make([]siteCell, len(c.Kinds))})
	}
	worst := map[[2]int]int{}
	for n := range c.Tries {
		t := &c.Tries[n]
		met[t.Kind] = true
		at := [2]int{t.Site, t.Kind}
		if was, there := worst[at]; there && slices.Index(outcomes, c.Tries[was].Outcome) >= slices.Index(outcomes, t.Outcome) {
			continue
		}
		worst[at] = n
		v.Rows[t.Site].Cells[t.Kind] = siteCell{faultMarks[t.Outcome], titleOf(t), fileOf(c, n)}
	}
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

// WriteFaultMap writes report.html into dir.
func WriteFaultMap(dir string, c *exhaust.Certificate) error {
	return writeAll(dir, []file{{PageFile, func(w io.Writer) error { return FaultMap(w, c) }}})
}

func certified(c *exhaust.Certificate) (tone, says string) {
	broken := c.Counts[exhaust.Broken] + c.Counts[exhaust.OutOfBounds]
	switch {
	case broken > 0:
		return "bad", fmt.Sprintf("%s of %s broke a promise.", words.Count(broken), words.Counted(len(c.Tries), "single fault"))
	case !c.Complete:
		return "warn", fmt.Sprintf("%s of %s were tried, and none broke a promise.", words.Count(len(c.Tries)), words.Counted(c.All, "single fault"))
	}
	return "good", fmt.Sprintf("None of %s broke a promise.", words.Counted(len(c.Tries), "single fault"))
}

func titleOf(t *exhaust.Tried) string {
	title := t.Fault + ": " + string(t.Outcome)
	if len(t.Invariants) > 0 {
		title += " (" + strings.Join(t.Invariants, ", ") + ")"
	}
	return title
}

// fileOf is what a try opens: its page, or its plan; "" is nothing.
func fileOf(c *exhaust.Certificate, n int) string {
	switch t := &c.Tries[n]; {
	case t.Page != "":
		return t.Page
	case t.Outcome == exhaust.Held || t.Outcome == exhaust.Missed:
		return ""
	}
	return exhaust.TryFile(n) + ".yaml"
}
