package exhaust

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Try is one fault at one site.
type Try struct {
	Site  int // by its place among the definition's
	Fault faults.Fault
}

// Options say what of a plan is tried.
type Options struct {
	EveryLength bool     `json:"every_length,omitempty"` // faults that last have every length at which something may change
	Phases      []string `json:"phases,omitempty"`       // operations of these alone are struck; none: all
}

// Definition is what an exhaustion tries.
type Definition struct {
	Options
	Plan    string // as YAML
	Sites   []Site
	Apart   int             // operations of jobs that no fault can name
	Lengths []time.Duration // of faults that last; none: one of their own
	Tries   []Try
	Calm    string // the digest of the run without any
}

// Define runs the plan and lists what is to be tried. What the plan expects is put aside: every promise is judged in every
// run. It fails if the run cannot be had, breaks a promise by itself, or makes no operation of a phase that is asked for.
func Define(ctx context.Context, plan *plans.Plan, o Options) (*Definition, error) {
	p := plan.Clone()
	p.Expect = plans.Expect{}
	phases := map[string]faults.Phase{}
	for _, phase := range p.Phases() {
		phases[phase.Name] = phase
	}
	sites, apart, res, err := sitesOf(ctx, p, phases)
	if err != nil {
		return nil, err
	}
	for _, v := range res.Violations {
		if v.Promised {
			return nil, fmt.Errorf("%s breaks a promise by itself, %s at step %d, so that nothing can be said of more faults: run it alone first", p.Name, v.Invariant, v.Step)
		}
	}
	for _, name := range o.Phases {
		if !slices.ContainsFunc(sites, func(s Site) bool { return s.Phase == name }) {
			return nil, fmt.Errorf("%s makes no operation of phase %.60q that a fault can strike; it makes %s", p.Name, name, strings.Join(phasesOf(sites), ", "))
		}
	}
	if len(o.Phases) > 0 {
		sites, apart = slices.DeleteFunc(sites, func(s Site) bool { return !slices.Contains(o.Phases, s.Phase) }), 0
	}
	text, err := plans.Marshal(p)
	if err != nil {
		return nil, err
	}
	d := &Definition{Options: o, Plan: string(text), Sites: sites, Apart: apart, Calm: res.Digest}
	if o.EveryLength {
		d.Lengths = lengthsOf(p)
	}
	for i := range sites {
		for _, f := range strikesAt(p, phases[sites[i].Phase], &sites[i], d.Lengths) {
			d.Tries = append(d.Tries, Try{i, f})
		}
	}
	return d, nil
}

// phasesOf are those of the sites, each once.
func phasesOf(sites []Site) (names []string) {
	for i := range sites {
		if !slices.Contains(names, sites[i].Phase) {
			names = append(names, sites[i].Phase)
		}
	}
	return names
}

// Spec is the campaign that runs the tries, after the plan as it is.
func (d *Definition) Spec() campaign.Spec {
	s := &campaign.Struck{Plan: d.Plan}
	for i := range d.Tries {
		s.Faults = append(s.Faults, d.Tries[i].Fault)
	}
	return campaign.Spec{Version: campaign.SpecVersion, Name: "exhaust", Struck: s}
}

// PlanOf is the plan of the n-th try.
func (d *Definition) PlanOf(n int) (*plans.Plan, error) {
	p, err := plans.Parse("struck", []byte(d.Plan))
	if err != nil {
		return nil, err
	}
	p.Faults = append(p.Faults, d.Tries[n].Fault)
	return p, nil
}
