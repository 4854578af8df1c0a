package visible

import (
	"strconv"
	"strings"
	"unicode"
)

// Text is s with every character written out that steers who shows it, and is not seen itself.
func Text(s string) string { return writtenOut(s, "") }

// JSON is Text of each string of a JSON document.
func JSON(document []byte) []byte { return []byte(writtenOut(string(document), `\`)) }

// writtenOut writes out what steers as Go does, with a backslash, which may need an escape before it.
func writtenOut(s, escape string) string {
	if !strings.ContainsFunc(s, steers) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if steers(r) {
			b.WriteString(escape + strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func steers(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' || Turns(r) }

// Turns says whether a character turns the direction of the text around it.
func Turns(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }
