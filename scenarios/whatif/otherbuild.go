package whatif

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// PartingOf finds where the trace of a plan's run parts from that of the same plan in another build: the number of the first
// event that differs, from 1, and both. The number is 0 if the traces are equal. It fails if a trace cannot be read.
func PartingOf(own, other io.Reader) (number int, at why.Parting, err error) {
	p, err := sim.PartingOf(own, other, 0)
	if err != nil || p.Line == 0 {
		return 0, at, err
	}
	a, err := eventOf(p.A)
	if err != nil {
		return 0, at, fmt.Errorf("event %d: %w", p.Line, err)
	}
	b, err := eventOf(p.B)
	if err != nil {
		return 0, at, fmt.Errorf("event %d of the other build: %w", p.Line, err)
	}
	return p.Line, why.Parting{Own: pointOf(a, b), Other: pointOf(b, a)}, nil
}

// eventOf reads a line of a trace; nil is that of a trace that has ended.
func eventOf(line string) (*sim.Event, error) {
	if line == "" {
		return nil, nil
	}
	e := &sim.Event{}
	return e, json.Unmarshal([]byte(line), e)
}
