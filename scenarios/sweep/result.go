package sweep

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// ResultVersion is the version of the formats of a sweep's sweep.json and of a comparison's compare.json.
const ResultVersion = 4

// Result is a finished sweep. It depends only on the sweep, its seeds and the build.
type Result struct {
	Version   int               `json:"version"`
	Build     string            `json:"build"`
	Name      string            `json:"name"`
	Command   []string          `json:"command,omitempty"` // the arguments after `wavetank sweep` that say what is measured; if empty, the name alone
	Question  string            `json:"question"`          // a sentence
	Plan      string            `json:"plan"`              // the plan to which the settings are applied, in YAML
	Axes      []Axis            `json:"axes"`              // the first is the knob of the question, the second is what it is tuned against
	Seeds     int               `json:"seeds"`             // how many seeds every point was run with
	FirstSeed uint64            `json:"first_seed"`
	Added     int               `json:"added,omitempty"` // runs with more seeds, of rows that were open
	Complete  bool              `json:"complete"`        // every point was run with every seed
	Metrics   []campaign.Metric `json:"metrics"`         // those of the question come first
	Points    []Point           `json:"points"`          // in the order of the axes, the last one fastest
	Pareto    Pareto            `json:"pareto"`
	Answer    Answer            `json:"answer"`
	Notes     []string          `json:"notes"` // how to read the numbers, and the model with which one of them was checked
}

// Axis is a setting and its values.
type Axis struct {
	Setting   string   `json:"setting"`
	Title     string   `json:"title"` // for a plot's axis, with its unit in parentheses
	Values    []string `json:"values"`
	Condition bool     `json:"condition,omitempty"` // it describes the world, such as world.dying, and is nobody's choice
}

// Point is one combination of the axes' values.
type Point struct {
	Values    []string            `json:"values"` // one for each axis
	Runs      int                 `json:"runs"`
	Estimates map[string]Estimate `json:"estimates"`         // by the metric's name
	Broken    map[string]int      `json:"broken,omitempty"`  // promises broken here, with the number of runs: the point is then ruled out
	Outside   map[string]int      `json:"outside,omitempty"` // invariants broken outside their promises, with the number of runs
	OnFront   bool                `json:"on_front,omitempty"`
	Worst     *Worst              `json:"worst,omitempty"` // nil if there are no runs
}

// Worst is the run of a point that is worth a look: the first that broke a promise, or else the one with the
// highest value of the deciding metric.
type Worst struct {
	Seed uint64 `json:"seed"`
	Says string `json:"says"` // what is bad about it
	File string `json:"file"` // its plan in the sweep's folder, without the extension; the page is beside it
}

// Sound says whether every run of the point kept every promise.
func (p *Point) Sound() bool { return len(p.Broken) == 0 }

// Estimate is a mean over seeds with its 95 % confidence interval: Wilson's for a share, Student's t for
// other numbers, whose interval may exceed the metric's range. With one seed there is no interval: Low and
// High are the mean.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"`
}

// Pareto names the two metrics that are in conflict. A sound point is on the front if, under the same
// conditions, no other sound point is better in one of them and no worse in the other. Axes that are
// conditions are nobody's choice, so each combination of their values has a front of its own.
type Pareto struct {
	X string `yaml:"x" json:"x"`
	Y string `yaml:"y" json:"y"`
}

// Answer is the recommendation.
type Answer struct {
	Sentence string   `json:"sentence"`           // which value to take with which other settings, by how much it is better, and how sure that is
	Also     []string `json:"also,omitempty"`     // sentences on the next best choice, on the rows, and on settings that are not the default
	Take     []string `json:"take,omitempty"`     // the settings to take, as --set takes them: the value, the choices, and those with which the sweep was measured; empty if there is no recommendation
	Rows     []Advice `json:"rows"`               // one for each combination of all axes except the first
	Means    []Advice `json:"means,omitempty"`    // the same by the mean over all conditions, if there are several
	Reading  string   `json:"reading,omitempty"`  // what an interval of a difference means, if there is one
	Evidence []string `json:"evidence,omitempty"` // differences with their intervals, and the points that were left out
}

// brackets says whether the answer has an interval of a difference, in the form that [gap] writes.
func (a *Answer) brackets() bool {
	said := slices.Concat([]string{a.Sentence}, a.Also, a.Evidence)
	for _, r := range slices.Concat(a.Rows, a.Means) {
		said = append(said, r.Says, r.Price)
	}
	return slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, " [") })
}

// Conclusive says whether there is a value to take under some combination of the other axes.
func (a *Answer) Conclusive() bool {
	return slices.ContainsFunc(a.Rows, func(r Advice) bool { return r.Take != "" })
}

// Alike says whether no combination has a value to take, all for the same reason, which the sentence gives.
func (a *Answer) Alike() bool { return len(a.Rows) > 0 && sameReason(a.Rows) }

// sameReason says whether no row has a value to take, all for the same reason.
func sameReason(rows []Advice) bool {
	return !slices.ContainsFunc(rows, func(r Advice) bool { return r.Take != "" || r.Says != rows[0].Says })
}

// Sureness is how sure the value to take is.
type Sureness string

// The degrees of sureness.
const (
	Sure     Sureness = "sure"     // every other value is worse beyond noise, or as good
	NotSure  Sureness = "not sure" // some values are neither, or do less harm; or few seeds show that this is the only value that keeps every promise
	NoSignal Sureness = "none"     // no value differs from another beyond noise, and there is nothing to take
)

// Advice says which value of the first axis to take under one combination of the others. All comparisons and
// intervals of a row hold at 95 % together.
type Advice struct {
	Under    []string `json:"under"`            // the values of the other axes, in their order; empty for the mean over all
	Take     string   `json:"take,omitempty"`   // empty if there is no value to take
	Sure     Sureness `json:"sure"`             //
	Metric   string   `json:"metric"`           // the metric that shows the difference: the deciding one or, if that shows none, the one that it is weighed against
	Mean     float64  `json:"mean"`             // of Metric at Take
	Than     string   `json:"than,omitempty"`   // the value that Take is compared with: the next best
	ThanMean float64  `json:"than_mean"`        //
	Gap      Estimate `json:"gap"`              // how much more of Metric Take has than Than; below zero is better
	Rivals   []string `json:"rivals,omitempty"` // values that cannot be told apart from Take
	Out      []string `json:"out,omitempty"`    // values at which a promise was broken
	Price    string   `json:"price,omitempty"`  // what Take costs, in the metric that the deciding one is weighed against and in harm
	Harms    []string `json:"harms,omitempty"`  // measures of harm in which another value is better than Take
	Says     string   `json:"says"`             // how much better it is, in words
	Open     bool     `json:"open,omitempty"`   // more seeds may tell
}

// Comparison is one of the documentation's tables with measured columns: alternatives with the same plans and
// seeds.
type Comparison struct {
	Version   int               `json:"version"`
	Build     string            `json:"build"`
	Name      string            `json:"name"` // such as dispatch-order
	Title     string            `json:"title"`
	Question  string            `json:"question"`
	Source    string            `json:"source"` // the document that has the table
	Plans     []string          `json:"plans"`  // the scenarios with which every alternative was run
	Seeds     int               `json:"seeds"`
	FirstSeed uint64            `json:"first_seed"`
	Complete  bool              `json:"complete"`
	Metrics   []campaign.Metric `json:"metrics"` // the columns
	Rows      []Row             `json:"rows"`
	Notes     []string          `json:"notes"`
}

// TooFew says that the seeds are too few to tell any two rows apart; otherwise it is "".
func (c *Comparison) TooFew() string {
	if of := pairs(len(c.Rows)); of > 0 && c.Seeds < SeedsLeast(of) {
		return tooFew(c.Seeds, of)
	}
	return ""
}

// Example is one run of an alternative.
type Example struct {
	Plan  string  `json:"plan"` // a name in Comparison.Plans
	Seed  uint64  `json:"seed"`
	Value float64 `json:"value"`
	File  string  `json:"file"` // its plan in the comparisons' folder, without the extension; the page is beside it
}

// Row is one alternative.
type Row struct {
	Name      string              `json:"name" yaml:"name"`         // the document's name for it
	Upside    string              `json:"upside" yaml:"upside"`     // the document's words, shortened
	Downside  string              `json:"downside" yaml:"downside"` //
	Settings  []string            `json:"settings" yaml:"settings"` // as --set takes them
	Runs      int                 `json:"runs"`
	Estimates map[string]Estimate `json:"estimates"`

	Beaten  map[string][]string   `json:"beaten,omitempty"`  // by the metric's name: the rows that have less of it beyond noise, seed by seed
	Worst   map[string]Example    `json:"worst,omitempty"`   // by the metric's name: the first run with the greatest value
	Under   []map[string]Estimate `json:"under,omitempty"`   // the same for each of the plans alone, in their order
	Broken  map[string]int        `json:"broken,omitempty"`  // number of runs, by invariant
	Outside map[string]int        `json:"outside,omitempty"` // the same, outside the promise
}
