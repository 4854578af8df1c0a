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

// Try is one fault at one site, alone or after another.
type Try struct {
	First int // the fault before it, by its place among the definition's firsts; -1: none
	Site  int // by its place among the definition's
	Fault faults.Fault
}

// Options say what of a plan is tried.
type Options struct {
	Pairs       bool     `json:"pairs,omitempty"`        // two faults a run, and not one
	Unpruned    bool     `json:"unpruned,omitempty"`     // pairs that look the same as another, too
	EveryLength bool     `json:"every_length,omitempty"` // faults that last have every length at which something may change
	Phases      []string `json:"phases,omitempty"`       // operations of these alone are struck; none: all
	Kinds       []string `json:"kinds,omitempty"`        // faults of these kinds alone strike; none: all
	Reduced     bool     `json:"reduced,omitempty"`      // operations are struck of the jobs that the plan is about, and of no job; of tries that look the same to those, one is made

	Only     func([]Try) []Try                                      `json:"-"` // chooses of the single faults those that are tried, or that others strike after; nil is all
	Progress func(done, all int)                                    `json:"-"` // is told of the runs that look for pairs; nil is nobody
	Keep     func() (*Kept, error)                                  `json:"-"` // is asked before the first of them where they are kept; nil is nowhere
	Lists    func(ctx context.Context, plan string) (Listed, error) `json:"-"` // is [Options.List] in a process that the run may take down; nil is in this one
	Variant  func() scheduler.Variant                               `json:"-"` // gives each run what changes its code under test; nil leaves that as it is
}

// Check says what is wrong whatever the plan is.
func (o *Options) Check() error {
	if o.Reduced && o.Unpruned {
		return errors.New("a reduced search leaves faults out, and an unpruned one leaves none; ask for one of them")
	}
	for _, kind := range o.Kinds {
		if !slices.Contains(Kinds(), kind) {
			return fmt.Errorf("%.60q is no kind of fault%s; there are %s", kind, suggest.Hint(kind, Kinds()), strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// Definition is what an exhaustion tries.
type Definition struct {
	Options
	Plan    string // as YAML
	Sites   []Site
	Apart   int             // operations of jobs that no fault can name; of pairs, in the runs of first faults, too
	Aside   int             // likewise, of jobs that the plan is not about; none unless Reduced
	Lengths []time.Duration // of faults that last; none: one of their own
	Firsts  []Try           // that the tries strike after; none: each try is alone
	Tries   []Try
	Beyond  int    // single faults that no second follows, as their runs took their process down
	Alike   int    // faults that are not tried, first or second, as one that is, or of pairs a single fault, looks the same
	Own     int    // likewise, as a fault that comes before strikes the operation or keeps it from its server
	Calm    string // the digest of the run without any
}

// wanted leaves the moments of the phases that are asked for, and if the search is reduced, of the jobs that the plan is about:
// of all jobs, if it is about none. It counts those of other jobs.
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

// Spec is the campaign that runs the tries, after the plan as it is.
func (d *Definition) Spec() campaign.Spec {
	s := &campaign.Struck{Plan: d.Plan}
	for i := range d.Firsts {
		s.Faults = append(s.Faults, d.Firsts[i].Fault)
	}
	places := map[string]int{} // of what is a second fault, each once: every process that runs tries holds them all
	for i := range d.Tries {
		t := &d.Tries[i]
		if t.First < 0 {
			s.Faults = append(s.Faults, t.Fault)
			continue
		}
		text, err := json.Marshal(&t.Fault)
		if err != nil {
			panic(err) // it has nothing that JSON has not
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

// PlanOf is the plan of the n-th try.
func (d *Definition) PlanOf(n int) (*plans.Plan, error) {
	t := &d.Tries[n]
	if t.First < 0 {
		return campaign.StruckBy(d.Plan, t.Fault)
	}
	return campaign.StruckBy(d.Plan, d.Firsts[t.First].Fault, t.Fault)
}
