package plans

import (
	"cmp"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Sections lists the parts of a plan that have keys, the plan itself first.
func Sections() []strictyaml.Section {
	return strictyaml.Sections(reflect.TypeFor[Plan](), strictyaml.Section{Name: SectionPlan, Doc: "everything that a run depends on, except the build"})
}

// SectionPlan is the name of the section that is the whole plan.
const SectionPlan = "plan"

// Setting describes one key of a plan that --set can change.
type Setting struct {
	Name     string `json:"name"` // as in YAML, such as engine.max_dispatch_retries
	Type     string `json:"type"` // duration, integer, number, boolean, choice or text
	Default  string `json:"default"`
	Hardened string `json:"hardened,omitempty"` // the hardened preset's value, if it differs from the documented one
	Doc      string `json:"doc"`
	Allowed  string `json:"allowed"`           // "1 to 1000", or the choices
	Example  string `json:"example,omitempty"` // an example value, if the default is empty
	Scenario string `json:"scenario"`          // the scenario in which it matters
	On       string `json:"-"`                 // the value that switches on a part that no preset has; "" for other settings
}

// Settings lists every setting, in the order of the plan's keys. The seed is not among them, since it has a
// flag of its own.
func Settings() []Setting { return slices.Clone(allSettings()) }

// SettingOf describes a setting. For a setting of a single job, such as workload.slow.3, it describes the
// whole key.
func SettingOf(name string) (Setting, bool) {
	if k, _, ok := PerJobOf(name); ok {
		name = k.setting().Name
	}
	list := allSettings()
	i := slices.IndexFunc(list, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return list[i], true
}

// SettingNames lists the names of [Settings].
func SettingNames() []string {
	var names []string
	for _, s := range allSettings() {
		names = append(names, s.Name)
	}
	return names
}

// Amount is the numeric value of a setting's text, in seconds for a duration; 0 if the text is not numeric.
func Amount(value string) float64 {
	if d, err := time.ParseDuration(value); err == nil {
		return d.Seconds()
	}
	if r, ok := new(big.Rat).SetString(strings.ReplaceAll(value, "_", "")); ok {
		x, _ := r.Float64()
		return x
	}
	return 0
}

var allSettings = sync.OnceValue(func() []Setting {
	documented, hardened := Defaults(), Defaults()
	documented.TakePreset(PresetDocumented)
	documented.Preset = hardened.Preset
	other := hardened.Settings()
	var list []Setting
	for i, s := range documented.Settings() {
		if s.Name == "seed" {
			continue
		}
		out := Setting{Name: s.Name, Type: s.Type(), Default: s.Text(), Doc: s.Doc(), Allowed: s.Allowed(), Scenario: scenarioUsual}
		if k, ok := knobOf(s.Name); ok {
			out.Scenario, out.On = cmp.Or(k.scenario, scenarioUsual), k.on
		}
		if h := other[i].Text(); h != out.Default {
			out.Hardened = h
		}
		list = append(list, out)
	}
	i := slices.IndexFunc(list, func(s Setting) bool { return s.Name == "workload.work" }) + 1
	for _, k := range perJobs {
		list = slices.Insert(list, i, k.setting())
		i++
	}
	return list
})

// Settings lists p's settings in the order of its keys: the preset, the seed, and the scalars of the
// sections.
func (p *Plan) Settings() []strictyaml.Scalar {
	return slices.DeleteFunc(strictyaml.Scalars(p), func(s strictyaml.Scalar) bool { return !isSetting(s.Name) })
}

// Setting returns p's setting of that name; false if there is none.
func (p *Plan) Setting(name string) (strictyaml.Scalar, bool) {
	s, ok := strictyaml.ScalarOf(p, name)
	return s, ok && isSetting(name)
}

func isSetting(scalar string) bool {
	return scalar == "preset" || scalar == "seed" || strings.Contains(scalar, ".")
}

// base is the plan that p's settings are a variation of.
func (p *Plan) base() *Plan {
	b := Defaults()
	b.TakePreset(p.Preset)
	b.Schedule.StepsMax = StepsMaxDefault(p.Workload.Jobs)
	return b
}

// pin remembers that s was given explicitly. A value that differs from its base needs no pin.
func (p *Plan) pin(s strictyaml.Scalar) {
	if !strings.HasPrefix(s.Name, "engine.") && !slices.Contains(OfServers, s.Name) && s.Name != "schedule.steps_max" { // those change with the preset, or with the jobs
		return
	}
	if base, _ := p.base().Setting(s.Name); base.Value.Equal(s.Value) && !slices.Contains(p.pinned, s.Name) {
		p.pinned = append(slices.Clone(p.pinned), s.Name)
		slices.Sort(p.pinned)
	}
}

// Unpin forgets which settings were given explicitly.
func (p *Plan) Unpin() { p.pinned = nil }

// rebase calls change, and then lets every setting that was not given explicitly follow its base.
func (p *Plan) rebase(change func()) {
	before := p.base().Settings()
	follows := map[string]bool{}
	for i, s := range p.Settings() {
		follows[s.Name] = s.Value.Equal(before[i].Value) && !slices.Contains(p.pinned, s.Name)
	}
	change()
	p.pinned = nil
	after := p.base().Settings()
	for i, s := range p.Settings() {
		moves := !before[i].Value.Equal(after[i].Value) && s.Name != "preset"
		if moves && follows[s.Name] {
			s.Value.Set(after[i].Value)
		} else if !follows[s.Name] {
			p.pin(s)
		}
	}
}

// Set changes one setting, as in "engine.max_dispatch_retries=5" or "preset=documented". A new preset changes
// the engine settings that the plan does not set itself. The error is a [*strictyaml.Error]. [Plan.Validate]
// says whether the plan is still consistent.
func (p *Plan) Set(assignment string) error {
	name, text, ok := strings.Cut(assignment, "=")
	name, text = strings.TrimSpace(name), strings.TrimSpace(text)
	if !ok {
		return &strictyaml.Error{Path: name, Message: fmt.Sprintf("%q sets nothing", assignment), Remedy: "write key=value" + p.example(name)}
	}
	if k, job, ok := PerJobOf(name); ok {
		return p.setPerJob(k, name, job, text)
	}
	s, known := p.Setting(name)
	if !known {
		return &strictyaml.Error{Path: name, Message: fmt.Sprintf("unknown setting %q", name), Remedy: "`wavetank list settings` names them" + suggest.Hint(name, SettingNames())}
	}
	value, err := s.Parse(text)
	if err != nil {
		return err
	}
	change := func() { s.Value.Set(value) }
	switch name {
	case "preset", "workload.jobs": // a base depends on these alone
		before := p.Preset
		p.rebase(change)
		p.Expect.own(p.Preset, before)
	default:
		change()
		p.pinned = slices.DeleteFunc(slices.Clone(p.pinned), func(pinned string) bool { return pinned == name })
	}
	if name != "preset" && name != "seed" {
		p.pin(s)
	}
	return nil
}

// Vary changes a setting for a run that deviates from the written plan. It notes the change in
// Expect.Changed. It does not note a preset for which the plan has expectations, nor the Redis, which changes
// nothing in a run.
func (p *Plan) Vary(assignment string) error {
	name, preset, _ := strings.Cut(assignment, "=")
	before, known := p.Setting(name)
	was, same := "", name == "world.redis" || name == "preset" && p.Expects(preset)
	if known {
		was = before.Text()
	}
	if err := p.Set(assignment); err != nil {
		return err
	}
	if after, _ := p.Setting(name); !same && (!known || after.Text() != was) {
		p.Expect.Changed = append(slices.Clone(p.Expect.Changed), assignment)
	}
	return nil
}

// example shows how to write a setting with a value, or lists the names that it may have.
func (p *Plan) example(name string) string {
	s, known := p.base().Setting(name)
	switch {
	case !known || s.Text() == "":
		return suggest.Hint(name, SettingNames())
	case s.Value.Kind() == reflect.Bool:
		return ", as in " + name + "=true"
	}
	return ", as in " + name + "=" + s.Text()
}

// Changes lists the settings in which p differs from the defaults and its preset, as Set takes them.
func (p *Plan) Changes() []string {
	var changes []string
	base := p.base().Settings()
	for i, s := range p.Settings() {
		if s.Text() != base[i].Text() && s.Name != "seed" {
			changes = append(changes, s.Name+"="+s.Text())
		}
		if s.Name == "workload.work" {
			for _, k := range perJobs {
				changes = append(changes, k.assignments(&p.Workload)...)
			}
		}
	}
	return changes
}

// Relays says whether dispatches go through an outbox, not directly to a worker.
func (p *Plan) Relays() bool { return p.Engine.DispatchOrder == settings.Outbox }

// HoldsTicks says whether the lock of a tick is held until it expires. Its holder then does not tick at every
// poll.
func (p *Plan) HoldsTicks() bool { return p.Engine.TickLock == settings.UntilExpiry }
