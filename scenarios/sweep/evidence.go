package sweep

import (
	"fmt"
	"slices"
	"strings"
)

// evidence lists the paired differences behind the sentence, and the points that were left out.
func (a *answering) evidence() []string {
	lines := []string{fmt.Sprintf("Differences are in %s unless another is named, paired by seed, with 95 %% intervals; below zero is better. One below 1 %% of the mean counts as none.", naming(a.metric))}
	if text := a.d.correction(); text != "" {
		lines[0] += " " + text
	}
	var steps, costs, apart []string
	for _, c := range a.decisions {
		if c.kind != unsound && c.kind != unseen && c.by.seeds() > 1 {
			steps = append(steps, a.steps(c)...)
			costs = append(costs, a.costs(c)...)
			apart = append(apart, a.apart(c)...)
		}
	}
	for _, part := range [][]string{steps, costs, a.between(), apart, a.effects(), a.leftOut()} {
		lines = append(lines, few(part)...)
	}
	return lines
}

func (a *answering) under(c *decision) string {
	if len(c.choice) == 0 {
		return ""
	}
	return strings.Join(c.choice, ", ") + ": "
}

// steps are the differences between neighbouring values of the knob.
func (a *answering) steps(c *decision) (lines []string) {
	for i := 1; i < len(c.values); i++ {
		lines = append(lines, fmt.Sprintf("%s%s from %s to %s: %s.", a.under(c), a.knob.Setting, a.knob.Values[c.values[i-1]], a.knob.Values[c.values[i]], gap(c.by.gap(i, i-1), a.metric)))
	}
	return lines
}

// costs are the differences in the metric that the deciding one is weighed against.
func (a *answering) costs(c *decision) []string {
	i, j := min(c.take, c.other()), max(c.take, c.other())
	if i == j || c.cost.seeds() < 2 {
		return nil
	}
	return []string{fmt.Sprintf("%sin %s, %s from %s to %s: %s.", a.under(c), naming(c.cost.metric), a.knob.Setting, a.knob.Values[c.values[i]], a.knob.Values[c.values[j]], gap(c.cost.gap(j, i), c.cost.metric))}
}

// between are the differences between the choice to take and the rest.
func (a *answering) between() (lines []string) {
	list, c, cost := a.final()
	if len(list) < 2 || c.seeds() < 2 {
		return nil
	}
	best, _ := pick(c, cost)
	for i := range list {
		if i != best {
			lines = append(lines, fmt.Sprintf("%s with %s against %s with %s: %s.", and(list[best].choice), a.set(list[best].value()), and(list[i].choice), a.set(list[i].value()), gap(c.gap(best, i), a.metric)))
		}
	}
	return lines
}

// apart are the differences that the knob makes under each value of the condition that it is tuned
// against, the first.
func (a *answering) apart(c *decision) (lines []string) {
	k := slices.IndexFunc(a.d.Axes[1:], func(x Axis) bool { return x.Condition }) + 1
	i, j := min(c.take, c.other()), max(c.take, c.other())
	if k == 0 || i == j {
		return nil
	}
	from, to := c.values[i], c.values[j]
	for _, value := range a.d.Axes[k].Values {
		pool := func(v int) []float64 {
			var series [][]float64
			for _, i := range c.points[v] {
				if a.points[i].Values[k] == value {
					series = append(series, a.t.series(0, i, a.metric))
				}
			}
			return meanOf(series)
		}
		e := newContest(a.metric, [][]float64{pool(to), pool(from)}, 1)
		if e.seeds() > 1 {
			lines = append(lines, fmt.Sprintf("%sat %s=%s, %s from %s to %s: %s.", a.under(c), a.d.Axes[k].Setting, value, a.knob.Setting, a.knob.Values[from], a.knob.Values[to], gap(e.gap(0, 1), a.metric)))
		}
	}
	return lines
}

// effects are what the conditions do, whatever the knob.
func (a *answering) effects() (lines []string) {
	for j, axis := range a.d.Axes {
		if j == 0 || !axis.Condition || len(axis.Values) < 2 {
			continue
		}
		if e := a.effect(j); e != nil {
			lines = append(lines, fmt.Sprintf("%s from %s to %s, whatever else is chosen: %s.", e.setting, e.at, e.than, gap(e.gap, a.metric)))
		} else if a.t.grid.Seeds >= SeedsLeast(a.d.ofCondition(axis)) {
			lines = append(lines, fmt.Sprintf("%s makes no difference beyond noise, whatever else is chosen.", axis.Setting))
		}
	}
	return lines
}

// leftOut are the points at which promises were broken.
func (a *answering) leftOut() (lines []string) {
	for _, p := range a.points {
		if !p.Sound() {
			lines = append(lines, fmt.Sprintf("Left out: %s (%s).", strings.Join(a.d.sets(p.Values), ", "), brokenOf(p.Broken)))
		}
	}
	return lines
}

// few cuts a long list short, and says so.
func few(lines []string) []string {
	if len(lines) <= evidenceTold {
		return lines
	}
	return append(lines[:evidenceTold:evidenceTold], fmt.Sprintf("And %d more of this sort.", len(lines)-evidenceTold))
}
