package invariants

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/sim"
)

// ViolationsMax is how many violations of one invariant a report spells out, within its promise and
// again outside of it; the rest are counted.
const ViolationsMax = 100

// tally keeps what one invariant's checker found.
type tally struct {
	inv   Invariant
	facts *facts
	place int    // this invariant's, in All
	needs places // of those it needs

	promises bool  // the settings of this run promise it at all
	released kinds // and these strikes release that

	exercised  int
	promised   int
	unpromised int
	stopped    int
	violations []Violation
}

// exercise notes that there was something to judge.
func (t *tally) exercise() { t.exercised++ }

// violated notes a violation at the present step; j is nil if it is about no single job.
func (t *tally) violated(j *job, format string, args ...any) {
	f := t.facts
	v := Violation{Invariant: t.inv.Name, Step: f.step, At: f.at}
	broken, struck := f.broken, f.strikes.run
	if j != nil {
		broken = broken.with(j.broken)
		struck |= j.struck
		if t.inv.row.saga {
			struck |= f.strikes.sagas[j.saga.workflow]
		}
		v.Job = j.id
	} else {
		struck = f.strikes.seen
	}
	if broken.meets(t.needs) {
		t.stopped++
		return
	}
	if j != nil {
		j.broken.add(t.place)
	} else {
		f.broken.add(t.place)
	}
	v.Promised = t.promises && struck&t.released == 0
	n := &t.unpromised
	if v.Promised {
		n = &t.promised
		f.unkept.add(t.place)
	}
	if *n++; *n > ViolationsMax {
		return
	}
	v.Message, v.Struck = fmt.Sprintf(format, args...), struck.list()
	if j != nil {
		v.Message = j.id + ": " + v.Message
	}
	v.Steps = stepsIn(v.Message)
	t.violations = append(t.violations, v)
}

// who names the process that ran a step.
func who(e *sim.Event) string { return process(e.Node, e.Incarnation) }

func process(node string, incarnation int) string {
	if incarnation > 1 {
		return fmt.Sprintf("%s (incarnation %d)", node, incarnation)
	}
	return node
}

func countOf(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
