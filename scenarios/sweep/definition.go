package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// DefinitionVersion is the version of the format of sweep files that this build reads.
const DefinitionVersion = 1

// Bounds of a sweep. A run takes about 50 ms of a core, so a larger sweep would take days.
const (
	pointsMax = 10_000
	seedsMax  = 10_000
	runsMax   = 1_000_000
	axesMax   = 8
	roundsMax = 6 // each round has as many seeds as all before it together: 32 times the first in all
)

// Definition is a sweep before it is run: a question, a grid of settings over a plan, and the seeds with
// which every point is run. It is data: stored with a sweep's runs, it is all that is needed to continue and
// analyse them.
type Definition struct {
	Version   int      `json:"version"`
	Name      string   `json:"name"`                // in kebab-case
	Question  string   `json:"question"`            // a sentence
	Plan      string   `json:"plan"`                // in YAML, including the fixed settings
	Axes      []Axis   `json:"axes"`                // the first is the knob of the question
	Seeds     int      `json:"seeds"`               // how many seeds every point is run with
	FirstSeed uint64   `json:"first_seed"`          //
	Metrics   []string `json:"metrics"`             // those of the question; the first decides
	Pareto    Pareto   `json:"pareto"`              //
	Precision float64  `json:"precision,omitempty"` // in the deciding metric's unit: smaller differences count as none, and seeds are added until they show; 0 adds none
	Budget    int      `json:"budget,omitempty"`    // no more runs are added beyond so many in all
	Notes     []string `json:"notes,omitempty"`
}

// seedsDefault gives intervals about 5 % wider than twice the standard error.
const seedsDefault = 20

// The metrics of a sweep that names none.
var (
	metricsDefault = []string{"dispatch_p99_s", "attempts_burnt", "dead_dispatch", "duplicates", "unsettled"}
	paretoDefault  = Pareto{X: "attempts_burnt", Y: "dispatch_p99_s"}
)

// Over returns the sweep of a plan, without axes yet: see [Definition.Grid].
func Over(plan *plans.Plan) (*Definition, error) {
	d := &Definition{
		Version: DefinitionVersion, Name: plan.Name, Seeds: seedsDefault, FirstSeed: plan.Seed,
		Metrics: slices.Clone(metricsDefault), Pareto: paretoDefault,
	}
	return d, d.over(plan)
}

// over makes plan the one to sweep. Invariants that the plan judges whatever their promises can rule out
// points, as they can fail a run.
func (d *Definition) over(plan *plans.Plan) error {
	text, err := plans.Marshal(plan)
	if err != nil {
		return err
	}
	d.Plan = string(text)
	return nil
}

// plan returns the plan that the points vary.
func (d *Definition) plan() (*plans.Plan, error) {
	return plans.Parse(d.Name+".yaml", []byte(d.Plan))
}

// Set changes one setting at every point, as [plans.Plan.Set] takes it.
func (d *Definition) Set(assignment string) error {
	p, err := d.plan()
	if err != nil {
		return err
	}
	if err := p.Vary(assignment); err != nil {
		return err
	}
	if name := plans.NameOf(assignment); d.axis(name) >= 0 {
		return refuse(name, name+" is an axis of the sweep", "set another, or give the axis one value with --grid")
	}
	return d.over(p)
}

func (d *Definition) axis(setting string) int {
	return slices.IndexFunc(d.Axes, func(a Axis) bool { return a.Setting == setting })
}

// Grid adds axes. Each assignment is a setting and its values, such as "world.heartbeat_lag=0s,5s,15s",
// "engine.max_dispatch_retries=1..10" or "world.dying=0.1..0.5/0.1". If the sweep has the axis already, its
// values are replaced.
func (d *Definition) Grid(assignments []string) error {
	p, err := d.plan()
	if err != nil {
		return err
	}
	var given []string
	for _, assignment := range assignments {
		name, text, ok := strings.Cut(assignment, "=")
		name = strings.TrimSpace(name)
		switch {
		case !ok || strings.TrimSpace(text) == "":
			return refuse(name, fmt.Sprintf("the grid %q has no values", assignment), "write "+cmp.Or(name, "engine.max_dispatch_retries")+"="+exampleOf(name)+hintSetting(name))
		case slices.Contains(given, name):
			return refuse(name, name+" is an axis already", "give its values once, with commas between them")
		}
		given = append(given, name)
		l, err := list(text)
		if err != nil {
			return complain(name, err)
		}
		axis, err := axisOf(p, name, l)
		if err != nil {
			return err
		}
		if i := d.axis(name); i >= 0 {
			axis.Title = retitled(d.Axes[i].Title, axis.Title)
			d.Axes[i] = axis
		} else {
			d.Axes = append(d.Axes, axis)
		}
	}
	return nil
}

// Validate returns the first error in the sweep, or nil. It makes every plan that the sweep runs, except for
// its seed. The error is a [*strictyaml.Error].
func (d *Definition) Validate() error {
	p, err := d.plan()
	if err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return err
	}
	for _, point := range d.points() {
		at := *p
		for _, set := range d.sets(point) {
			if err := at.Set(set); err != nil {
				return err
			}
		}
		if err := at.Validate(); err != nil {
			return refuse("axes", fmt.Sprintf("the point %s of the axes makes no plan: %v", strings.Join(d.sets(point), ", "), err), "leave such values out of the grid")
		}
	}
	return nil
}

// check checks what the sweep says of itself.
func (d *Definition) check() error {
	points, runs := d.size(), d.size()*min(d.Seeds, seedsMax+1)
	switch {
	case d.Version != DefinitionVersion:
		return refuse("version", fmt.Sprintf("the sweep's format is version %d", d.Version), fmt.Sprintf("this build reads version %d", DefinitionVersion))
	case d.Name == "":
		return refuse("name", "the sweep has no name", "add name: with words such as stale-worker-retries")
	case len(d.Axes) == 0:
		return refuse("axis", "the sweep has no axis", "give one with --grid, such as --grid engine.max_dispatch_retries=1..10, or in a sweep file")
	case len(d.Axes) > axesMax:
		return refuse("axes", fmt.Sprintf("the sweep has %d axes", len(d.Axes)), fmt.Sprintf("give at most %d", axesMax))
	case d.Seeds < 1 || d.Seeds > seedsMax:
		return refuse("seeds", fmt.Sprintf("seeds is %d, out of range", d.Seeds), fmt.Sprintf("give 1 to %s", invariants.Thousands(seedsMax)))
	case d.FirstSeed > math.MaxUint64-uint64(d.Seeds)+1:
		return refuse("first_seed", fmt.Sprintf("%s from %d on are more than there are", invariants.Plural(d.Seeds, "seed"), d.FirstSeed), "begin with a smaller one")
	case points > pointsMax:
		return tooMany(points)
	case runs > runsMax:
		return refuse("seeds", fmt.Sprintf("%s points under %s seeds are %s runs", invariants.Thousands(points), invariants.Thousands(d.Seeds), invariants.Thousands(runs)), fmt.Sprintf("a sweep has at most %s: take fewer values, or fewer seeds", invariants.Thousands(runsMax)))
	case !(d.Precision >= 0) || math.IsInf(d.Precision, 0):
		return refuse("precision", fmt.Sprintf("precision is %g, out of range", d.Precision), "give the difference in the metric that decides that matters to you, such as 0.5, or 0 to add no seeds")
	case d.Budget < 0 || d.Budget > runsMax:
		return refuse("budget", fmt.Sprintf("budget is %d, out of range", d.Budget), fmt.Sprintf("give how many runs there may be, at most %s", invariants.Thousands(runsMax)))
	case len(d.Metrics) == 0:
		return refuse("metrics", "the sweep has no metric", "name one, such as dispatch_p99_s")
	case d.Pareto.X == d.Pareto.Y:
		return refuse("pareto", "pareto weighs "+d.Pareto.X+" against itself", "name two metrics")
	}
	for i, a := range d.Axes {
		if d.axis(a.Setting) < i {
			return refuse(a.Setting, a.Setting+" is an axis already", "give its values once")
		}
	}
	for i, name := range append(slices.Clone(d.Metrics), d.Pareto.X, d.Pareto.Y) {
		known := metricNames()
		if !slices.Contains(known, name) {
			return refuse("metrics", fmt.Sprintf("unknown metric %q", name), "known are "+strings.Join(known, ", ")+suggest.Hint(name, known))
		}
		if i < len(d.Metrics) && slices.Contains(d.Metrics[:i], name) {
			return refuse("metrics", name+" is there already", "name each metric once")
		}
	}
	return nil
}

// size is the number of points in the grid.
func (d *Definition) size() int {
	n := 1
	for _, a := range d.Axes {
		n = min(n*len(a.Values), most)
	}
	return n
}

// points lists the combinations of the axes' values, the last axis fastest.
func (d *Definition) points() [][]string {
	all := [][]string{nil}
	for _, a := range d.Axes {
		var longer [][]string
		for _, p := range all {
			for _, v := range a.Values {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		all = longer
	}
	return all
}

// sets returns the settings of a point, as --set takes them.
func (d *Definition) sets(point []string) []string {
	sets := make([]string, len(point))
	for i, v := range point {
		sets[i] = d.Axes[i].Setting + "=" + v
	}
	return sets
}

// Spec is the campaign that runs the sweep, which must be valid.
func (d *Definition) Spec() campaign.Spec {
	g := &campaign.Grid{Plans: []string{d.Plan}, Seeds: d.Seeds}
	for _, p := range d.points() {
		g.Points = append(g.Points, d.sets(p))
	}
	return campaign.Spec{Version: campaign.SpecVersion, Name: d.Name, Seed: d.FirstSeed, Grid: g}
}

func metricNames() (names []string) {
	for _, m := range campaign.Metrics() {
		names = append(names, m.Name)
	}
	return names
}
