package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults/suggest"
)

// Setting describes one key of a plan that --set can change.
type Setting struct {
	Name     string `json:"name"` // as in YAML, such as engine.max_dispatch_retries
	Type     string `json:"type"` // duration, integer, boolean, choice
	Default  string `json:"default"`
	Hardened string `json:"hardened,omitempty"` // the preset's value, where it is not the documented one
	Doc      string `json:"doc"`
	Allowed  string `json:"allowed"`           // "1 to 1000", or the choices
	Example  string `json:"example,omitempty"` // of a value, where the default is none
}

// Settings lists every setting, in the order of the plan's keys; the seed is not among them, since
// it has a flag of its own.
func Settings() []Setting {
	documented, hardened := Defaults(), Defaults()
	documented.Engine = presetSettings(PresetDocumented)
	other := hardened.settings()
	var list []Setting
	for i, s := range documented.settings() {
		if s.name == "seed" {
			continue
		}
		out := Setting{Name: s.name, Type: typeName(s.value.Type(), s.tag), Default: textOf(s.value), Doc: s.tag.Get("doc"), Allowed: allowed(s.value.Type(), s.tag)}
		if h := textOf(other[i].value); h != out.Default {
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
}

// setting is one settable key of a plan at hand.
type setting struct {
	name  string
	value reflect.Value
	tag   reflect.StructTag
}

// settings lists p's, in the order of its keys: the preset, the seed, and the scalars of the
// sections.
func (p *Plan) settings() []setting {
	list := make([]setting, len(settingsKnown))
	for i, k := range settingsKnown {
		list[i] = k.of(p)
	}
	return list
}

// setting is p's of that name; false if there is none.
func (p *Plan) setting(name string) (setting, bool) {
	i := slices.IndexFunc(settingsKnown, func(k settingKnown) bool { return k.name == name })
	if i < 0 {
		return setting{}, false
	}
	return settingsKnown[i].of(p), true
}

// settingsKnown is where they stand in any plan.
var settingsKnown = func() (list []settingKnown) {
	var walk func(path string, index []int, t reflect.Type)
	walk = func(path string, index []int, t reflect.Type) {
		for _, f := range fieldsOf(t) {
			name, at, ft := join(path, f.name), append(slices.Clone(index), f.index), t.Field(f.index).Type
			switch ft.Kind() {
			case reflect.Struct:
				walk(name, at, ft)
			case reflect.Slice, reflect.Map:
			default:
				if path != "" || name == "preset" || name == "seed" {
					list = append(list, settingKnown{name, at, f.tag})
				}
			}
		}
	}
	walk("", nil, reflect.TypeFor[Plan]())
	return list
}()

type settingKnown struct {
	name  string
	index []int
	tag   reflect.StructTag
}

func (k settingKnown) of(p *Plan) setting {
	return setting{k.name, reflect.ValueOf(p).Elem().FieldByIndex(k.index), k.tag}
}

// base is the plan of which p's settings are a variation.
func (p *Plan) base() *Plan {
	b := Defaults()
	b.Preset = p.Preset
	b.Engine = presetSettings(p.Preset)
	b.Schedule.StepsMax = stepsMaxDefault(p.Workload.Jobs)
	return b
}

// pin remembers that s was given explicitly. A value that differs from its base shows that by itself.
func (p *Plan) pin(s setting) {
	if !strings.HasPrefix(s.name, "engine.") && s.name != "schedule.steps_max" { // those move with the preset, or with the jobs
		return
	}
	if base, _ := p.base().setting(s.name); base.value.Equal(s.value) && !slices.Contains(p.pinned, s.name) {
		p.pinned = append(slices.Clone(p.pinned), s.name)
		slices.Sort(p.pinned)
	}
}

// rebase calls change, then lets every setting follow its base that was not given explicitly.
func (p *Plan) rebase(change func()) {
	before := p.base().settings()
	follows := map[string]bool{}
	for i, s := range p.settings() {
		follows[s.name] = s.value.Equal(before[i].value) && !slices.Contains(p.pinned, s.name)
	}
	change()
	p.pinned = nil
	after := p.base().settings()
	for i, s := range p.settings() {
		moves := !before[i].value.Equal(after[i].value) && s.name != "preset"
		if moves && follows[s.name] {
			s.value.Set(after[i].value)
		} else if !follows[s.name] {
			p.pin(s)
		}
	}
}

// Set changes one setting: "engine.max_dispatch_retries=5", "preset=documented". A new preset
// changes the engine settings that the plan does not give itself. The error is a [*PlanError].
// [Plan.Validate] says whether the plan still fits together.
func (p *Plan) Set(assignment string) error {
	name, text, ok := strings.Cut(assignment, "=")
	name, text = strings.TrimSpace(name), strings.TrimSpace(text)
	if !ok {
		return &PlanError{Path: name, Message: fmt.Sprintf("%q sets nothing", assignment), Remedy: "write key=value" + p.example(name)}
	}
	if k, job, ok := perJobOf(name); ok {
		return p.setPerJob(k, name, job, text)
	}
	s, known := p.setting(name)
	if !known {
		return &PlanError{Path: name, Message: fmt.Sprintf("unknown setting %q", name), Remedy: "`wavetank list settings` names them" + suggest.Hint(name, settingNames())}
	}
	value := reflect.New(s.value.Type()).Elem()
	if e := setScalar(name, value, text, s.tag); e != nil {
		return e
	}
	change := func() { s.value.Set(value) }
	switch name {
	case "preset", "workload.jobs": // all that a base depends on
		p.rebase(change)
	default:
		change()
		p.pinned = slices.DeleteFunc(slices.Clone(p.pinned), func(pinned string) bool { return pinned == name })
	}
	if name != "preset" && name != "seed" {
		p.pin(s)
	}
	return nil
}

// example is how the setting of that name is written with a value, or what its name may be.
func (p *Plan) example(name string) string {
	s, known := p.base().setting(name)
	switch {
	case !known || textOf(s.value) == "":
		return suggest.Hint(name, settingNames())
	case s.value.Kind() == reflect.Bool:
		return ", as in " + name + "=true"
	}
	return ", as in " + name + "=" + textOf(s.value)
}

// durationShape is what a duration looks like, however long: [time.ParseDuration] does not tell one
// that is too long from one that is none.
var durationShape = regexp.MustCompile(`^[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)

// setScalar gives value, which is called name, what text says, if that is in range.
func setScalar(name string, value reflect.Value, text string, tag reflect.StructTag) *PlanError {
	if err := setText(value, text); err != nil {
		if value.Type() == durationType && durationShape.MatchString(text) {
			err = errors.New("out of range")
		}
		return &PlanError{Path: name, Message: fmt.Sprintf("%s is %.40q, %v", name, text, err), Remedy: remedyFor(value.Type(), tag)}
	}
	return checkRange(name, value, tag)
}

// Changes lists, as Set takes them, the settings in which p differs from the defaults and its
// preset.
func (p *Plan) Changes() []string {
	var changes []string
	base := p.base().settings()
	for i, s := range p.settings() {
		if textOf(s.value) != textOf(base[i].value) && s.name != "seed" {
			changes = append(changes, s.name+"="+textOf(s.value))
		}
		if s.name == "workload.work" {
			for _, k := range perJobs {
				changes = append(changes, k.assignments(&p.Workload)...)
			}
		}
	}
	return changes
}

func settingNames() []string {
	var names []string
	for _, s := range Settings() {
		names = append(names, s.Name)
	}
	return names
}
