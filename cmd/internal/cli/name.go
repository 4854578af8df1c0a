package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/shell"
)

// Say writes a message of the program.
func Say(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "%s: %s\n", program, Visible(fmt.Sprintf(format, args...), false))
}

// ProgramName is how the user would call this program again, in a shell.
func ProgramName() string {
	name := os.Args[0]
	switch {
	case strings.Contains(name, "go-build"): // go run
		return "go run ./cmd/" + program
	case strings.ContainsRune(name, os.PathSeparator):
		return shell.Word(name)
	}
	return program
}

// Pasteable lets each command of this program in a text, which begins a line or follows a backquote, a bracket or a
// colon, be it behind variables of the environment, begin with the name that the user called it by.
func Pasteable(text string) string {
	return regexp.MustCompile("(?m)((?:^ *|`|\\(|: )(?:[A-Z_]+=[^ ]* )*)"+program+" ").ReplaceAllString(text, "${1}"+strings.ReplaceAll(ProgramName(), "$", "$$")+" ")
}
