package search

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Space says which plans [Draw] draws from.
type Space struct {
	Presets []string    // each plan has one of these presets; if empty, the base's own, or either without a base
	Base    *plans.Plan // plans are perturbations of it; nil draws them from nothing
	Sets    []string    // settings that every plan has, as [plans.Plan.Set] takes them
	Judged  []string    // invariants that every plan is judged by, whatever their promises
}

// Validate returns an error if the space is invalid, as a [*strictyaml.Error]. Every plan of a valid space is
// valid.
func (s Space) Validate() error {
	for _, preset := range s.presets() {
		p, err := s.start(preset)
		if err != nil {
			return err
		}
		if err := p.Validate(); err != nil {
			return err
		}
		if e := plans.CheckStrikes(p); e != nil {
			return e
		}
	}
	return nil
}

func (s Space) presets() []string {
	switch {
	case len(s.Presets) > 0:
		return s.Presets
	case s.Base != nil:
		return []string{s.Base.Preset}
	}
	return plans.Presets()
}

// start returns the plan to which draws are applied: the base or the defaults, with the preset and with the
// settings that the space fixes.
func (s Space) start(preset string) (*plans.Plan, error) {
	p := plans.Defaults()
	p.Name = "drawn"
	if s.Base != nil {
		p = s.Base.Clone()
		p.Name, p.Story, p.Expect = perturbed(p.Name), "", plans.Expect{}
	}
	p.Expect.Violates = slices.Clone(s.Judged)
	for _, set := range append([]string{"preset=" + preset}, s.Sets...) {
		if err := p.Set(set); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Draw draws a plan: topology, workload, a few settings, strategy, seed and faults. The faults are of a
// random subset of the kinds (a swarm: a fault that is always there would hide what shows only without it).
// The plan shrinks towards one job, one replica, one worker and no fault. The space must be valid.
func Draw(t *rapid.T, space Space) *plans.Plan {
	p, err := space.start(rapid.SampledFrom(space.presets()).Draw(t, "preset"))
	if err != nil {
		panic(fmt.Sprintf("the space is not valid: %v", err))
	}
	d := &drawer{t: t, p: p, fixed: map[string]bool{}}
	for _, set := range space.Sets {
		d.fixed[plans.NameOf(set)] = true
	}
	if space.Base != nil {
		d.perturb()
	} else {
		d.settings()
		d.situation()
		d.faults()
	}
	d.finish()
	return p
}

// finish draws what no other draw depends on, and gives the plan the time that its settings need.
func (d *drawer) finish() {
	if seed := d.bits(16, "seed"); !d.fixed["seed"] {
		d.p.Seed = uint64(seed)
	}
	d.rare()
	if !d.fixed["then.settle_within"] {
		d.p.Then.SettleWithin = max(d.p.Then.SettleWithin, d.p.Patience())
	}
	d.p.Unpin() // drawn values are not more explicit than others
}
