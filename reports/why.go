package reports

import (
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// whyView is what the page says of the first violation's cause.
type whyView struct {
	*why.Cause
	Promise string    // what the invariant says
	Rows    []toldRow // its path
	Nearest *nearestView
	More    string // the command that finds what is not known here; "" if all is
}

// nearestView is the nearest run without the violation, beside this one.
type nearestView struct {
	*why.Nearest
	All      bool // no step differs
	Same     int  // else how many steps are the same in both
	Partings []partingView
}

// partingView is where the two differ.
type partingView struct {
	Job       string // of which these are; "" is of all
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
	v := &whyView{Cause: c, Promise: res.Invariant(c.Invariant).Says}
	for _, at := range c.Path {
		v.Rows = append(v.Rows, toldRow{Text: at.Says, Ref: ref(at.Step, at.At, shown)})
	}
	if n := c.Nearest; n != nil {
		v.Nearest = &nearestView{Nearest: n, All: n.PartsAt == 0, Same: n.PartsAt - 1, Partings: []partingView{partingOf(&n.Parting, shown)}}
		if n.Then != nil {
			v.Nearest.Partings = append(v.Nearest.Partings, partingOf(n.Then, shown))
		}
	}
	if len(c.Unknown)+len(c.Unready) > 0 || c.NoReturn == nil {
		v.More = res.WhyCommand(c.Invariant)
	}
	return v
}

// underHardened is the command that runs the plan of a violation under the preset hardened; "" if it is that, or breaks nothing.
func underHardened(res *scenarios.Result) string {
	if len(res.Violations) == 0 || res.Preset == plans.PresetHardened {
		return ""
	}
	return res.HardenedCommand()
}

// findWhy is the command that finds what the first violation hangs on, where nobody has looked for that; "" elsewhere.
func findWhy(res *scenarios.Result) string {
	if res.Cause != nil || len(res.Violations) == 0 {
		return ""
	}
	return res.WhyCommand(res.Violations[0].Invariant)
}

func partingOf(p *why.Parting, shown map[int]bool) partingView {
	v := partingView{Job: p.Job, Own: p.Over(), Other: p.Over()}
	if p.Own != nil {
		v.Own, v.OwnRef = p.Own.Says, ref(p.Own.Step, p.Own.At, shown)
	}
	if p.Other != nil {
		v.Other, v.OtherTime = p.Other.Says, ref(0, p.Other.At, nil).At
	}
	return v
}

// withWhy gives each card the command that explains it, where the page does not.
func withWhy(cards []violationCard, res *scenarios.Result) []violationCard {
	for i := range cards {
		if c := &cards[i]; res.Cause == nil || res.Cause.Invariant != c.Invariant {
			c.Why = res.WhyCommand(c.Invariant)
		}
	}
	return cards
}
