package whatif

import (
	"io"

	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// PartingOf finds where the trace of a plan's run parts from that of the same plan in another build: the number of the first
// event that differs, from 1, and both. The number is 0 if all are equal. It fails if a trace cannot be read.
func PartingOf(own, other io.Reader) (number int, at why.Parting, err error) {
	p, err := sim.PartingOf(own, other, 0)
	if err != nil || p.Line == 0 {
		return 0, at, err
	}
	return p.Line, why.Parting{Own: pointOf(p.A, p.B), Other: pointOf(p.B, p.A)}, nil
}
