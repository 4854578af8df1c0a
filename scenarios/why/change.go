package why

import (
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// What says what a change is made to.
type What string

// What can be changed.
const (
	Strike  What = "strike"  // a fault of the plan, left out
	Setting What = "setting" // a setting that the plan gives, left at its default
	Remedy  What = "remedy"  // a part of the engine that the plan does without, as the preset hardened has it
)

// change is one change to a plan.
type change struct {
	what    What
	strike  int    // which fault of the plan's
	name    string // of the setting
	says    string // the fault in words, or key=value as the plan has it
	instead string // key=value as it is tried
}

// changes lists what can be changed of a plan: its strikes, its settings, and the parts of the engine. How many nodes and
// jobs it has, and in which order they go, is the world in which all of this happens.
func changes(plan *plans.Plan) (list []change) {
	for i, f := range plan.Faults {
		list = append(list, change{what: Strike, strike: i, says: f.String()})
	}
	given := map[string]bool{}
	for _, says := range plan.Resettable() {
		name := plans.NameOf(says)
		given[name] = true
		instead := ""
		if without, ok := plan.Without(name); ok {
			if s, ok := without.Setting(name); ok {
				instead = name + "=" + s.Text()
			}
			list = append(list, change{what: Setting, name: name, says: says, instead: instead})
		}
	}
	parts := map[string]string{} // of the engine: what turns each on
	for _, t := range plans.Toggles() {
		parts[t.Setting] = t.On
	}
	for _, s := range plans.Settings() {
		on := s.Hardened
		if on == "" {
			on = parts[s.Name]
		}
		now, ok := plan.Setting(s.Name)
		if !ok || on == "" || given[s.Name] || now.Text() == on {
			continue
		}
		list = append(list, change{what: Remedy, name: s.Name, says: s.Name + "=" + now.Text(), instead: s.Name + "=" + on})
	}
	return list
}

// apply makes changes to a copy of the plan; false if that is no valid plan.
func apply(plan *plans.Plan, made ...change) (*plans.Plan, bool) {
	p := plan.Clone()
	p.Faults = nil
	for i, f := range plan.Faults {
		if !slices.ContainsFunc(made, func(c change) bool { return c.what == Strike && c.strike == i }) {
			p.Faults = append(p.Faults, f)
		}
	}
	for _, c := range made {
		switch c.what {
		case Setting:
			p.Reset([]string{c.name})
		case Remedy:
			if p.Set(c.instead) != nil {
				return nil, false
			}
		}
	}
	return p, p.Validate() == nil
}
