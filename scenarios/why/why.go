package why

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

// Cause is what the violation of an invariant hangs on.
type Cause struct {
	Invariant string        `json:"invariant"`
	Job       string        `json:"job,omitempty"`
	Step      int           `json:"step"`
	At        time.Duration `json:"at_ns"`
	Message   string        `json:"message"`

	Tried    []Tried   `json:"tried"`               // each change to the plan, alone
	Together []string  `json:"together,omitempty"`  // where no strike and no setting is necessary: some that are, if all are changed at once
	Nearest  *Nearest  `json:"nearest,omitempty"`   // nil: it comes whatever is changed
	NoReturn *NoReturn `json:"no_return,omitempty"` // nil: it was not looked for to the end
	Path     []Point   `json:"path"`                // how it came to that, three to six sentences
	Runs     int       `json:"runs"`                // that all of this took
}

// Tried is a change to the plan, and what comes of it.
type Tried struct {
	What    What   `json:"what"`
	Says    string `json:"says"`              // the strike, or key=value as the plan has it
	Instead string `json:"instead,omitempty"` // key=value as it was tried; of a strike, and of what is given for a job, it is left out
	Needed  bool   `json:"needed"`            // without it, or with it as it was tried, the violation does not come
	Parts   int    `json:"parts"`             // the first step that is another than in the plan's own run; 0: none is
}

// Nearest is the run without the violation that is longest as the plan's own run is, of those that change a strike or the
// engine if there are any.
type Nearest struct {
	Tried
	Own   *Point `json:"own"`   // the plan's own event at which they part; nil: its run is over
	Other *Point `json:"other"` // the nearest's; nil likewise
}

// Point is something that happens at a step.
type Point struct {
	Step int           `json:"step"`
	At   time.Duration `json:"at_ns"`
	Says string        `json:"says"`
}

// Found says whether there is anything that the violation hangs on.
func (c *Cause) Found() bool {
	return len(c.Together) > 0 || len(c.Needed(Strike, Setting, Remedy)) > 0
}

// Needed are the changes without which the violation does not come, of these kinds.
func (c *Cause) Needed(kinds ...What) (list []Tried) {
	for _, t := range c.Tried {
		if t.Needed && slices.Contains(kinds, t.What) {
			list = append(list, t)
		}
	}
	return list
}

// Unneeded are the strikes and settings without any one of which the violation comes all the same.
func (c *Cause) Unneeded() (list []Tried) {
	for _, t := range c.Tried {
		if !t.Needed && t.What != Remedy {
			list = append(list, t)
		}
	}
	return list
}

// ErrHeld is what Explain fails with where there is no violation to explain.
var ErrHeld = errors.New("no invariant was broken")

// Options are what Explain takes besides its plan.
type Options struct {
	Invariant string            // whose violation is explained; "" is the first that the run breaks, of promises if it breaks any
	Variant   scheduler.Variant // changes the code under test; nil leaves it as it is
	Progress  func(string)      // is told what is looked for; nil is nobody
}

// stepsForNoReturn bounds the search for the point of no return: about a minute.
const stepsForNoReturn = 1_000_000

// Explain runs the plan, and finds what its violation hangs on. It fails with an error that wraps [ErrHeld] if there is none,
// if the plan cannot be run, or if ctx is cancelled.
func Explain(ctx context.Context, plan *plans.Plan, opt Options) (*Cause, error) {
	say := opt.Progress
	if say == nil {
		say = func(string) {}
	}
	say("the plan's own run")
	b := &bench{ctx: ctx, variant: opt.Variant, invariant: opt.Invariant}
	if b.invariant == "" {
		res, err := scenarios.Run(ctx, plan, scenarios.RunOptions{Variant: opt.Variant, Drawn: true})
		if err != nil {
			return nil, err
		}
		b.invariant = first(res.Violations)
	}
	if b.invariant == "" {
		return nil, ErrHeld
	}
	own := &hashes{}
	res, comes, _, err := b.play(plan, nil, own)
	if err != nil {
		return nil, err
	}
	if !comes {
		return nil, fmt.Errorf("%s: %w", b.invariant, ErrHeld)
	}
	b.own = own.list
	v := res.Violations[slices.IndexFunc(res.Violations, func(v scenarios.Violation) bool { return v.Invariant == b.invariant })]
	c := &Cause{Invariant: v.Invariant, Job: v.Job, Step: v.Step, At: v.At, Message: v.Message}

	list := changes(plan)
	for i, one := range list {
		say(fmt.Sprintf("change %d of %d: %s", i+1, len(list), one.says))
		t, known, err := b.try(plan, one)
		if err != nil {
			return nil, err
		}
		if known {
			c.Tried = append(c.Tried, t)
		}
	}
	if len(c.Needed(Strike, Setting)) == 0 {
		say("changes at once")
		if c.Together, err = b.together(plan, list); err != nil {
			return nil, err
		}
	}
	if err := b.nearest(c, plan, list); err != nil {
		return nil, err
	}
	say("the point of no return")
	end := v.Step
	if end == 0 {
		end = res.Steps
	}
	if c.NoReturn, err = b.noReturn(plan, end, stepsForNoReturn); err != nil {
		return nil, err
	}
	c.Path = path(res, &v, c)
	c.Runs = b.runs
	return c, nil
}

// first is the invariant of the first violation, of those that are judged if there are any.
func first(list []scenarios.Violation) string {
	for _, v := range list {
		if v.Promised {
			return v.Invariant
		}
	}
	if len(list) > 0 {
		return list[0].Invariant
	}
	return ""
}

// try makes one change. It is not known what comes of one that makes no valid plan, or a run without an end.
func (b *bench) try(plan *plans.Plan, one change) (t Tried, known bool, err error) {
	p, ok := apply(plan, one)
	if !ok {
		return t, false, nil
	}
	beside := &parting{own: b.own}
	_, comes, known, err := b.play(p, nil, beside)
	t = Tried{What: one.what, Says: one.says, Instead: one.instead, Needed: !comes}
	if beside.parted || beside.equal < len(b.own) {
		t.Parts = beside.equal + 1
	}
	return t, known, err
}

// together finds strikes and settings without all of which the violation does not come, and no fewer of them.
func (b *bench) together(plan *plans.Plan, list []change) ([]string, error) {
	left := slices.DeleteFunc(slices.Clone(list), func(c change) bool { return c.what == Remedy })
	held := func(made []change) (bool, error) {
		p, ok := apply(plan, made...)
		if !ok {
			return false, nil
		}
		_, comes, known, err := b.play(p, nil, nil)
		return known && !comes, err
	}
	if ok, err := held(left); err != nil || !ok || len(left) < 2 {
		return nil, err
	}
	for i := 0; i < len(left); {
		fewer := slices.Delete(slices.Clone(left), i, i+1)
		ok, err := held(fewer)
		switch {
		case err != nil:
			return nil, err
		case ok:
			left = fewer
		default:
			i++
		}
	}
	var said []string
	for _, c := range left {
		said = append(said, c.says)
	}
	return said, nil
}

// blames says whether the change is to a strike or to the engine. Other settings are the circumstances.
func (t *Tried) blames() bool { return t.What != Setting || strings.HasPrefix(t.Says, "engine.") }

// nearest finds the nearest run without the violation, and where it parts from the plan's own. One that lacks a strike, or
// whose engine is another, goes before one in other circumstances.
func (b *bench) nearest(c *Cause, plan *plans.Plan, list []change) error {
	var best *Tried
	for i, t := range c.Tried {
		if !t.Needed || t.Parts == 0 {
			continue
		}
		if best == nil || t.blames() && !best.blames() || t.blames() == best.blames() && t.Parts > best.Parts {
			best = &c.Tried[i]
		}
	}
	if best == nil {
		return nil
	}
	i := slices.IndexFunc(list, func(one change) bool {
		return one.what == best.What && one.says == best.Says && one.instead == best.Instead
	})
	other, _ := apply(plan, list[i])
	c.Nearest = &Nearest{Tried: *best}
	for _, run := range []struct {
		plan *plans.Plan
		at   **Point
	}{{plan, &c.Nearest.Own}, {other, &c.Nearest.Other}} {
		event := &nth{step: best.Parts}
		if _, _, _, err := b.play(run.plan, nil, event); err != nil {
			return err
		}
		if e := event.event; e != nil {
			*run.at = &Point{e.Step, e.At, e.Words()}
		}
	}
	return nil
}

// pathMost is how many sentences a path has at most.
const pathMost = 6

// path picks from the story how it came to the violation: what struck, what came last before it, and the violation.
func path(res *scenarios.Result, v *scenarios.Violation, c *Cause) (list []Point) {
	struck := map[int]bool{}
	for _, f := range res.Fired {
		if slices.ContainsFunc(c.Tried, func(t Tried) bool { return t.What == Strike && t.Says == f.Fault && t.Needed }) {
			struck[f.Step] = true
		}
	}
	var picked []int
	told := func(i int) *scenarios.ToldAt { return &res.TellingAt[i] }
	of := func(i int) bool { return v.Job == "" || strings.Contains(res.Telling[i], v.Job) }
	for i := range res.TellingAt {
		if told(i).Violates == v.Invariant || struck[told(i).Step] && told(i).Step > 0 {
			picked = append(picked, i)
		}
	}
	if len(picked) > pathMost {
		picked = append(picked[:pathMost-1], picked[len(picked)-1])
	}
	for i := len(res.TellingAt) - 1; i >= 0 && len(picked) < pathMost; i-- {
		if at := told(i); !slices.Contains(picked, i) && of(i) && (v.Step == 0 || at.Step <= v.Step && at.Step > 0) {
			picked = append(picked, i)
		}
	}
	slices.Sort(picked)
	for _, i := range picked {
		list = append(list, Point{told(i).Step, told(i).At, res.Telling[i]})
	}
	return list
}
