package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Thousands writes n with commas.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is n of what.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Thousands(n) + " " + what + "s"
}

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

var painted = regexp.MustCompile(`^\x1b\[[0-9;]*m`)

// Visible writes out what would steer a terminal, or turn the order of its letters: text comes from files and servers.
// Colours stay if they are asked for.
func Visible(text string, colors bool) string {
	if !strings.ContainsFunc(text, steers) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		if !steers(r) || colors && painted.MatchString(text[i:]) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

func steers(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}
