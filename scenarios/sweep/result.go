package sweep

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// ResultVersion is the format of a sweep's sweep.json and of a comparison's compare.json.
const ResultVersion = 4

// Result is a finished sweep. It depends on the sweep, its seeds and the build alone.
type Result struct {
	Version   int               `json:"version"`
	Build     string            `json:"build"`
	Name      string            `json:"name"`
	Command   []string          `json:"command,omitempty"` // the words after `wavetank sweep` that say what is measured; none: the name alone
	Question  string            `json:"question"`          // in a sentence
	Plan      string            `json:"plan"`              // the plan that the settings are laid over, as YAML
	Axes      []Axis            `json:"axes"`              // the first is the knob that the question is about, the second what it is tuned against
	Seeds     int               `json:"seeds"`             // under how many every point was run
	FirstSeed uint64            `json:"first_seed"`
	Added     int               `json:"added,omitempty"` // runs under more seeds, of rows that were open
	Complete  bool              `json:"complete"`        // every point was run under every seed
	Metrics   []campaign.Metric `json:"metrics"`         // those that the question is about first
	Points    []Point           `json:"points"`          // in the order of the axes, the last one fastest
	Pareto    Pareto            `json:"pareto"`
	Answer    Answer            `json:"answer"`
	Notes     []string          `json:"notes"` // how to read the numbers, and the model that one of them was checked against
}

// Axis is one setting and the values that it takes.
type Axis struct {
	Setting   string   `json:"setting"`
	Title     string   `json:"title"` // for a plot's axis, with its unit in brackets
	Values    []string `json:"values"`
	Condition bool     `json:"condition,omitempty"` // what the world does, such as world.dying: nobody's choice
}

// Point is one combination of the axes' values.
type Point struct {
	Values    []string            `json:"values"` // one for each axis
	Runs      int                 `json:"runs"`
	Estimates map[string]Estimate `json:"estimates"`         // by the metric's name
	Broken    map[string]int      `json:"broken,omitempty"`  // promises broken here, in runs: the point is out of the question
	Outside   map[string]int      `json:"outside,omitempty"` // invariants broken outside their promise, in runs
	OnFront   bool                `json:"on_front,omitempty"`
	Worst     *Worst              `json:"worst,omitempty"` // of its runs; nil if there is none
}

// Worst is the run of a point that broke a promise, the first of those, or else the one with the most of the metric that
// decides.
type Worst struct {
	Seed uint64 `json:"seed"`
	Says string `json:"says"` // what is bad about it
	File string `json:"file"` // its plan, without the extension, from the sweep's folder; the page is beside it
}

// Sound says whether every promise was kept in every run of the point.
func (p *Point) Sound() bool { return len(p.Broken) == 0 }

// Estimate is a mean over seeds, with its 95 % confidence interval: Wilson's of a share, and Student's t of another number,
// which may reach past what the metric can be. Of one seed there is no interval: Low and High are the mean.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"`
}

// Pareto names the two metrics that pull against each other. A sound point is on the front if, under
// the same conditions, no other sound one is better in one of them and no worse in the other: the
// values of axes that are conditions are nobody's choice, so each combination of them has a front.
type Pareto struct {
	X string `yaml:"x" json:"x"`
	Y string `yaml:"y" json:"y"`
}

// Answer is the recommendation.
type Answer struct {
	Sentence string   `json:"sentence"`           // which value to take with which other settings, by how much, and how sure
	Also     []string `json:"also,omitempty"`     // sentences: what comes of the next best choice, how the rows go, and which settings are not the default
	Take     []string `json:"take,omitempty"`     // the settings to take, as --set takes them: the value, the choices, and those that the sweep was measured with; none where there is nothing to recommend
	Rows     []Advice `json:"rows"`               // one for each combination of all axes but the first
	Means    []Advice `json:"means,omitempty"`    // the same by the mean over all conditions, where there are several
	Reading  string   `json:"reading,omitempty"`  // what an interval of a difference is, where there is one
	Evidence []string `json:"evidence,omitempty"` // differences with their intervals, and the points left out
}

// brackets says whether there is an interval of a difference in the answer, as [gap] writes it.
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

// Alike says whether no combination has a value to take, and all for the same reason, which the sentence gives.
func (a *Answer) Alike() bool { return len(a.Rows) > 0 && sameReason(a.Rows) }

// sameReason says whether no row has a value to take, and all for the same reason.
func sameReason(rows []Advice) bool {
	return !slices.ContainsFunc(rows, func(r Advice) bool { return r.Take != "" || r.Says != rows[0].Says })
}

// Sureness is how sure a value to take is.
type Sureness string

// How sure an advice is.
const (
	Sure     Sureness = "sure"     // every other value is worse by more than noise, or as good
	NotSure  Sureness = "not sure" // some are neither, or do less harm, or the only one that keeps every promise does so under few seeds
	NoSignal Sureness = "none"     // no value differs from another by more than noise, and there is nothing to take
)

// Advice says which value of the first axis to take under one combination of the others. All of a
// row's comparisons hold at 95 % together; so do its intervals.
type Advice struct {
	Under    []string `json:"under"`            // the values of the other axes, in their order; empty: the mean over all
	Take     string   `json:"take,omitempty"`   // empty if there is none to take
	Sure     Sureness `json:"sure"`             //
	Metric   string   `json:"metric"`           // what tells: the metric that decides, or the one that it is weighed against where the first makes no difference
	Mean     float64  `json:"mean"`             // of Metric, at Take
	Than     string   `json:"than,omitempty"`   // the value compared with: the next best
	ThanMean float64  `json:"than_mean"`        //
	Gap      Estimate `json:"gap"`              // what Take has more of Metric than Than; below zero is better
	Rivals   []string `json:"rivals,omitempty"` // values that cannot be told from Take
	Out      []string `json:"out,omitempty"`    // values at which a promise was broken
	Price    string   `json:"price,omitempty"`  // what Take costs of the metric that the deciding one is weighed against, and in harm
	Harms    []string `json:"harms,omitempty"`  // the measures of harm by which another value is better than Take
	Says     string   `json:"says"`             // by how much, in words
	Open     bool     `json:"open,omitempty"`   // more seeds may tell
}

// Comparison is one of the documentation's tables with measured columns: alternatives under the same
// plans and seeds.
type Comparison struct {
	Version   int               `json:"version"`
	Build     string            `json:"build"`
	Name      string            `json:"name"` // such as dispatch-order
	Title     string            `json:"title"`
	Question  string            `json:"question"`
	Source    string            `json:"source"` // the document that has the table
	Plans     []string          `json:"plans"`  // the scenarios that every alternative was run under
	Seeds     int               `json:"seeds"`
	FirstSeed uint64            `json:"first_seed"`
	Complete  bool              `json:"complete"`
	Metrics   []campaign.Metric `json:"metrics"` // the columns
	Rows      []Row             `json:"rows"`
	Notes     []string          `json:"notes"`
}

// TooFew says that the seeds are too few to tell any two rows apart, or is "".
func (c *Comparison) TooFew() string {
	if of := pairs(len(c.Rows)); of > 0 && c.Seeds < SeedsLeast(of) {
		return tooFew(c.Seeds, of)
	}
	return ""
}

// Example is one run of an alternative.
type Example struct {
	Plan  string  `json:"plan"` // a name of Comparison.Plans
	Seed  uint64  `json:"seed"`
	Value float64 `json:"value"`
	File  string  `json:"file"` // its plan, without the extension, from the comparisons' folder; the page is beside it
}

// Row is one alternative.
type Row struct {
	Name      string              `json:"name" yaml:"name"`         // as the document calls it
	Upside    string              `json:"upside" yaml:"upside"`     // the document's words, shortened
	Downside  string              `json:"downside" yaml:"downside"` //
	Settings  []string            `json:"settings" yaml:"settings"` // as --set takes them
	Runs      int                 `json:"runs"`
	Estimates map[string]Estimate `json:"estimates"`

	Beaten  map[string][]string   `json:"beaten,omitempty"`  // by the metric's name, the rows that have less of it: by more than noise, seed by seed
	Worst   map[string]Example    `json:"worst,omitempty"`   // by the metric's name, the run with the greatest value, the first of those
	Under   []map[string]Estimate `json:"under,omitempty"`   // the same for each of the plans alone, in their order
	Broken  map[string]int        `json:"broken,omitempty"`  // in runs, by invariant
	Outside map[string]int        `json:"outside,omitempty"` // the same, outside the promise
}
