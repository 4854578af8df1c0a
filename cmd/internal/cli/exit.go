package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// The exit codes.
const (
	ExitHeld             = 0
	ExitViolated         = 1
	ExitUsage            = 2
	ExitInconclusive     = 3
	ExitNotDeterministic = 4
	ExitInternal         = 5
	ExitInterrupted      = 130
)

// Error is an error that knows its exit code. Its text is one line; detail, if any, follows
// on lines of its own.
type Error struct {
	Code   int
	Text   string
	Detail string
	Cause  error // what callers may ask for; may be nil
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Cause }

// Usage is an error in how cmd was called, which names its help.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return &Error{Code: ExitUsage, Text: fmt.Sprintf(format, args...) + "; see `" + cmd.CommandPath() + " --help`"}
}

// Fail is an error with an exit code. Its cause is what the format wraps with %w.
func Fail(code int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Text: err.Error(), Cause: errors.Unwrap(err)}
}

// report says on stderr what went wrong, and returns the exit code for it.
func report(err error, stderr io.Writer) int {
	if err == nil {
		return ExitHeld
	}
	code, detail := ExitInternal, ""
	var ee *Error
	var pe *strictyaml.Error
	switch {
	case errors.As(err, &ee):
		code, detail = ee.Code, ee.Detail
	case errors.As(err, &pe):
		code, detail = ExitUsage, pe.Excerpt()
	}
	if text := err.Error(); text != "" {
		Say(stderr, "%s", Pasteable(text))
	}
	if detail != "" {
		fmt.Fprintln(stderr, Visible(Pasteable(detail), false))
	}
	if pe != nil {
		reportAlso(pe.Also, stderr)
	}
	return code
}

// reportAlso says what else is wrong with a file.
func reportAlso(list []*strictyaml.Error, stderr io.Writer) {
	for i, e := range list {
		if i == ShownMax {
			Say(stderr, "%s of %s left out; mend these first", Plural(len(list)-i, "more problem"), e.File)
			return
		}
		Say(stderr, "%s", Pasteable(e.Error()))
		if excerpt := e.Excerpt(); excerpt != "" {
			fmt.Fprintln(stderr, Visible(Pasteable(excerpt), false))
		}
	}
}
