package exhaust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// Try is one fault at one site, alone or after another fault.
type Try struct {
	First int // the index of the fault before it among the definition's first faults; -1 if there is none
	Site  int // the index of its site among the definition's
	Fault faults.Fault
}

// Options say what is tried on a plan.
type Options struct {
	Pairs       bool     `json:"pairs,omitempty"`        // two faults in a run instead of one
	Unpruned    bool     `json:"unpruned,omitempty"`     // pairs that look the same as another, too
	EveryLength bool     `json:"every_length,omitempty"` // faults that last have every length at which the outcome may change
	Phases      []string `json:"phases,omitempty"`       // only operations of these phases are struck; none is all
	Kinds       []string `json:"kinds,omitempty"`        // only faults of these kinds strike; none is all
	Reduced     bool     `json:"reduced,omitempty"`      // only operations of the jobs that the plan is about, and of no job, are struck; of tries that look the same to them, one is made

	Only     func([]Try) []Try                                      `json:"-"` // chooses the single faults that are tried, or after which others strike; nil chooses all
	Progress func(done, all int)                                    `json:"-"` // is called with the progress of the runs that look for pairs; nil is not called
	Keep     func() (*Kept, error)                                  `json:"-"` // is called before the first of those runs for the place to keep their results; nil keeps none
	Lists    func(ctx context.Context, plan string) (Listed, error) `json:"-"` // is [Options.List] in a process that the run may take down; nil is this process
	Variant  func() scheduler.Variant                               `json:"-"` // returns, for each run, what changes the code under test; nil changes nothing
}

// Check returns the errors in the options that do not depend on the plan.
func (o *Options) Check() error {
	if o.Reduced && o.Unpruned {
		return errors.New("a reduced search leaves faults out, and an unpruned search leaves none out; ask for one of the two")
	}
	for _, kind := range o.Kinds {
		if !slices.Contains(Kinds(), kind) {
			return fmt.Errorf("%.60q is not a kind of fault%s; the kinds are %s", kind, suggest.Hint(kind, Kinds()), strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// Definition is what an exhaustion tries.
type Definition struct {
	Options
	Plan    string // in YAML
	Sites   []Site
	Apart   int             // operations of jobs that no fault can name; for pairs, those of the first faults' runs included
	Aside   int             // likewise, of jobs that the plan is not about; none unless Reduced
	Lengths []time.Duration // of faults that last; none if each has its single length
	Firsts  []Try           // the first faults of pairs; none if each try is a single fault
	Tries   []Try
	Beyond  int    // single faults without a second, because their runs took their process down
	Alike   int    // faults, first or second, that are not tried because they look the same as a tried one or, for pairs, as a single fault
	Own     int    // faults that are not tried because an earlier fault strikes the operation or keeps it from its server
	Calm    string // the digest of the run without an added fault
}

// wanted keeps the moments of the phases that are asked for. If the search is reduced, it keeps those of the
// jobs that the plan is about, or of all jobs if it is about none, and counts the others.
func (o *Options) wanted(l *listed, about []int) {
	l.Moments = slices.DeleteFunc(l.Moments, func(m moment) bool {
		if !o.asks(m.Phase) {
			return true
		}
		aside := o.Reduced && m.Job > 0 && len(about) > 0 && !slices.Contains(about, m.Job)
		if aside {
			l.Aside++
		}
		return aside
	})
}

// Spec is the campaign that runs the plan unchanged and then the tries.
func (d *Definition) Spec() campaign.Spec {
	s := &campaign.Struck{Plan: d.Plan}
	for i := range d.Firsts {
		s.Faults = append(s.Faults, d.Firsts[i].Fault)
	}
	places := map[string]int{} // the indices of the second faults, each once: every process that runs tries holds them all
	for i := range d.Tries {
		t := &d.Tries[i]
		if t.First < 0 {
			s.Faults = append(s.Faults, t.Fault)
			continue
		}
		text, err := json.Marshal(&t.Fault)
		if err != nil {
			panic(err) // all of it can be encoded
		}
		place, there := places[string(text)]
		if !there {
			place = len(s.Faults)
			places[string(text)], s.Faults = place, append(s.Faults, t.Fault)
		}
		s.Sets = append(s.Sets, [2]int{t.First, place})
	}
	return campaign.Spec{Version: campaign.SpecVersion, Name: "exhaust", Struck: s}
}

// PlanOf returns the plan of the n-th try.
func (d *Definition) PlanOf(n int) (*plans.Plan, error) {
	t := &d.Tries[n]
	if t.First < 0 {
		return campaign.StruckBy(d.Plan, t.Fault)
	}
	return campaign.StruckBy(d.Plan, d.Firsts[t.First].Fault, t.Fault)
}
