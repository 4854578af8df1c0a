package sweep

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// sweepFile describes the file format to package strictyaml.
var sweepFile = strictyaml.Kind{What: "a sweep", Has: "a name", Version: DefinitionVersion}

// file is the content of a sweep file.
type file struct {
	Version   int             `yaml:"version"`
	Name      string          `yaml:"name"`
	Question  string          `yaml:"question"`
	Plan      strictyaml.Node `yaml:"plan"`     // a scenario's name, a file, or the plan itself
	Settings  strictyaml.Node `yaml:"settings"` // applied to the plan
	Axes      []axisFile      `yaml:"axes"`
	Seeds     int             `yaml:"seeds"`
	FirstSeed uint64          `yaml:"first_seed"`
	Metrics   []string        `yaml:"metrics"`
	Pareto    Pareto          `yaml:"pareto"`
	Precision float64         `yaml:"precision"` // see Definition
	Budget    int             `yaml:"budget"`
	Notes     []string        `yaml:"notes"`
}

type axisFile struct {
	Setting strictyaml.Node `yaml:"setting"`
	Values  strictyaml.Node `yaml:"values"` // a text as --grid takes it, or a list
	Title   string          `yaml:"title"`
}

// Parse parses a sweep's text strictly and validates it. name is the file's name in errors, each of which is
// a [*strictyaml.Error].
func Parse(name string, data []byte) (*Definition, error) {
	doc, err := sweepFile.Parse(name, data)
	if err != nil {
		return nil, err
	}
	f := &file{Seeds: seedsDefault, Metrics: slices.Clone(metricsDefault), Pareto: paretoDefault}
	if err := doc.Decode(f); err != nil {
		return nil, err
	}
	d, err := f.definition(filepath.Dir(name), doc.Given("first_seed"))
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		return nil, doc.Locate(err)
	}
	return d, nil
}

// definition makes the sweep of a file in the folder dir.
func (f *file) definition(dir string, firstSeed bool) (*Definition, error) {
	plan, err := f.plan(dir)
	if err != nil {
		return nil, err
	}
	if err := f.lay(plan); err != nil {
		return nil, err
	}
	d, err := Over(plan)
	if err != nil {
		return nil, err
	}
	d.Name, d.Question, d.Seeds, d.Metrics, d.Pareto, d.Notes = f.Name, f.Question, f.Seeds, f.Metrics, f.Pareto, f.Notes
	d.Precision, d.Budget = f.Precision, f.Budget
	if firstSeed {
		d.FirstSeed = f.FirstSeed
	}
	for i, a := range f.Axes {
		axis, err := a.axis(fmt.Sprintf("axes[%d]", i), plan, d)
		if err != nil {
			return nil, err
		}
		d.Axes = append(d.Axes, axis)
	}
	return d, nil
}

// plan reads the plan to sweep.
func (f *file) plan(dir string) (*plans.Plan, error) {
	switch {
	case !f.Plan.Given():
		return nil, refuse("plan", "the sweep has no plan", "add plan: with a scenario's name, a plan's file, or the plan itself")
	case f.Plan.IsMapping():
		return plans.ParsePart(f.Plan)
	}
	name, err := f.Plan.Text()
	if err != nil {
		return nil, err
	}
	if strictyaml.FromStandardInput(name) {
		return nil, refuse("plan", "plan is standard input", "name a scenario or a plan's file")
	}
	if _, named := plans.Source(name); !named && !filepath.IsAbs(name) && strings.ContainsAny(name, "./") {
		name = filepath.Join(dir, name)
	}
	p, err := plans.Load(name)
	return p, f.Plan.Locate(err)
}

// lay applies the fixed settings to the plan.
func (f *file) lay(plan *plans.Plan) error {
	if !f.Settings.Given() {
		return nil
	}
	entries, err := f.Settings.Entries()
	if err != nil {
		return err
	}
	set := plan.Vary
	if f.Plan.IsMapping() { // it is written for these settings
		set = plan.Set
	}
	for _, e := range entries {
		text, err := e.Value.Text()
		if err != nil {
			return err
		}
		if err := set(e.Name + "=" + text); err != nil {
			return e.Key.Locate(err)
		}
	}
	return f.Settings.Locate(plan.Validate())
}

// axis reads the axis at path, for a sweep of the plan with the axes before it.
func (a *axisFile) axis(path string, plan *plans.Plan, d *Definition) (Axis, error) {
	if !a.Setting.Given() || !a.Values.Given() {
		missing := "setting"
		if a.Setting.Given() {
			missing = "values"
		}
		return Axis{}, refuse(path, "the axis has no "+missing, "write {setting: engine.max_dispatch_retries, values: 1..10}")
	}
	name, err := a.Setting.Text()
	if err != nil {
		return Axis{}, err
	}
	if d.axis(name) >= 0 {
		return Axis{}, a.Setting.Locate(refuse(name, name+" is an axis already", "give its values once"))
	}
	l, err := a.listing(name)
	if err != nil {
		return Axis{}, err
	}
	wrong := a.Values
	if _, known := plans.SettingOf(name); !known {
		wrong = a.Setting
	}
	axis, err := axisOf(plan, name, l)
	if a.Title != "" {
		axis.Title = a.Title
	}
	return axis, wrong.Locate(err)
}

// listing reads the axis's values.
func (a *axisFile) listing(name string) (l listing, err error) {
	for _, n := range a.Values.List() {
		text, err := n.Text()
		if err != nil {
			return nil, err
		}
		part, err := list(text)
		if err != nil {
			return nil, n.Locate(complain(name, err))
		}
		l = append(l, part...)
	}
	if len(l) == 0 {
		return nil, a.Values.Locate(refuse(name, name+" has no values", "write values such as [1, 2, 5] or 1..10"))
	}
	return l, nil
}
