package reports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/wavetank-sim/wavetank/sim"
)

// Trace reads a trace.jsonl: one [sim.Event] a line, in the order of steps. It holds one line at a
// time. The first line that cannot be read ends the sequence with an error that names it.
func Trace(r io.Reader) iter.Seq2[sim.Event, error] {
	return func(yield func(sim.Event, error) bool) {
		in := bufio.NewReaderSize(r, 1<<20)
		for n := 1; ; n++ {
			line, err := readLine(in)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(sim.Event{}, &traceError{n, err})
				return
			}
			if len(bytes.TrimSpace(line)) > 0 {
				var e sim.Event
				if bad := json.Unmarshal(line, &e); bad != nil {
					yield(sim.Event{}, &traceError{n, bad})
					return
				}
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// traceError is what is wrong with a line of a trace.
type traceError struct {
	line int
	err  error
}

func (e *traceError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *traceError) Unwrap() error { return e.err }

// readLine returns the next line, which is valid until the next call unless it is longer than the
// reader's buffer.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}
