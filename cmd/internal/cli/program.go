package cli

import (
	"io"
	"os/signal"
	"runtime/debug"
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
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: ProgramName()}
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

// asCalled lets the help of a command, and of those below it, call the program as the user did.
func asCalled(cmd *cobra.Command) {
	cmd.Long, cmd.Example = Pasteable(cmd.Long), Pasteable(cmd.Example)
	for _, c := range cmd.Commands() {
		asCalled(c)
	}
}
