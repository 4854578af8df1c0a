package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
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
		titles = append(titles, words.LowerFirst(c.Title))
	}
	return titles
}

// ComparisonText is a comparison in words: a table under its heads, and what is said of it.
type ComparisonText struct {
	Title, Question string
	Warning         string
	Verdict         []string
	Heads           []string
	Rows            [][]string
	About           string
	Notes           []string
	Best            [][]bool // of each row's cells: it is the least, or cannot be told apart from it
}

// ComparisonTexts are comparisons in words; mark is how the best of a row is marked.
func ComparisonTexts(list []*sweep.Comparison, mark string) (texts []ComparisonText) {
	for _, c := range list {
		texts = append(texts, comparisonText(comparisonViewOf(c), mark))
	}
	return texts
}

func comparisonText(v comparisonView, mark string) ComparisonText {
	t := ComparisonText{Title: v.Title, Question: v.Question, Warning: v.Warning, Verdict: v.Verdict, Notes: v.Notes, Heads: []string{""}}
	row := func(title string, say func(alternative) string) {
		cells := []string{title}
		for _, a := range v.Alternatives {
			cells = append(cells, say(a))
		}
		t.Rows, t.Best = append(t.Rows, cells), append(t.Best, make([]bool, len(cells)))
	}
	for _, a := range v.Alternatives {
		t.Heads = append(t.Heads, a.Name)
	}
	row("upside", func(a alternative) string { return a.Upside })
	row("downside", func(a alternative) string { return a.Downside })
	for _, m := range v.Measures {
		cells, best := []string{m.Heading()}, []bool{false}
		for _, c := range m.Cells {
			cells, best = append(cells, c.Text), append(best, c.Best && c.Text != "")
		}
		t.Rows, t.Best = append(t.Rows, cells), append(t.Best, best)
	}
	if v.Broke {
		row("promises broken", brokeWhat)
	}
	t.About = "Plans: " + v.Under + ". "
	if v.Seeds > 1 {
		t.About += "Mean ± half of the 95 % interval, or with both its ends where the mean is not in the middle. "
	}
	t.About += v.LessIsBetter()
	if v.TooFew() == "" {
		t.About += "; " + mark + " are the least of a row and those that cannot be told from it"
	}
	t.About += "."
	if v.Source != "" {
		t.About += " The words are from " + v.Source + "."
	}
	return t
}

func brokeWhat(r alternative) string {
	said := "none"
	if len(r.BrokenIn) > 0 {
		said = invariants.List(r.BrokenIn)
	}
	if len(r.OutsideIn) > 0 {
		said += "; outside the promise: " + invariants.List(r.OutsideIn)
	}
	return said
}

// ComparisonMarkdown writes comparisons as tables that GitHub renders, compact enough for a README.
func ComparisonMarkdown(w io.Writer, list []*sweep.Comparison) error {
	var b strings.Builder
	for i, t := range ComparisonTexts(list, "bold") {
		if i > 0 {
			b.WriteString("\n")
		}
		markComparison(&b, t)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markComparison(b *strings.Builder, t ComparisonText) {
	fmt.Fprintf(b, "### %s\n\n", markText(t.Title))
	if t.Question != "" {
		fmt.Fprintf(b, "%s\n\n", markText(t.Question))
	}
	if t.Warning != "" {
		fmt.Fprintf(b, "**%s**\n\n", t.Warning)
	}
	if len(t.Verdict) > 0 {
		fmt.Fprintf(b, "%s\n\n", markText(strings.Join(t.Verdict, " ")))
	}
	marked := func(cells []string, best []bool) []string {
		out := make([]string, len(cells))
		for i, cell := range cells {
			if out[i] = markText(cell); best != nil && best[i] {
				out[i] = "**" + out[i] + "**"
			}
		}
		return out
	}
	markRow(b, marked(t.Heads, nil))
	markRow(b, slices.Repeat([]string{"---"}, len(t.Heads)))
	for i, row := range t.Rows {
		markRow(b, marked(row, t.Best[i]))
	}
	fmt.Fprintf(b, "\n%s\n", markText(t.About))
	for i, note := range t.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- %s\n", markText(note))
	}
}
