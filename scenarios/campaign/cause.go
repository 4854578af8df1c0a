package campaign

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-sim/faultline/faults"
	"github.com/faultline-sim/faultline/scenarios"
)

// cause is what a plan has that a calm one has not, in words without numbers: its kinds of fault, and
// the settings of engine and world. Plans of one cause are taken to show one defect.
func cause(p *scenarios.Plan) string {
	struck := strings.Join(planned(0, p).Drawn, " and ")
	if struck == "" {
		struck = "no fault"
	}
	var turned []string
	for _, change := range changes(p) {
		turned = append(turned, inWords(p, change))
	}
	if len(turned) == 0 {
		return struck
	}
	return struck + ", with " + strings.Join(turned, ", ")
}

// causes names those settings.
func causes(p *scenarios.Plan) (names []string) {
	for _, change := range changes(p) {
		name, _, _ := strings.Cut(change, "=")
		names = append(names, name)
	}
	return names
}

func changes(p *scenarios.Plan) []string {
	return slices.DeleteFunc(p.Changes(), func(change string) bool {
		return !strings.HasPrefix(change, "engine.") && !strings.HasPrefix(change, "world.")
	})
}

// inWords says how a setting differs from the preset's: which choice, or whether it is less or more.
func inWords(p *scenarios.Plan, change string) string {
	name, value, _ := strings.Cut(change, "=")
	for _, s := range scenarios.Settings() {
		if s.Name != name {
			continue
		}
		base := s.Default
		if s.Hardened != "" && p.Preset == scenarios.PresetHardened {
			base = s.Hardened
		}
		switch was, is := quantity(base), quantity(value); {
		case s.Type == "choice" || s.Type == "boolean":
		case is < was:
			return "a lower " + name
		case is > was:
			return "a higher " + name
		}
	}
	return change
}

// quantity is a duration in nanoseconds, or a number.
func quantity(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// explains says whether the finding accounts for the promise that a run broke: all that the finding
// needs took effect there, too.
func (f *Finding) explains(invariant string, r *Record) bool {
	struck := r.Fired
	if r.Contained != nil {
		struck = r.Drawn // nobody was left to say which of them took effect
	}
	return f.Invariant == invariant && !f.Flaky && within(plainer(f.Kinds), plainer(struck)) && within(f.Settings, r.Settings)
}

// plainer makes kinds of fault equal that do the same to the world: what hangs is not applied, as if
// it had failed, and of a read nothing is applied at all.
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

// within says whether all of some are among all.
func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(all, name) })
}
