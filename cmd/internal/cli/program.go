package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
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

// Pasteable lets a command of this program begin with the name that the user called it by.
func Pasteable(command string) string {
	if rest, ok := strings.CutPrefix(command, program+" "); ok {
		return programName() + " " + rest
	}
	return command
}
