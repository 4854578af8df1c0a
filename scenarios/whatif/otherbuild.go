package whatif

import (
	"io"

	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// PartingOf finds the first event in which the traces of a plan's runs in two builds differ: its number, from
// 1, and both events. The number is 0 if all events are equal. PartingOf fails if a trace cannot be read.
func PartingOf(own, other io.Reader) (number int, at why.Parting, err error) {
	p, err := sim.PartingOf(own, other, 0)
	if err != nil || p.Line == 0 {
		return 0, at, err
	}
	return p.Line, why.Parting{Own: pointOf(p.A, p.B), Other: pointOf(p.B, p.A)}, nil
}
