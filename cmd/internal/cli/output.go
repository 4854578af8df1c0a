package cli

import (
	"errors"
	"io"
	"syscall"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// output is standard output. Once a write has failed it drops the rest, so that a command does
// what it has to do whether or not anybody reads what it says.
type output struct {
	io.Writer
	failed error
}

func (o *output) Write(p []byte) (int, error) {
	if o.failed == nil {
		_, o.failed = o.Writer.Write(p)
	}
	return len(p), nil
}

// problem is the error for output that was lost. A reader that had enough, as head has, is none.
func (o *output) problem() error {
	if o.failed == nil || errors.Is(o.failed, syscall.EPIPE) {
		return nil
	}
	return Fail(ExitUsage, "standard output cannot be written: %v", strictyaml.FileReason(o.failed))
}
