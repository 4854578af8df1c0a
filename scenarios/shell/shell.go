// Package shell writes what a POSIX shell reads.
package shell

import (
	"regexp"
	"strings"
)

var plain = regexp.MustCompile(`^[A-Za-z0-9_./=:@%+,-]+$`)

// Word is s as a shell takes it for one word: quoted where that is needed.
func Word(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
