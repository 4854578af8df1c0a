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

// pathMost is how many sentences a path has at most.
const pathMost = 6

// path is how it came to the violation: the sentences of the story that lead to it, as many as there is room for, and that of
// it. Those of one step are one. Needed and spared are the steps of the strikes that the violation hangs on, and of the others.
//
// What the violation depends on and no sentence tells is told by its event.
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

// untold are the steps that a violation depends on of which the story has no sentence.
func untold(res *scenarios.Result, v *scenarios.Violation) (steps []int) {
	for _, step := range v.Steps {
		if step != v.Step && !slices.ContainsFunc(res.TellingAt, func(at scenarios.ToldAt) bool { return at.Step == step }) {
			steps = append(steps, step)
		}
	}
	return steps
}

// tell links those sentences of the story, and that of the violation. What becomes of other jobs alone is left out, and so are
// the steps of strikes that it does not hang on.
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

// link puts a sentence behind another if both are of one step, or of one millisecond and one of them of no step.
func link(p *why.Point, next why.Point) bool {
	says, same := strings.CutPrefix(next.Says, "At "+invariants.Instant(p.At)+" ")
	if !same || p.Step != next.Step && p.Step != 0 && next.Step != 0 {
		return false
	}
	p.Says = strings.TrimSuffix(p.Says, ".") + "; " + says
	p.Step, p.Operation = cmp.Or(p.Step, next.Step), cmp.Or(p.Operation, next.Operation)
	return true
}
