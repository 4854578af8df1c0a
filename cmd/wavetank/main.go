// Command wavetank runs a complete job scheduler, the real nats-server and miniredis in one
// process, on a virtual clock, and breaks things on purpose.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// The exit codes.
const (
	exitHeld             = 0
	exitViolated         = 1
	exitUsage            = 2
	exitInconclusive     = 3
	exitNotDeterministic = 4
	exitInternal         = 5
	exitInterrupted      = 130
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program: it returns the exit code.
func run(args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "wavetank: internal error: %v\n%s", p, debug.Stack())
			code = exitInternal
		}
	}()
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away does not end a run
	out := &output{Writer: stdout}
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.Execute()
	if lost := out.problem(); lost != nil && (err == nil || err.Error() == "") { // a verdict that nobody could read
		err = lost
	}
	return report(err, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "wavetank",
		Short: "Break a job scheduler on purpose, and replay every failure from its seed",
		Long: `Wavetank runs a complete job scheduler, the real nats-server with JetStream and
miniredis in one process, on a virtual clock, one step at a time, and breaks
things on purpose. The same seed gives the same run, byte for byte, on any
machine.

Exit codes: 0 held, 1 an invariant was violated, 2 usage or input,
3 inconclusive, 4 not deterministic, 5 internal, 130 interrupted.`,
		Example: `  wavetank run publish-failure
  wavetank run state-write-failure --set engine.dispatch_order=publish-first
  wavetank fuzz --budget 60s
  wavetank sweep stale-worker-retries
  wavetank list scenarios
  wavetank explain rollback_write
  wavetank scheduler`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage(cmd, "unknown command %q%s", args[0], suggest.Hint(args[0], commandNames(cmd)))
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, "%s", flagProblem(cmd, err)) })
	root.AddGroup(&cobra.Group{ID: "simulator", Title: "In the simulator:"}, &cobra.Group{ID: "servers", Title: "Over real servers:"})
	inGroup(root, "simulator", newRun(), newFuzz(), newSweep(), newCompare(), newReport(), newVerify(), newList(), newExplain())
	inGroup(root, "servers", newScheduler(), newKernel(), newWorker(), newSubmit(), newShow(), newWorkflow(), newApprove(), newCancel(), newDLQ(), newAudit())
	root.AddCommand(newVersion(), newVerifyWorker(), newCampaignWorker())
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			strict(cmd)
		}
	}
	return root
}

// inGroup adds commands that the help lists together.
func inGroup(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

// strict lets cobra's own completion command refuse what the others refuse.
func strict(completion *cobra.Command) {
	var shells []string
	for _, shell := range completion.Commands() {
		shell.Args = noArgs
		shells = append(shells, shell.Name())
	}
	completion.Args = oneArg("the shell (" + strings.Join(shells, ", ") + ")")
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		return usage(cmd, "no completion for %q%s", args[0], suggest.Hint(args[0], shells))
	}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage(cmd.Root(), "unknown command %q%s", args[0], suggest.Hint(args[0], commandNames(cmd)))
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

// exitError is an error that knows its exit code. Its text is one line; detail, if any, follows
// on lines of its own.
type exitError struct {
	code   int
	text   string
	detail string
	is     error // what callers may ask for; may be nil
}

func (e *exitError) Error() string { return e.text }
func (e *exitError) Unwrap() error { return e.is }

func usage(cmd *cobra.Command, format string, args ...any) error {
	return &exitError{code: exitUsage, text: fmt.Sprintf(format, args...) + "; see `" + cmd.CommandPath() + " --help`"}
}

func fail(code int, format string, args ...any) error {
	return &exitError{code: code, text: fmt.Sprintf(format, args...)}
}

// report says on stderr what went wrong, and returns the exit code for it.
func report(err error, stderr io.Writer) int {
	if err == nil {
		return exitHeld
	}
	code, detail := exitInternal, ""
	var ee *exitError
	var pe *strictyaml.Error
	switch {
	case errors.As(err, &ee):
		code, detail = ee.code, ee.detail
	case errors.As(err, &pe):
		code, detail = exitUsage, pe.Excerpt()
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(stderr, "wavetank: "+text)
	}
	if detail != "" {
		fmt.Fprintln(stderr, detail)
	}
	return code
}

// verdictError carries a run's exit code; the verdict is printed already.
func verdictError(v scenarios.Verdict) error {
	switch v {
	case scenarios.Held:
		return nil
	case scenarios.Violated:
		return &exitError{code: exitViolated}
	default:
		return &exitError{code: exitInconclusive}
	}
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Root().Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// oneArg wants exactly one argument, which the error calls what.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return usage(cmd, "%s: %s is missing", cmd.Name(), what)
		}
		return usage(cmd, "%s takes one %s, not %d: %s", cmd.Name(), strings.TrimPrefix(what, "the "), len(args), strings.Join(args, " "))
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "%s takes no arguments: %s", cmd.Name(), strings.Join(args, " "))
	}
	return nil
}
