package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

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
	fmt.Fprintf(b, "\nPlans: %s. Mean ± half of the 95 %% interval, which is written out where it ends at what can be; less is better, bold is the least of a row, with what cannot be told apart from it.", markText(v.Under))
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
	words := "none"
	if len(r.BrokenIn) > 0 {
		words = markText(list(r.BrokenIn))
	}
	if len(r.OutsideIn) > 0 {
		words += "; outside the promise: " + markText(list(r.OutsideIn))
	}
	return words
}

func markRow(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

var markEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;",
)

// markText is s as text of one line of GitHub's Markdown, in a table or out of it.
func markText(s string) string {
	var words []string
	for _, word := range strings.Fields(strings.ToValidUTF8(s, "\uFFFD")) {
		if inner := strings.Trim(word, "_"); inner == word {
			word = strings.ReplaceAll(markEscapes.Replace(word), `\_`, "_") // within a word it means nothing
		} else {
			word = markEscapes.Replace(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// markCode is s as code within a line, in a table if it is in one.
func markCode(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if s == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}

// markBlock is s as a block of code in that language.
func markBlock(language, s string) string {
	fence := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	return fence + language + "\n" + strings.TrimRight(strings.ToValidUTF8(s, "\uFFFD"), "\n") + "\n" + fence + "\n"
}

func longestRun(s string, of byte) (longest int) {
	run := 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
