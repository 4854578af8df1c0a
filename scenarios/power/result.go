package power

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/internal/interval"
)

// ResultVersion is the format of power.json.
const ResultVersion = 5 // 2: what a plan breaks without the mistake, too, is no kill; 3: runs that the mistake changed; 4: what panics before main is no mutant; 5: a search that does not execute the code is left out, and faults strike several scenarios

// Result is what was measured: the content of power.json.
type Result struct {
	Version int           `json:"version"`
	Build   string        `json:"build"`
	Program string        `json:"program"` // a hash of the testbed without a mistake: sources of one build's name may differ
	Seed    uint64        `json:"seed"`
	Budget  time.Duration `json:"budget_ns"` // of each search, for each mutant
	Rows    []Row         `json:"rows"`      // in the order in which they were drawn
}

// Mutants are the rows of those that compile and start.
func (r *Result) Mutants() (list []Row) {
	for _, row := range r.Rows {
		if row.Starts {
			list = append(list, row)
		}
	}
	return list
}

// Changing are the mutants under which some run had another event than without the mistake. The others are nothing that a
// judge could tell: they change nothing, or no plan came upon them.
func (r *Result) Changing() []Row {
	return slices.DeleteFunc(r.Mutants(), func(m Row) bool { return !m.changes() })
}

// Unchanging are the other mutants.
func (r *Result) Unchanging() []Row {
	return slices.DeleteFunc(r.Mutants(), func(m Row) bool { return m.changes() })
}

func (r *Row) changes() bool {
	return slices.ContainsFunc(r.Kills, func(k Kill) bool { return len(k.By) > 0 || k.Changed > 0 })
}

// Unexecuted are those of them in code that no search executes within its time. None was run.
func (r *Result) Unexecuted() []Row {
	return slices.DeleteFunc(r.Mutants(), func(m Row) bool { return !m.Unexecuted() })
}

// Unexecuted says whether no search executes the code of the mistake within its time.
func (r *Row) Unexecuted() bool {
	return len(r.Kills) > 0 && !slices.ContainsFunc(r.Kills, func(k Kill) bool { return !k.Unexecuted })
}

// Changed says in how many runs a survivor changed an event, and a search and a plan that show it.
func (r *Row) Changed() (runs int, search, plan string) {
	for _, k := range r.Kills {
		if runs += k.Changed; k.Changed > 0 && search == "" {
			search, plan = k.Search, k.First
		}
	}
	return runs, search, plan
}

// Rate is how many of the mutants that change something one search has found.
type Rate struct {
	Search    string
	Killed    int
	Of        int
	Low, High float64       // of the share, with a confidence of 95 %
	Median    time.Duration // until it is found, of those that are
}

// anySearch stands for all of them.
const anySearch = "any of them"

// Rates are those of each search, and of all together.
func (r *Result) Rates() (rates []Rate) {
	mutants := r.Changing()
	if len(mutants) == 0 {
		return nil
	}
	var searches []string
	for _, k := range mutants[0].Kills {
		searches = append(searches, k.Search)
	}
	for _, s := range append(searches, anySearch) {
		rate, took := Rate{Search: s, Of: len(mutants)}, r.Took(s)
		rate.Killed = len(took)
		rate.Low, rate.High = interval.Wilson(float64(rate.Killed), float64(rate.Of))
		if slices.Sort(took); len(took) > 0 {
			rate.Median = took[len(took)/2]
		}
		rates = append(rates, rate)
	}
	return rates
}

// Took is how long a search took to find each of the mutants that it found.
func (r *Result) Took(search string) (took []time.Duration) {
	for _, m := range r.Mutants() {
		if t, killed := m.killed(search); killed {
			took = append(took, t)
		}
	}
	return took
}

// killed says how long a search took to find the mutant; of any, the quickest.
func (r *Row) killed(search string) (took time.Duration, killed bool) {
	for _, k := range r.Kills {
		if len(k.By) == 0 || search != anySearch && k.Search != search {
			continue
		}
		if !killed || k.Took < took {
			took, killed = k.Took, true
		}
	}
	return took, killed
}

// FalseKills is how many runs broke only what their plan breaks without the mistake, too.
func (r *Result) FalseKills() (n int) {
	for _, m := range r.Mutants() {
		for _, k := range m.Kills {
			n += k.FalseKills
		}
	}
	return n
}

// Survivors are the mutants that changed a run, and that no search has found.
func (r *Result) Survivors() []Row {
	return slices.DeleteFunc(r.Changing(), func(m Row) bool { _, killed := m.killed(anySearch); return killed })
}
