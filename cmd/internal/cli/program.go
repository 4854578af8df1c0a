package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// program is how messages call this program.
var program = "wavetank"

// Main runs the program that root is with args, and returns the exit code.
func Main(root *cobra.Command, args []string, stdout, stderr io.Writer) (code int) {
	program = root.Name()
	defer func() {
		if p := recover(); p != nil {
			Say(stderr, "internal error: %v\n%s", p, debug.Stack())
			code = ExitInternal
		}
	}()
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away does not end a run
	out := &output{Writer: stdout}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: programName()}
	asCalled(root)
	err := renamed()
	if err == nil {
		err = root.Execute()
	}
	if lost := out.problem(); lost != nil && (err == nil || err.Error() == "") { // a verdict that nobody could read
		err = lost
	}
	return report(err, stderr)
}

// Say writes a message of the program.
func Say(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, program+": "+format+"\n", args...)
}

// programName is how the user would call this program again.
func programName() string {
	name := os.Args[0]
	switch {
	case strings.Contains(name, "go-build"): // go run
		return "go run ./cmd/" + program
	case strings.ContainsRune(name, os.PathSeparator):
		return name
	}
	return program
}

// Pasteable lets each command of this program in a text, which begins a line or follows a backquote or a colon, begin
// with the name that the user called it by.
func Pasteable(text string) string {
	return regexp.MustCompile("(?m)(^ *|`|: )"+program+" ").ReplaceAllString(text, "${1}"+strings.ReplaceAll(programName(), "$", "$$")+" ")
}

// asCalled lets the help of a command, and of those below it, call the program as the user did.
func asCalled(cmd *cobra.Command) {
	cmd.Long, cmd.Example = Pasteable(cmd.Long), Pasteable(cmd.Example)
	for _, c := range cmd.Commands() {
		asCalled(c)
	}
}
