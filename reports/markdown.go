package reports

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/visible"
)

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
		word = visible.Text(word)
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
	s = visible.Text(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
	if s == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}

// markCodes are names, each as code within a line.
func markCodes(names []string) (codes []string) {
	for _, name := range names {
		codes = append(codes, markCode(name))
	}
	return codes
}

// markBlock is s as a block of code in that language.
func markBlock(language, s string) string {
	fence := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	return fence + language + "\n" + strings.TrimRight(visible.Text(strings.ToValidUTF8(s, "\uFFFD")), "\n") + "\n" + fence + "\n"
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
