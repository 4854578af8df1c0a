package reports

import (
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// whyView is what the page says of the first violation's cause.
type whyView struct {
	*why.Cause
	Promise  string    // what the invariant says
	Rows     []toldRow // its path
	Nearest  *nearestView
	Hardened string // the command that runs the same plan under the preset hardened; "" if it is that
}

// nearestView is the nearest run without the violation, beside this one.
type nearestView struct {
	Change    string // what is other in it
	All       bool   // no step differs
	Same      int    // else how many steps are the same in both
	Job       string // whose first steps that differ these are, if they part in a step of no job
	Own       string
	OwnRef    stepRef
	Other     string
	OtherTime string
}

func whyOf(res *scenarios.Result, shown map[int]bool) *whyView {
	c := res.Cause
	if c == nil {
		return nil
	}
	v := &whyView{Cause: c}
	for _, i := range res.Invariants {
		if i.Name == c.Invariant {
			v.Promise = i.Says
		}
	}
	for _, at := range c.Path {
		v.Rows = append(v.Rows, toldRow{Text: at.Says, Ref: ref(at.Step, at.At, shown)})
	}
	if n := c.Nearest; n != nil {
		v.Nearest = &nearestView{Change: n.With(), All: n.Parts == 0, Same: n.Parts - 1, Job: n.Job, Own: over(n), Other: over(n)}
		if n.Own != nil {
			v.Nearest.Own, v.Nearest.OwnRef = n.Own.Says, ref(n.Own.Step, n.Own.At, shown)
		}
		if n.Other != nil {
			v.Nearest.Other, v.Nearest.OtherTime = n.Other.Says, ref(0, n.Other.At, nil).At
		}
	}
	if c.Hardened != "" && !strings.Contains(res.Replay, "--preset") {
		v.Hardened = res.Replay + " --preset " + plans.PresetHardened
	}
	return v
}

// over is what stands for a step that there is none of.
func over(n *why.Nearest) string {
	if n.Job != "" {
		return "nothing more of " + n.Job
	}
	return "the run is over"
}

// withWhy gives each card the command that explains it, where the page does not.
func withWhy(cards []violationCard, res *scenarios.Result) []violationCard {
	for i := range cards {
		if c := &cards[i]; res.Cause == nil || res.Cause.Invariant != c.Invariant {
			c.Why = scenarios.WhyCommand(res, c.Invariant)
		}
	}
	return cards
}
