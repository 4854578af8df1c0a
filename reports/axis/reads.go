package axis

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// reads follows what nodes have read of the records of jobs. What one has read holds for what it does for the job until the
// next message about it comes, or it answers the last.
type reads map[reader]string

type reader struct{ node, job string }

// next takes the next event and returns what its node went by; empty if nothing is known.
func (r reads) next(e *sim.Event, describe func() string) (went string) {
	by := reader{e.Node, scheduler.JobOf(e)}
	switch {
	case e.Kind == sim.KindControl && e.Name == "crash":
		for other := range r {
			if other.node == e.Target {
				delete(r, other)
			}
		}
	case by.job == "":
	case e.Kind == sim.KindDeliver:
		delete(r, by)
	case scheduler.Reads(e):
		r[by] = fmt.Sprintf("%s, at step %d", describe(), e.Step)
	default:
		went = r[by]
		if e.Kind == sim.KindAck || e.Kind == sim.KindNak || e.Kind == sim.KindTerm {
			delete(r, by)
		}
	}
	return went
}
