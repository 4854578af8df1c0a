// Package suggest finds the name that a person meant.
package suggest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Closest returns the name in known that is most like name, or "" if none is near. It ignores case, and
// treats dashes, underscores and spaces as equal. Of names that are equally near it returns the first.
func Closest(name string, known []string) string {
	const lengthMax = 64 // a longer name is no typing error
	want := fold(name)
	if want == "" || len(want) > lengthMax {
		return ""
	}
	n := utf8.RuneCountInString(want)
	best, found := 1+max(n/3, min(n-1, 1)), ""
	for _, k := range known {
		if d := nearness(want, fold(k)); d < best {
			best, found = d, k
		}
	}
	return found
}

// Hint returns the closest name in the form ` (did you mean "x"?)`, for the end of an error message, or "".
func Hint(name string, known []string) string {
	if c := Closest(name, known); c != "" {
		return fmt.Sprintf(" (did you mean %q?)", c)
	}
	return ""
}

// nearness is the edit distance. The last part of a dotted name, and its beginning, count as near as well.
func nearness(want, known string) int {
	d := distance(want, known)
	if dot := strings.LastIndexByte(known, '.'); dot >= 0 && strings.LastIndexByte(want, '.') < 0 {
		d = min(d, distance(want, known[dot+1:]))
	}
	if len(want) >= 3 && strings.HasPrefix(known, want) {
		d = min(d, 1)
	}
	return d
}

func fold(s string) string {
	return strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(s)))
}

// distance is the number of insertions, deletions, substitutions and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, prev, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(t)]
}
