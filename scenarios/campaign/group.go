package campaign

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// Group is findings of one invariant with the same causes. Their smallest plans differ.
type Group []*Finding // the one with the smallest plan first

// Groups returns the findings by what is to blame, in the order of the first run of each group.
func (res *Result) Groups() (groups []Group) {
	at := map[string]int{}
	for i := range res.Findings {
		f := &res.Findings[i]
		key := f.Invariant + ": " + strings.Join(f.Blamed, ", ")
		if len(f.Blamed) == 0 || f.Flaky {
			key = strconv.Itoa(i) // a group of its own
		}
		n, there := at[key]
		if !there {
			n = len(groups)
			at[key] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], f)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, BySize)
	}
	return groups
}

// BySize compares two findings by the sizes of their plans.
func BySize(a, b *Finding) int {
	return cmp.Or(cmp.Compare(a.Faults, b.Faults), cmp.Compare(a.Jobs, b.Jobs), cmp.Compare(a.Schedulers+a.Workers, b.Schedulers+b.Workers), cmp.Compare(len(a.Plan), len(b.Plan)))
}

// Runs is how many runs show a finding of the group.
func (g Group) Runs() (n int) {
	for _, f := range g {
		n += f.Runs
	}
	return n
}

// blamed lists what a violation depends on, without numbers. If the violation does not come without some
// choice of the engine, that choice is to blame, whatever strikes. The same holds for a part of the engine
// that is off and serves this invariant. Otherwise the kinds of strike and the numeric settings are to blame.
func blamed(p *plans.Plan, c *why.Cause) []string {
	var choices, rest []string
	for _, t := range c.Blamed() {
		if words := inWords(p, t.Says); t.What == why.Setting && words == t.Says {
			choices = append(choices, words)
		} else if t.What == why.Setting {
			rest = append(rest, words)
		}
		for _, f := range p.Faults {
			if t.What == why.Strike && f.String() == t.Says {
				rest = append(rest, FaultKind(f))
			}
		}
	}
	for _, t := range c.Needed(why.Remedy) {
		if t.Means != "" && len(choices) == 0 {
			choices = []string{t.Says}
		}
	}
	if len(choices) == 0 {
		choices = rest
	}
	slices.Sort(choices)
	return slices.Compact(choices)
}
