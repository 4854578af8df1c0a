package sweep

import (
	"fmt"
	"math"
	"slices"

	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Alternatives is a comparison before it is run: one of the documentation's tables, and the plans and seeds
// with which its rows are run. Like a [Definition], it is data.
type Alternatives struct {
	Version   int      `json:"version"`
	Name      string   `json:"name" yaml:"name"`
	Title     string   `json:"title" yaml:"title"`
	Question  string   `json:"question" yaml:"question"`
	Source    string   `json:"source" yaml:"source"`   // the document that has the table
	Plans     []Case   `json:"plans" yaml:"plans"`     //
	Rows      []Row    `json:"rows" yaml:"rows"`       // without measurements
	Metrics   []string `json:"metrics" yaml:"metrics"` // the columns
	Seeds     int      `json:"seeds" yaml:"seeds"`     // how many seeds every row is run with, for every plan
	FirstSeed uint64   `json:"first_seed"`
	Notes     []string `json:"notes" yaml:"notes"`
}

// Case is one of the plans that all alternatives are run with.
type Case struct {
	Name string `json:"name" yaml:"name"`
	Plan string `json:"plan"` // in YAML
}

// Compare returns the comparison of that name. The error is a [*strictyaml.Error].
func Compare(name string) (*Alternatives, error) {
	var names []string
	for _, a := range Comparisons() {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return nil, &strictyaml.Error{Message: fmt.Sprintf("unknown comparison %q", name), Remedy: "there are " + invariants.List(names) + suggest.Hint(name, names)}
}

// Validate returns the first error in the comparison, or nil. It makes every plan that the comparison runs,
// except for its seed. The error is a [*strictyaml.Error].
func (a *Alternatives) Validate() error {
	runs := len(a.Plans) * len(a.Rows) * min(a.Seeds, seedsMax+1)
	switch {
	case a.Version != DefinitionVersion:
		return refuse("version", fmt.Sprintf("the comparison's format is version %d", a.Version), fmt.Sprintf("this build reads version %d", DefinitionVersion))
	case a.Seeds < 1 || a.Seeds > seedsMax:
		return refuse("seeds", fmt.Sprintf("seeds is %d, out of range", a.Seeds), fmt.Sprintf("give 1 to %s", invariants.Thousands(seedsMax)))
	case runs > runsMax:
		return refuse("seeds", fmt.Sprintf("%s alternatives with %s plans under %s seeds are %s runs", invariants.Thousands(len(a.Rows)), invariants.Thousands(len(a.Plans)), invariants.Thousands(a.Seeds), invariants.Thousands(runs)), fmt.Sprintf("a comparison has at most %s: take fewer seeds", invariants.Thousands(runsMax)))
	}
	for _, c := range a.Plans {
		for _, row := range a.Rows {
			p, err := plans.Parse(c.Name+".yaml", []byte(c.Plan))
			if err != nil {
				return err
			}
			for _, set := range row.Settings {
				if err := p.Set(set); err != nil {
					return err
				}
			}
			if err := p.Validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Spec is the campaign that runs the comparison.
func (a *Alternatives) Spec() campaign.Spec {
	g := &campaign.Grid{Seeds: a.Seeds}
	for _, c := range a.Plans {
		g.Plans = append(g.Plans, c.Plan)
	}
	for _, row := range a.Rows {
		g.Points = append(g.Points, row.Settings)
	}
	return campaign.Spec{Version: campaign.SpecVersion, Name: a.Name, Seed: a.FirstSeed, Grid: g}
}

// Analyse makes the table from the records of the comparison's campaign, in any order. A row's numbers are
// means over all plans, then over seeds.
func (a *Alternatives) Analyse(records []*campaign.Record) (*Comparison, error) {
	t, err := newTable(a.Spec(), records)
	if err != nil {
		return nil, err
	}
	res := &Comparison{
		Version: ResultVersion, Build: buildname.Of(), Name: a.Name, Title: a.Title, Question: a.Question, Source: a.Source,
		Seeds: a.Seeds, FirstSeed: a.FirstSeed, Complete: t.complete(), Metrics: ordered(a.Metrics)[:len(a.Metrics)],
	}
	for _, c := range a.Plans {
		res.Plans = append(res.Plans, c.Name)
	}
	for i, row := range a.Rows {
		var sum tally
		row.Estimates, row.Worst, row.Beaten = map[string]Estimate{}, map[string]Example{}, map[string][]string{}
		for plan := range a.Plans {
			t.tally(plan, i, &sum)
			row.Under = append(row.Under, map[string]Estimate{})
		}
		row.Runs, row.Broken, row.Outside = sum.runs, sum.broken, sum.outside
		res.Rows = append(res.Rows, row)
	}
	for _, m := range res.Metrics {
		a.measure(t, res.Rows, m.Name)
	}
	res.Notes = append(a.reading(t), a.Notes...)
	return res, nil
}

// measure sets the rows' estimates of a metric, their worst runs, and the rows that are better.
func (a *Alternatives) measure(t *table, rows []Row, metric string) {
	under, pooled := make([][][]float64, len(a.Plans)), make([][]float64, len(rows))
	for i := range rows {
		var series [][]float64
		for plan := range a.Plans {
			s := t.series(plan, i, metric)
			series, under[plan] = append(series, s), append(under[plan], s)
			a.worst(rows[i].Worst, metric, plan, i, s)
		}
		pooled[i] = meanOf(series)
	}
	for plan := range a.Plans {
		for i, e := range estimates(metric, under[plan]) {
			if e.N > 0 {
				rows[i].Under[plan][metric] = e
			}
		}
	}
	for i, e := range estimates(metric, pooled) {
		if e.N > 0 {
			rows[i].Estimates[metric] = e
		}
		for j := range rows {
			if c := newContest(metric, [][]float64{pooled[j], pooled[i]}, pairs(len(rows))); c.below(0, 1) {
				rows[i].Beaten[metric] = append(rows[i].Beaten[metric], rows[j].Name)
			}
		}
	}
}

// worst keeps the greatest value of a metric in a row, with its run.
func (a *Alternatives) worst(of map[string]Example, metric string, plan, row int, series []float64) {
	for i, v := range series {
		if was, ok := of[metric]; math.IsNaN(v) || ok && v <= was.Value {
			continue
		}
		name, seed := a.Plans[plan].Name, a.FirstSeed+uint64(i)
		of[metric] = Example{Plan: name, Seed: seed, Value: v, File: fmt.Sprintf("%s/%s-%s-%d-%d", ExamplesDir, a.Name, name, row+1, seed)}
	}
}

// PlanOf returns the plan of one run of a row, in YAML.
func (a *Alternatives) PlanOf(row int, e Example) (string, error) {
	i := slices.IndexFunc(a.Plans, func(c Case) bool { return c.Name == e.Plan })
	p, err := plans.Parse(e.Plan+".yaml", []byte(a.Plans[i].Plan))
	if err != nil {
		return "", err
	}
	for _, set := range a.Rows[row].Settings {
		if err := p.Set(set); err != nil {
			return "", err
		}
	}
	p.Seed = e.Seed
	text, err := plans.Marshal(p)
	return string(text), err
}

// ExamplesDir is the folder for the runs behind a comparison's cells.
const ExamplesDir = "runs"

// reading says how to read the table's numbers.
func (a *Alternatives) reading(t *table) []string {
	list := []string{fmt.Sprintf("Every alternative ran each of %s under seed %d; numbers are means over all plans.", invariants.Plural(len(a.Plans), "plan"), a.FirstSeed)}
	if a.Seeds > 1 {
		list[0] = fmt.Sprintf("Every alternative ran each of %s under the same %s, %d to %d; numbers are means over all plans, with 95 %% intervals over seeds: Wilson's for shares, and Student's t for other numbers. Alternatives are compared seed by seed.",
			invariants.Plural(len(a.Plans), "plan"), invariants.Plural(a.Seeds, "seed"), a.FirstSeed, a.FirstSeed+uint64(a.Seeds)-1)
	}
	if n, reason := t.inconclusive(); n > 0 {
		list = append(list, fmt.Sprintf("%s inconclusive, and count as far as they went; the first: %s.", wereOf(n, "run"), reason))
	}
	if n := t.missing(); n > 0 {
		list = append(list, fmt.Sprintf("%s missing: the comparison was cut short.", areOf(n, "run")))
	}
	return list
}
