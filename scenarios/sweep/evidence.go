package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
)

// evidenceTold is how many lines of one kind of evidence are shown.
const evidenceTold = 24

// evidence lists the differences between neighbouring values of the knob and between choices, as means over
// all conditions. It also lists the effects of the conditions, and the points that were left out.
func (a *answering) evidence() (lines []string) {
	var steps, costs []string
	for _, c := range a.decisions {
		if c.compared() && c.by.seeds() > 1 {
			steps = append(steps, a.steps(c, c.by)...)
			costs = append(costs, a.steps(c, c.cost)...)
		}
	}
	for _, part := range [][]string{steps, costs, a.between(), a.effects(), a.leftOut()} {
		lines = append(lines, few(part)...)
	}
	return lines
}

// steps lists the differences in a metric between neighbouring values of the knob.
func (a *answering) steps(c *decision, by *contest) (lines []string) {
	under := ""
	if len(c.choice) > 0 {
		under = invariants.List(c.choice) + ": "
	}
	for i := 1; i < len(c.values) && by.seeds() > 1; i++ {
		lines = append(lines, fmt.Sprintf("%s%s, %s from %s to %s: %s.", under, naming(by.metric), a.knob.Setting, a.knob.Values[c.values[i-1]], a.knob.Values[c.values[i]], by.gapText(i, i-1)))
	}
	return lines
}

// between lists the differences between the chosen choice and the others.
func (a *answering) between() (lines []string) {
	best := a.best()
	list, by, _ := a.rivalry()
	if best == nil || by.seeds() < 2 {
		return nil
	}
	w := slices.IndexFunc(list, func(c *decision) bool { return slices.Equal(c.choice, best.choice) })
	for i, c := range list {
		if i != w {
			lines = append(lines, fmt.Sprintf("%s, %s with %s against %s with %s: %s.", naming(a.metric), invariants.List(best.choice), a.set(best), invariants.List(c.choice), a.set(c), by.gapText(w, i)))
		}
	}
	return lines
}

// effects lists the effects of the conditions, whatever the knob.
func (a *answering) effects() (lines []string) {
	for j, axis := range a.d.Axes {
		if j == 0 || !axis.Condition || len(axis.Values) < 2 {
			continue
		}
		if e := a.effect(j); e != nil {
			lines = append(lines, fmt.Sprintf("%s, %s from %s to %s, whatever else is chosen: %s.", naming(a.metric), axis.Setting, e.at, e.than, gap(e.gap, a.metric)))
		} else if a.t.grid.Seeds >= SeedsLeast(a.d.ofCondition(axis)) {
			lines = append(lines, fmt.Sprintf("%s makes no difference beyond noise, whatever else is chosen.", axis.Setting))
		}
	}
	return lines
}

// leftOut lists the points at which promises were broken.
func (a *answering) leftOut() (lines []string) {
	for _, p := range a.points {
		if !p.Sound() {
			lines = append(lines, fmt.Sprintf("Left out: %s (%s).", strings.Join(a.d.sets(p.Values), ", "), brokenOf(p.Broken)))
		}
	}
	return lines
}

// few shortens a long list, and says so.
func few(lines []string) []string {
	if len(lines) <= evidenceTold {
		return lines
	}
	return append(lines[:evidenceTold:evidenceTold], fmt.Sprintf("And %d more of this sort.", len(lines)-evidenceTold))
}
