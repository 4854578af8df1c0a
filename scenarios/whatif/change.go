package whatif

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// change is one change to a plan.
type change struct {
	what    why.What
	strike  int    // index of the fault
	name    string // of a setting
	says    string // the fault in words, or key=value as in the plan
	means   string // what such a fault does, or what holds without a part of the engine
	aside   string // what holds without a part of the engine that serves another invariant
	instead string // key=value as it is tried
	preset  bool   // it has the value of the preset hardened
}

// changes returns the changes to try on a plan that breaks an invariant. list has its strikes and its
// settings, and without has the parts of the engine that it has switched off. The number of nodes and jobs, and
// the order of steps, are not changed: they are the world in which all of this happens. broken are all
// invariants that the plan breaks.
func changes(plan *plans.Plan, invariant string, broken []string) (list, without []change) {
	for i, f := range plan.Faults {
		list = append(list, change{what: why.Strike, strike: i, says: f.String(), means: f.Means()})
	}
	parts := map[string]plans.Toggle{}
	for _, t := range plans.Toggles() {
		parts[t.Setting] = t
	}
	means := func(what why.What, setting, now string) (means, aside string) {
		switch t := parts[setting]; {
		case t.Off != now:
			return "", ""
		case t.Invariant == invariant:
			return t.Without(), ""
		case what == why.Setting || slices.Contains(broken, t.Invariant):
			return "", t.Without()
		}
		return "", ""
	}
	given := map[string]bool{}
	for _, says := range plan.Resettable() {
		name := plans.NameOf(says)
		given[name] = true
		without := plan.Clone()
		without.Reset([]string{name})
		if slices.Equal(without.Changes(), plan.Changes()) {
			continue
		}
		instead := ""
		if s, ok := without.Setting(name); ok {
			instead = name + "=" + s.Text()
		}
		means, aside := means(why.Setting, name, strings.TrimPrefix(says, name+"="))
		list = append(list, change{what: why.Setting, name: name, says: says, means: means, aside: aside, instead: instead})
	}
	for _, s := range plans.Settings() {
		on := cmp.Or(s.Hardened, parts[s.Name].On, s.On)
		now, ok := plan.Setting(s.Name)
		if !ok || on == "" || given[s.Name] || now.Text() == on {
			continue
		}
		means, aside := means(why.Remedy, s.Name, now.Text())
		without = append(without, change{what: why.Remedy, name: s.Name, says: s.Name + "=" + now.Text(), means: means, aside: aside, instead: s.Name + "=" + on, preset: on == s.Hardened})
	}
	slices.SortStableFunc(without, func(a, b change) int { // the steps may not suffice for all
		return cmp.Or(strings.Compare(b.means, a.means), strings.Compare(b.aside, a.aside))
	})
	return list, without
}

// changeOf returns the change behind a tried change.
func changeOf(list []change, t *why.Tried) change {
	i := slices.IndexFunc(list, func(one change) bool {
		return one.what == t.What && one.says == t.Says && one.instead == t.Instead
	})
	return list[i]
}

// apply makes changes in a copy of the plan; it returns false if the copy is not valid.
func apply(plan *plans.Plan, made ...change) (*plans.Plan, bool) {
	p := plan.Clone()
	p.Faults = nil
	for i, f := range plan.Faults {
		if !slices.ContainsFunc(made, func(c change) bool { return c.what == why.Strike && c.strike == i }) {
			p.Faults = append(p.Faults, f)
		}
	}
	for _, c := range made {
		switch c.what {
		case why.Setting:
			p.Reset([]string{c.name})
		case why.Remedy:
			if p.Set(c.instead) != nil {
				return nil, false
			}
		}
	}
	return p, p.Validate() == nil
}
