package reports

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/diff"
)

var differenceTemplate = pageTemplateOf("difference.html")

// differenceView is what the template sees.
type differenceView struct {
	frame
	*diff.Difference
	Heading string
	Badge   badge
	Sides   []sideView
	Given   []diff.Value
	Follow  []diff.Value
	Before  []pointView
	UpTo    int         // the step up to which they are equal
	At      string      // where they part
	Parted  []pointView // in A, in B
	Differ  []diff.Value
	Drawn   []drawing
	Rows    []toldView
	Left    int // sentences that are left out
}

// sideView is one of the runs.
type sideView struct {
	*diff.Side
	Letter      string
	Badge       badge
	VirtualTime string
	Href        string // to its report; empty if there is none
	report      []byte
	Violations  []violationCard
}

type pointView struct {
	Clock, Says string
	Step        int
	Href        string // to its row in the report; empty if that has none
}

// toldView is a row of both stories: a sentence of one, or one that both have.
type toldView struct {
	Number          int
	Of, Clock, Says string
	Violates        string
	Points          []pointView // the steps that show it, of A and of B
}

// DifferencePage writes a page of two runs side by side, which goes into the folder dir: it links to their reports.
func DifferencePage(w io.Writer, d *diff.Difference, dir string) error {
	heading := d.A.Scenario
	if d.B.Scenario != heading {
		heading += " and " + d.B.Scenario
	}
	v := differenceView{frame: newFrame("Two runs: "+heading, pageCSS, overviewCSS), Difference: d, Heading: heading, Badge: badge{"not equal", "warn"}}
	if d.Equal {
		v.Badge = badge{"equal", "good"}
	}
	a, b := sideViewOf("A", &d.A, dir), sideViewOf("B", &d.B, dir)
	v.Sides = []sideView{a, b}
	v.Given, v.Follow = d.Given()
	v.Given, v.Follow = clipped(v.Given), clipped(v.Follow)
	if p := d.Parting; p != nil {
		v.Differ = clipped(p.Differ)
		v.At, v.UpTo = words.Instant(p.At()), p.Step-1
		for i := range p.Common {
			v.Before = append(v.Before, pointViewOf(&p.Common[i], sideView{}))
		}
		v.Parted = []pointView{pointViewOf(p.A, a), pointViewOf(p.B, b)}
	}
	story, left := words.Capped(d.Story, 2*tellingMax)
	v.Left = left
	for i := range story {
		v.Rows = append(v.Rows, toldViewOf(i+1, &story[i], a, b))
	}
	v.Drawn = drawingsOf(d, story, [2]func(int) string{a.row, b.row})
	return execute(w, differenceTemplate, v)
}

func sideViewOf(letter string, s *diff.Side, dir string) sideView {
	v := sideView{Side: s, Letter: letter, Badge: runBadge(s.Verdict, s.Violations), VirtualTime: words.Duration(s.Virtual)}
	if page, err := os.ReadFile(filepath.Join(s.Dir, PageFile)); err == nil {
		v.Href, v.report = LinkTo(RealPath(dir), RealPath(s.Dir)), page
	}
	v.Violations = violationCards(&scenarios.Result{Violations: s.Alone}, nil)
	return v
}

// Folder is where the run's report is, from the page; "" if there is none.
func (v sideView) Folder() string { return folderOf(v.Href) }

// row links to a step of the run's report, which does not show all.
func (v sideView) row(step int) string {
	if id := fmt.Sprintf("step-%d", step); bytes.Contains(v.report, []byte(`<tr id="`+id+`"`)) {
		return v.Href + "#" + id
	}
	return ""
}

// RealPath is a folder by its absolute name: a page that is there by a link is there by that name, too.
func RealPath(dir string) string {
	if to, err := filepath.EvalSymlinks(dir); err == nil {
		dir = to
	}
	return absolute(dir)
}

func clipped(list []diff.Value) (short []diff.Value) {
	for _, v := range list {
		v.A, v.B = clip(v.A), clip(v.B)
		short = append(short, v)
	}
	return short
}

func pointViewOf(at *diff.Point, of sideView) pointView {
	if at == nil {
		return pointView{Says: diff.Over}
	}
	return pointView{Clock: words.Instant(at.At), Says: clip(at.Says), Step: at.Step, Href: of.row(at.Step)}
}

func toldViewOf(number int, t *diff.Told, a, b sideView) toldView {
	v := toldView{Number: number, Of: t.Of(), Says: said(t), Violates: t.Violates()}
	if t.At() > 0 {
		v.Clock = words.Instant(t.At())
	}
	if t.A != nil && t.A.Step > 0 {
		v.Points = append(v.Points, pointView{Step: t.A.Step, Href: a.row(t.A.Step)})
	}
	if t.B != nil && t.B.Step > 0 {
		v.Points = append(v.Points, pointView{Step: t.B.Step, Href: b.row(t.B.Step)})
	}
	return v
}
