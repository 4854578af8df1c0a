package plots

import (
	"html/template"
	"slices"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// Figure is one plot as the template shows it.
type Figure struct {
	Title  string
	Legend []LegendEntry
	SVGs   []template.HTML
	Under  *Figure     // another plot below, with a legend of its own; nil is none
	Panels []panelView // in place of SVGs: the same plot several times
	Pairs  bool        // two panels a row
	Notes  []string
	Empty  string // why there is nothing to draw
	Halo   bool   // its texts lie over lines
}

type LegendEntry struct {
	Mark string // a class of the style sheet: line, dash, dot, cross, band, hatch, blank, taken, fault-line, violation-line, alert-line
	Name string // the variable of the style sheet that holds the colour
	Text string
}

// panelView is one of several plots of a figure.
type panelView struct {
	Title string
	SVG   template.HTML
}

// addPanels draws a figure's plot: once for each size if there is one panel, and side by side in the
// smaller size if there are more.
func (f *Figure) addPanels(panels []panel, draw func(i int, s size) template.HTML) {
	if len(panels) == 1 {
		for _, s := range sizes {
			f.SVGs = append(f.SVGs, draw(0, s))
		}
		return
	}
	for i, p := range panels {
		f.Panels = append(f.Panels, panelView{p.Title, draw(i, sizes[len(sizes)-1])})
	}
	f.Pairs = inPairs(panels)
}

// leftOut notes how many panels there was no room for.
func (f *Figure) leftOut(n int, what string) {
	if n > 0 {
		f.Notes = append(f.Notes, words.Counted(n, what)+" left out; the table of points has them.")
	}
}

// inPairs says whether two panels each differ in the last axis alone, so that they belong side by side.
func inPairs(panels []panel) bool {
	for i, p := range panels {
		outer := p.rest[:len(p.rest)-1]
		if i%2 == 0 && i+1 == len(panels) || i%2 == 1 && !slices.Equal(outer, panels[i-1].rest[:len(p.rest)-1]) {
			return false
		}
		if i%2 == 0 && i > 0 && slices.Equal(outer, panels[i-1].rest[:len(p.rest)-1]) {
			return false
		}
	}
	return true
}
