package cli

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/visible"
)

// Thousands writes n with commas.
func Thousands(n int) string { return invariants.Thousands(n) }

// Plural is n of what.
func Plural(n int, what string) string { return invariants.Plural(n, what) }

// Describe says what a key is for, and what it may be.
func Describe(k strictyaml.Key) string {
	text := k.Doc
	if k.Allowed != "" {
		text += " (" + k.Allowed + ")"
	}
	if k.Section != "" {
		text += ": wavetank explain " + k.Section
	}
	return text
}

// KeyTable is the section's keys, a line or more each, of so many columns.
func KeyTable(s strictyaml.Section, columns int) string {
	longest := 0
	for _, k := range s.Keys {
		longest = max(longest, len(k.Name))
	}
	var b strings.Builder
	for _, k := range s.Keys {
		first := fmt.Sprintf("  %-*s", longest, k.Name)
		for _, line := range folded(Describe(k), columns-len(first)-2) {
			b.WriteString(first + "  " + line + "\n")
			first = strings.Repeat(" ", len(first))
		}
	}
	return b.String()
}

// folded breaks text into lines of so many columns, if its words allow it.
func folded(text string, columns int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// FirstLine is the first of the errors that were joined.
func FirstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

var painted = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Visible writes out what would steer a terminal, or turn the order of its letters: text comes from files and servers.
// Colours stay if they are asked for.
func Visible(text string, colors bool) string {
	if !colors {
		return visible.Text(text)
	}
	var b strings.Builder
	rest := 0
	for _, at := range painted.FindAllStringIndex(text, -1) {
		b.WriteString(visible.Text(text[rest:at[0]]) + text[at[0]:at[1]])
		rest = at[1]
	}
	return b.String() + visible.Text(text[rest:])
}
