package whatif

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// pathMost is the largest number of sentences in a path.
const pathMost = 6

// path tells how the violation came about: the sentences of the story that lead to it, as many as there is
// room for, and its own. Sentences of one step are joined. needed and spared are the steps of the strikes on
// which the violation depends, and of the others.
//
// A step that the violation depends on, and that no sentence tells, is told by its event.
func path(res *scenarios.Result, v *scenarios.Violation, phases map[int]string, needed, spared []int, untold []*sim.Event) (list []why.Point) {
	untold = untold[max(0, len(untold)-max(1, pathMost-2-len(needed))):]
	for most := pathMost - 1 - len(untold); ; most++ {
		leading, left := res.Leading(v, most, needed...)
		longer := tell(res, v, leading, phases, spared, untold)
		if len(longer) > pathMost {
			return list
		}
		if list = longer; left == 0 {
			return list
		}
	}
}

// untold lists the steps that a violation depends on and that the story does not tell.
func untold(res *scenarios.Result, v *scenarios.Violation) (steps []int) {
	for _, step := range v.Steps {
		if step != v.Step && !slices.ContainsFunc(res.TellingAt, func(at scenarios.ToldAt) bool { return at.Step == step }) {
			steps = append(steps, step)
		}
	}
	return steps
}

// tell joins the leading sentences of the story and that of the violation. It leaves out sentences that are
// only about other jobs, and strikes on which the violation does not depend.
func tell(res *scenarios.Result, v *scenarios.Violation, leading []int, phases map[int]string, spared []int, untold []*sim.Event) (list []why.Point) {
	for i, at := range res.TellingAt {
		for ; len(untold) > 0 && untold[0].At <= at.At && (untold[0].Step < at.Step || at.Step == 0); untold = untold[1:] {
			e := untold[0]
			list = append(list, why.Point{Step: e.Step, At: e.At, Operation: e.Phase, Says: "At " + invariants.Instant(e.At) + " " + e.Words() + "."})
		}
		broken := at.Violates == v.Invariant && at.At == v.At && strings.Contains(res.Telling[i], v.Message)
		if !broken && (!slices.Contains(leading, i) || res.Aside(i, v, spared)) {
			continue
		}
		p := why.Point{Step: at.Step, At: at.At, Says: res.Telling[i]}
		if at.Wrong || at.Step == v.Step || slices.Contains(v.Steps, at.Step) {
			p.Operation = phases[at.Step]
		}
		if n := len(list); n == 0 || !link(&list[n-1], p) {
			list = append(list, p)
		}
		if broken {
			break
		}
	}
	return list
}

// link appends next to p if both are of one step, or of one millisecond and one of them has no step.
func link(p *why.Point, next why.Point) bool {
	says, same := strings.CutPrefix(next.Says, "At "+invariants.Instant(p.At)+" ")
	if !same || p.Step != next.Step && p.Step != 0 && next.Step != 0 {
		return false
	}
	p.Says = strings.TrimSuffix(p.Says, ".") + "; " + says
	p.Step, p.Operation = cmp.Or(p.Step, next.Step), cmp.Or(p.Operation, next.Operation)
	return true
}
