package orders

import (
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// ResultVersion is the version of the format of orders.json.
const ResultVersion = 1

// Result is what a search found: the content of orders.json. It depends only on the plan, the number of
// pre-emptions and the build.
type Result struct {
	Version      int       `json:"version"`
	Build        string    `json:"build"`
	Name         string    `json:"name"`
	Preset       string    `json:"preset"`
	Plan         string    `json:"plan"`        // in YAML
	Preemptions  int       `json:"preemptions"` // the largest number of pre-emptions
	Apart        bool      `json:"apart"`       // runs that differ only in the order of independent operations were taken for one
	Complete     bool      `json:"complete"`    // every order was tried
	Runs         int       `json:"runs"`
	Broken       int       `json:"broken"`       // runs that broke a promise or went out of bounds
	Inconclusive int       `json:"inconclusive"` // runs that could not be judged
	Steps        int       `json:"steps"`        // in all
	LongestSteps int       `json:"longest_steps"`
	Actors       int       `json:"actors"` // the most in a run
	Digest       string    `json:"digest"` // of the digests of all runs, in their order
	Levels       []Level   `json:"levels"` // by number of pre-emptions
	Findings     []Finding `json:"findings"`
}

// Level is the orders with a certain number of pre-emptions.
type Level struct {
	Preemptions  int `json:"preemptions"`
	Runs         int `json:"runs"`
	Broken       int `json:"broken"`
	Inconclusive int `json:"inconclusive"`
	Left         int `json:"left"` // known, but not tried
}

// Finding is a set of invariants that broke together, and the first order in which they did. No order with
// fewer pre-emptions breaks them.
type Finding struct {
	Invariants  []string `json:"invariants"`
	Preemptions string   `json:"preemptions"` // as in schedule.preemptions
	Run         int      `json:"run"`         // from 1
	Runs        int      `json:"runs"`        // how many runs broke them
	Digest      string   `json:"digest"`
	Plan        string   `json:"plan"` // in YAML
}

func newResult(d *Definition) Result {
	return Result{Version: ResultVersion, Build: buildname.Of(), Plan: d.Plan, Preemptions: d.Preemptions, Apart: d.Apart, Findings: []Finding{}}
}

// add adds a run that broke a promise.
func (r *Result) add(list []sim.Preemption, run *Run) {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return slices.Equal(f.Invariants, run.Broken) })
	if i < 0 {
		i = len(r.Findings)
		r.Findings = append(r.Findings, Finding{Invariants: run.Broken, Preemptions: sim.Preemptions(list), Run: r.Runs, Digest: run.Digest})
	}
	r.Findings[i].Runs++
}

// finish computes what depends on all runs.
func (r *Result) finish(d *Definition, digest *xxhash.Digest) {
	r.Digest = fmt.Sprintf("%016x", digest.Sum64())
	last := r.Levels[len(r.Levels)-1]
	r.Complete = last.Left == 0
	if p, err := plans.Parse("ordered", []byte(d.Plan)); err == nil {
		r.Name, r.Preset = p.Name, p.Preset
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		list, _ := sim.ParsePreemptions(f.Preemptions)
		if p, err := d.PlanOf(list); err == nil {
			if text, err := plans.Marshal(p); err == nil {
				f.Plan = string(text)
			}
		}
	}
}
