package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// ErrHeld is the error of Explain if there is no violation to explain.
var ErrHeld = errors.New("there is no violation to explain")

// Options are the parameters of Explain besides the plan.
type Options struct {
	Invariant string            // the invariant whose violation is explained; "" is the first that the run breaks, if possible within its promise
	Whole     *scenarios.Result // the plan's own run, if the caller has made it; nil makes it
	Quick     bool              // tries the parts of the engine only if the preset hardened is not violated, or nothing else is to blame
	Steps     int               // how many steps the runs may take in all; 0 is 500,000, or 150,000 if Quick
	OnStall   func(string)      // for each run, as in [scenarios.RunOptions]
	Progress  func(string)      // called with what is being looked for; nil is not called
}

// Defaults of Steps. Two processors take about twenty thousand steps a second, and ten thousand if workflows
// stand still. So a command has its answer within 25 to 50 seconds. A page has it within 8 to 15 seconds,
// mostly within two. The runs share the steps, and the last run ends when they are used up. Not counted are
// the plan's own run to its end, the same up to the violation, and two runs up to the event at which they
// part.
const (
	stepsMost      = 500_000
	stepsMostQuick = 150_000
)

// Explain runs the plan, and finds what its violation depends on. If there is no violation, its error wraps
// [ErrHeld]. It also fails if the plan cannot be run, or if ctx is cancelled.
func Explain(ctx context.Context, plan *plans.Plan, opt Options) (*why.Cause, error) {
	b := &bench{ctx: ctx, plan: plan, whole: opt.Whole, most: opt.Steps, stalled: opt.OnStall, say: opt.Progress}
	if b.say == nil {
		b.say = func(string) {}
	}
	if b.most == 0 {
		b.most = stepsMost
		if opt.Quick {
			b.most = stepsMostQuick
		}
	}
	b.say("the plan's own run")
	v, phases, err := b.ownRun(opt.Invariant)
	if err != nil {
		return nil, err
	}
	c := &why.Cause{Invariant: v.Invariant, Job: v.Job, Step: v.Step, At: v.At, Message: v.Message}
	for _, i := range b.whole.Invariants {
		if i.Status == scenarios.StatusViolated && i.Name != b.invariant {
			c.Also = append(c.Also, i.Name)
		}
	}
	given, remedies := b.changes()
	if err := b.blame(c, given, remedies, opt.Quick); err != nil {
		return nil, err
	}
	untold, err := b.eventsAt(untold(b.upTo, v)) // while there are steps left
	if err != nil {
		return nil, err
	}
	b.say("the point of no return")
	if c.NoReturn, err = b.noReturn(cmp.Or(v.Step, b.upTo.Steps)); err != nil {
		return nil, err
	}
	if err := b.byOrder(c, given, remedies); err != nil {
		return nil, err
	}
	decides, err := b.eventsAt(c.NoReturn.Decides())
	if err != nil {
		return nil, err
	}
	for _, e := range decides {
		c.NoReturn.Says = e.Words()
	}
	needed, spared := b.strikes(c)
	c.Path = path(b.upTo, v, phases, needed, spared, untold)
	if err := b.nearest(c, slices.Concat(given, remedies)); err != nil {
		return nil, err
	}
	c.Runs, c.Steps = b.runs, b.steps
	return c, nil
}

// ownRun makes the plan's own run, to its end and up to the violation to explain. That is the first violation
// of the invariant, or of any; one within a promise comes first. The run to its end does not count a
// violation only because the caller asks for it.
func (b *bench) ownRun(invariant string) (*scenarios.Violation, map[int]string, error) {
	if b.whole == nil {
		whole, err := scenarios.Run(b.ctx, b.plan, scenarios.RunOptions{OnStall: b.stalled, Drawn: true})
		if err != nil {
			return nil, nil, err
		}
		b.whole = whole
	}
	whole := b.whole
	if whole.PCT != nil {
		b.pct = whole.PCT.Steps
	}
	meant := first(whole.Violations, func(v *scenarios.Violation) bool { return invariant == "" || v.Invariant == invariant })
	switch {
	case meant != nil:
		b.invariant, b.of, b.anyway = meant.Invariant, subject(whole, meant), !meant.Promised
	case invariant != "":
		b.invariant, b.anyway = invariant, true
	default:
		return nil, nil, b.held()
	}
	own := &hashes{phases: map[int]string{}}
	res, _, _, err := b.run(b.plan, nil, own, b.plan.Schedule.StepsMax)
	if err != nil {
		return nil, nil, err
	}
	v := first(res.Violations, b.comes)
	if v == nil {
		return nil, nil, b.held()
	}
	b.upTo, b.violated, b.own, b.of = res, v, own.list, subject(whole, v)
	if i, _ := judge.Find(b.invariant); i.Quiet == "" {
		b.anyway = true // with a change it may come outside its promise, which is no better
	}
	return v, own.phases, nil
}

// held is the error of a run that does not break the invariant that was asked for, or any.
func (b *bench) held() error {
	var broken, unjudged []string
	says := "no invariant was broken"
	if b.invariant != "" {
		says = b.invariant + " was not broken"
	}
	for _, i := range b.whole.Invariants {
		switch {
		case fails(i.Status):
			broken = append(broken, i.Name)
		case i.Name == b.invariant && i.Status == scenarios.StatusNotExercised:
			says = i.Name + " was not exercised"
		case i.Status == scenarios.StatusNotJudged:
			unjudged = append(unjudged, i.Name)
		}
	}
	if len(broken) > 0 {
		says += "; the run breaks " + strings.Join(broken, ", ")
	}
	if len(unjudged) > 0 {
		says += ", and since then does not judge " + strings.Join(unjudged, ", ")
	}
	return fmt.Errorf("%w: %s", ErrHeld, says)
}

// subject is the job or the workflow run that a violation concerns. Other subjects have names that depend on
// the order of the steps: with a change, the same violation has another subject.
func subject(res *scenarios.Result, v *scenarios.Violation) string {
	if slices.ContainsFunc(res.Jobs, func(j scenarios.JobResult) bool { return j.ID == v.Job }) ||
		slices.ContainsFunc(res.Runs, func(r *scenarios.RunResult) bool { return r.ID == v.Job }) {
		return v.Job
	}
	return ""
}

// changes lists what can be changed in the plan.
func (b *bench) changes() (given, remedies []change) {
	var broken []string
	for _, i := range b.whole.Invariants {
		if fails(i.Status) {
			broken = append(broken, i.Name)
		}
	}
	return changes(b.plan, b.invariant, broken)
}

// blame tries each change alone, and finds changes that only help together.
func (b *bench) blame(c *why.Cause, given, remedies []change, quick bool) error {
	slices.SortStableFunc(given, func(x, y change) int { return b.nearness(y) - b.nearness(x) }) // the steps may not suffice for all
	if err := b.tryEach(c, given); err != nil {
		return err
	}
	if err := b.together(c, given); err != nil {
		return err
	}
	if err := b.hardened(c); err != nil {
		return err
	}
	b.remedied = !quick || c.Hardened == why.Holds || c.Hardened == why.Idle || len(c.Blamed())+len(c.Together) == 0
	if !b.remedied {
		return nil
	}
	if err := b.tryEach(c, remedies); err != nil {
		return err
	}
	return b.jointly(c, remedies)
}

// byOrder looks again at the changes that prevent the violation, if the violation depends on the order of the steps.
// If it comes in another order with a change, that has only changed the order. Changes that only help together are
// then looked for again.
func (b *bench) byOrder(c *why.Cause, given, remedies []change) error {
	if c.NoReturn == nil || c.NoReturn.Step == 0 {
		return nil
	}
	b.inOrders = true
	for i := range c.Tried {
		t := &c.Tried[i]
		if !t.Needed {
			continue
		}
		b.say("in other orders: " + why.Clip(t.Says))
		plan, _ := apply(b.plan, changeOf(slices.Concat(given, remedies), t))
		comes, known, err := b.comesInAnotherOrder(plan)
		if err != nil {
			return err
		}
		if !known {
			c.Unknown = append(c.Unknown, t.With()+" in another order of the steps")
		}
		t.Shuffled, t.Needed = comes, !comes
	}
	return b.atOnce(c, given, remedies)
}

// nearness is how likely the violation depends on a change. A strike on its job is the likeliest. A strike
// that had not happened by then is the least likely.
func (b *bench) nearness(one change) int {
	if one.what != why.Strike {
		return 1
	}
	n := 0
	for _, f := range b.upTo.Fired {
		if f.Number != one.strike {
			continue
		}
		n = max(n, 2)
		if f.Hit(b.violated) {
			n = 3
		}
	}
	return n
}

// strikes returns steps of the plan's strikes. needed has a step for each fault without which the violation
// does not come, alone or together with others. It is the strike that hit the violation's subject, or else
// the first. spared has the strikes without which the violation comes all the same.
func (b *bench) strikes(c *why.Cause) (needed, spared []int) {
	for i := range b.plan.Faults { // deaths drawn by world.dying have other numbers
		says := b.plan.Faults[i].String()
		is := func(t why.Tried) bool { return t.What == why.Strike && t.Says == says }
		list := b.upTo.StrikesOf(i, b.violated)
		switch {
		case len(list) == 0:
		case slices.ContainsFunc(c.Unneeded(), func(t why.Tried) bool { return is(t) && t.Otherwise == 0 }):
			for _, f := range list {
				spared = append(spared, f.Step)
			}
		case slices.ContainsFunc(c.Needed(why.Strike), is) || slices.Contains(c.Together, says):
			needed = append(needed, list[0].Step)
		}
	}
	return needed, spared
}

// tryEach tries the changes until the steps are used up.
func (b *bench) tryEach(c *why.Cause, list []change) error {
	for i, one := range list {
		b.say(fmt.Sprintf("change %d of %d: %s", i+1, len(list), why.Clip(one.says)))
		p, ok := apply(b.plan, one)
		if !ok {
			if one.what != why.Remedy {
				c.Untried = append(c.Untried, one.says)
			}
			continue
		}
		t, known, err := b.try(p, one)
		switch {
		case err != nil:
			return err
		case known:
			c.Tried = append(c.Tried, t)
		case one.what == why.Remedy:
			c.Unready = append(c.Unready, "with "+one.instead)
		case one.what == why.Strike || one.instead == "":
			c.Unknown = append(c.Unknown, "without "+one.says)
		default:
			c.Unknown = append(c.Unknown, "with "+one.instead)
		}
	}
	return nil
}

// hardened says what the invariant's status is in the same plan under the preset hardened, and what else
// happens there.
func (b *bench) hardened(c *why.Cause) error {
	p := b.plan.Clone()
	if p.Preset == plans.PresetHardened || p.Set("preset="+plans.PresetHardened) != nil || p.Validate() != nil {
		return nil
	}
	b.say("under the preset hardened")
	res, comes, known, err := b.play(p, nil, nil)
	switch {
	case err != nil:
		return err
	case !known:
		c.Unknown = append(c.Unknown, "under the preset "+plans.PresetHardened)
	case comes && !b.breaks(res, false):
		c.Hardened = why.Beyond
	case comes:
		c.Hardened = why.Breaks
	default:
		c.Hardened, c.Beside = why.Holds, b.outcome(res)
		if c.Beside.Idle {
			c.Hardened = why.Idle
		}
	}
	return nil
}
