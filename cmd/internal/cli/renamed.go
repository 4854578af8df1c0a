package cli

import (
	"os"
	"slices"
	"strings"
)

const (
	prefixBefore = "FAULTLINE_" // of the variables, when the project was called Faultline
	prefixNow    = "WAVETANK_"
)

// renamed refuses variables of the environment that have the project's old name: a scheduler that ignored one would
// start on other servers than those that it names.
func renamed() error {
	variables := os.Environ()
	slices.Sort(variables)
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		if rest, old := strings.CutPrefix(name, prefixBefore); old {
			return Fail(ExitUsage, "$%s has the old name of a variable, and is not read; rename it to $%s%s", name, prefixNow, rest)
		}
	}
	return nil
}
