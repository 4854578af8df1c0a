package campaign

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// cause describes what a plan has beyond a calm one, in words without numbers: its kinds of fault, and the
// settings of engine and world. Plans with the same cause are taken to show the same defect.
func cause(p *plans.Plan) string {
	struck := strings.Join(kindsOf(p.Faults), " and ")
	if struck == "" {
		struck = "no fault"
	}
	if turned := causes(p); len(turned) > 0 {
		return struck + ", with " + strings.Join(turned, ", ")
	}
	return struck
}

// causes lists those settings.
func causes(p *plans.Plan) (words []string) {
	for _, change := range p.Changes() {
		if isCause(change) {
			words = append(words, inWords(p, change))
		}
	}
	return words
}

// isCause says whether a change is to a setting of the code under test or of the world.
func isCause(change string) bool {
	return strings.HasPrefix(change, "engine.") || strings.HasPrefix(change, "world.")
}

// settingOf is the setting that words of inWords are about.
func settingOf(words string) string {
	name, _, _ := strings.Cut(words[strings.LastIndexByte(words, ' ')+1:], "=")
	return name
}

// inWords says how a setting differs from the preset's: which choice it is, or whether it is less or more.
func inWords(p *plans.Plan, change string) string {
	name, value, _ := strings.Cut(change, "=")
	s, _ := plans.SettingOf(name)
	base := s.Default
	if s.Hardened != "" && p.Preset == plans.PresetHardened {
		base = s.Hardened
	}
	switch was, is := plans.Amount(base), plans.Amount(value); {
	case s.Type == "choice" || s.Type == "boolean":
	case is < was:
		return "a lower " + name
	case is > was:
		return "a higher " + name
	}
	return change
}

// explains says whether the finding accounts for a broken promise of a run: everything that the finding needs
// took effect there, too.
func (f *Finding) explains(invariant string, r *Record) bool {
	struck := r.Fired
	if r.Contained != nil {
		struck = r.Drawn // which of them took effect is unknown
	}
	return f.Invariant == invariant && !f.Flaky && within(plainer(f.Kinds), plainer(struck)) && within(f.Settings, r.Settings)
}

// Strikes lists the kinds of fault; kinds with the same effect on the world count as one.
func (f *Finding) Strikes() []string {
	list := plainer(f.Kinds)
	slices.Sort(list)
	return slices.Compact(list)
}

// plainer makes kinds of fault equal that have the same effect on the world. An operation that hangs is not
// applied, as if it had failed, and a read applies nothing at all.
func plainer(kinds []string) []string {
	list := slices.Clone(kinds)
	for i, kind := range list {
		effect, phase, _ := strings.Cut(kind, " ")
		if e := faults.Effect(effect); e == faults.Hang || e == faults.FailAfter && faults.Reads(phase) {
			list[i] = string(faults.FailBefore) + " " + phase
		}
	}
	return list
}

// within says whether all contains all of some.
func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(all, name) })
}
