// Package shell writes what a POSIX shell reads.
package shell

import (
	"regexp"
	"strings"
)

var plain = regexp.MustCompile(`^[A-Za-z0-9_./=:@%+,-]+$`)

// Operand is the word for a file or folder that a program is given: none that it takes for a flag.
func Operand(path string) string {
	if len(path) > 1 && path[0] == '-' { // - alone is standard input
		path = "./" + path
	}
	return Word(path)
}

// Word is s as a shell takes it for one word: quoted where that is needed.
func Word(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
