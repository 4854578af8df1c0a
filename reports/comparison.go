package reports

import (
	"fmt"
	"io"
	"strings"

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

// ComparisonMarkdown writes comparisons as tables that GitHub renders, compact enough for a README.
func ComparisonMarkdown(w io.Writer, list []*sweep.Comparison) error {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		markComparison(&b, comparisonViewOf(c))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markComparison(b *strings.Builder, v comparisonView) {
	fmt.Fprintf(b, "### %s\n\n", markText(v.Title))
	if v.Question != "" {
		fmt.Fprintf(b, "%s\n\n", markText(v.Question))
	}
	if v.Warning != "" {
		fmt.Fprintf(b, "**%s**\n\n", v.Warning)
	}
	row := func(title string, say func(alternative) string) {
		cells := []string{title}
		for _, a := range v.Alternatives {
			cells = append(cells, say(a))
		}
		markRow(b, cells)
	}
	row("", func(a alternative) string { return markText(a.Name) })
	row("---", func(alternative) string { return "---" })
	row("upside", func(a alternative) string { return markText(a.Upside) })
	row("downside", func(a alternative) string { return markText(a.Downside) })
	for _, m := range v.Measures {
		cells := []string{markText(m.Heading())}
		for _, c := range m.Cells {
			text := markText(c.Text)
			if c.Best && text != "" {
				text = "**" + text + "**"
			}
			cells = append(cells, text)
		}
		markRow(b, cells)
	}
	if v.Broke {
		row("promises broken", markBroken)
	}
	fmt.Fprintf(b, "\nPlans: %s. Mean ± half of the 95 %% interval, which reaches past what can be where seeds are few; less is better, bold is the least of a row, with what cannot be told apart from it.", markText(v.Under))
	if v.Source != "" {
		fmt.Fprintf(b, " The words are from %s.", markText(v.Source))
	}
	b.WriteString("\n")
	for i, note := range v.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- %s\n", markText(note))
	}
}

func markBroken(r alternative) string {
	said := "none"
	if len(r.BrokenIn) > 0 {
		said = markText(words.List(r.BrokenIn))
	}
	if len(r.OutsideIn) > 0 {
		said += "; outside the promise: " + markText(words.List(r.OutsideIn))
	}
	return said
}
