package whatif

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// bench runs variations of one plan, and checks them for one violation.
type bench struct {
	ctx       context.Context
	plan      *plans.Plan
	stalled   func(string)
	invariant string
	of        string               // the violation's job or workflow run; "" is any
	anyway    bool                 // violations outside the promise count, too
	whole     *scenarios.Result    // the plan's own run, to its end
	upTo      *scenarios.Result    // the same, up to the violation
	violated  *scenarios.Violation // the violation to explain, in upTo
	own       []uint64             // hashes of the events of upTo, in order
	say       func(string)
	apart     *set // strikes or settings whose removal only helps together; nil if there are none
	joint     *set // parts of the engine that only help together; nil likewise
	remedied  bool // the parts of the engine have been tried
	inOrders  bool // a change counts only if the violation comes in no other order either
	pct       int  // steps over which the strategy pct spreads its change points, from the plan's own run to its end
	runs      int
	steps     int // of all runs so far
	most      int // how many they may take
}

// play makes a run. If no steps are left, or the run needs more than there are, known is false: whether the
// violation comes is not known.
func (b *bench) play(plan *plans.Plan, branch *scenarios.Branch, trace io.Writer) (res *scenarios.Result, comes, known bool, err error) {
	if b.steps < b.most {
		res, comes, known, err = b.run(plan, branch, trace, b.most-b.steps)
	}
	return res, comes, known, err
}

// breaks says whether a run has the violation, within its promise or anyway.
func (b *bench) breaks(res *scenarios.Result, anyway bool) bool {
	jobs := res.BrokenFor(b.invariant, anyway)
	return len(jobs) > 0 && (b.of == "" || slices.Contains(jobs, b.of))
}

// comes says whether a violation is the one to check for.
func (b *bench) comes(v *scenarios.Violation) bool {
	return v.Invariant == b.invariant && (v.Promised || b.anyway) && (b.of == "" || v.Job == b.of)
}

// first returns the first violation for which is is true, within a promise if possible.
func first(list []scenarios.Violation, is func(*scenarios.Violation) bool) (first *scenarios.Violation) {
	for i := range list {
		if v := &list[i]; is(v) && (first == nil || v.Promised && !first.Promised) {
			first = v
		}
	}
	return first
}

// outcome describes what else happens in a run without the violation.
func (b *bench) outcome(res *scenarios.Result) (o why.Outcome) {
	own := map[string]scenarios.Status{}
	for _, i := range b.whole.Invariants {
		own[i.Name] = i.Status
	}
	for _, i := range res.Invariants {
		switch {
		case i.Name == b.invariant:
			o.Idle = i.Status == scenarios.StatusNotExercised
		case fails(i.Status) && (own[i.Name] == scenarios.StatusViolated || own[i.Name] == scenarios.StatusNotJudged):
			o.Still = append(o.Still, i.Name)
		case i.Status == scenarios.StatusViolated:
			o.Breaks = append(o.Breaks, i.Name)
		case fails(i.Status) && !fails(own[i.Name]):
			o.Beyond = append(o.Beyond, i.Name)
		case i.Status == scenarios.StatusNotExercised && own[i.Name] == scenarios.StatusViolated:
			o.Unjudged = append(o.Unjudged, i.Name)
		}
	}
	broken := b.whole.BrokenFor(b.invariant, true)
	for _, job := range res.BrokenFor(b.invariant, true) {
		of := cmp.Or(job, "no single job")
		if slices.Contains(broken, job) {
			o.Others = append(o.Others, of)
		} else {
			o.Elsewhere = append(o.Elsewhere, of)
		}
	}
	for i, j := range res.Jobs {
		before := b.whole.Jobs[i].State
		open := slices.IndexFunc(res.Unsettled, func(u scenarios.Unsettled) bool { return u.Job == j.ID })
		switch {
		case open >= 0 && scheduler.Terminal(before):
			o.Jobs = append(o.Jobs, j.ID+" does not settle, as "+res.Unsettled[open].Reason)
		case before == "SUCCEEDED" && (j.State == "TIMEOUT" || j.State == "FAILED"):
			o.Jobs = append(o.Jobs, j.ID+" ends "+j.State)
		case j.ID == b.of && before == "TIMEOUT" && j.State == before:
			o.Same = j.ID + " ends TIMEOUT"
		}
	}
	return o
}

func fails(s scenarios.Status) bool {
	return s == scenarios.StatusViolated || s == scenarios.StatusUnpromised
}

// run runs a plan up to the violation, or for at most so many steps. known is false if the run used up its
// steps without the violation. It is also false if the violation is judged at the end, and the world had no
// time to settle.
func (b *bench) run(plan *plans.Plan, branch *scenarios.Branch, trace io.Writer, most int) (res *scenarios.Result, comes, known bool, err error) {
	p := plan.Clone()
	p.Schedule.StepsMax = min(p.Schedule.StepsMax, max(most, stepsLeast))
	if p.Schedule.Strategy == plans.PCT && p.Schedule.Steps == 0 {
		p.Schedule.Steps = b.pct
	}
	res, err = scenarios.Run(b.ctx, p, scenarios.RunOptions{OnStall: b.stalled, StopAt: b.invariant, Of: b.of, Anyway: b.anyway, Branch: branch, Trace: trace, Drawn: true})
	if err != nil {
		return nil, false, false, err
	}
	b.runs++
	b.steps += res.Steps
	comes = b.breaks(res, b.anyway)
	over := !res.EndedSoon || !res.OutOfSteps && res.Invariant(b.invariant).Kind != string(invariants.Eventually)
	return res, comes, comes || over, nil
}

// stepsLeast is the minimum of schedule.steps_max.
const stepsLeast = 100

// hashes records the events of a run: a hash for each, and the phases of their operations.
type hashes struct {
	list   []uint64
	phases map[int]string // by step, for operations with a phase
}

func (h *hashes) Write(line []byte) (int, error) {
	h.list = append(h.list, xxhash.Sum64(line))
	if bytes.Contains(line, []byte(`"phase":`)) {
		var e struct {
			Step  int    `json:"step"`
			Phase string `json:"phase"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, err
		}
		h.phases[e.Step] = e.Phase
	}
	return len(line), nil
}

// prefix counts the events at the beginning of a run that equal those of the plan's own run.
type prefix struct {
	own    []uint64
	equal  int
	parted bool
}

func (p *prefix) Write(line []byte) (int, error) {
	if !p.parted {
		if p.parted = p.equal >= len(p.own) || p.own[p.equal] != xxhash.Sum64(line); !p.parted {
			p.equal++
		}
	}
	return len(line), nil
}

// kept keeps the event with a number, those of some steps, or all of some jobs.
type kept struct {
	number int // from 1
	steps  []int
	jobs   []string
	seen   int
	events []*sim.Event
}

func (k *kept) Write(line []byte) (int, error) {
	of := func(job string) bool { return bytes.Contains(line, []byte(`"job":"`+job+`"`)) }
	at := func(step int) bool { return bytes.Contains(line, fmt.Appendf(nil, `"step":%d,`, step)) }
	if k.seen++; k.seen == k.number || slices.ContainsFunc(k.jobs, of) || slices.ContainsFunc(k.steps, at) {
		e := &sim.Event{}
		if err := json.Unmarshal(bytes.TrimSuffix(line, []byte("\n")), e); err != nil {
			return 0, err
		}
		if k.seen == k.number || slices.Contains(k.jobs, e.Job) || slices.Contains(k.steps, e.Step) {
			k.events = append(k.events, e)
		}
	}
	return len(line), nil
}

// try runs the plan with one change.
func (b *bench) try(p *plans.Plan, one change) (t why.Tried, known bool, err error) {
	compared := &prefix{own: b.own}
	res, comes, known, err := b.play(p, nil, compared)
	t = why.Tried{What: one.what, Says: one.says, Means: one.means, Aside: one.aside, Instead: one.instead, Needed: !comes}
	if one.what == why.Strike {
		t.Did = b.upTo.Did(one.strike, b.violated)
	}
	if known && comes && one.what == why.Strike && b.cameBy(one.strike) {
		if v := first(res.Violations, b.comes); v != nil && v.At != b.violated.At {
			t.Otherwise = v.At
		}
	}
	if known && !comes {
		unshown := one.means != "" && b.unjudged(res) // the run does not show that the part upholds the invariant
		known = one.what != why.Setting || !unshown
		t.Outcome = b.outcome(res)
		moved := len(t.Elsewhere) > 0 // a part that only decides which job is hit is not needed
		t.Needed = !moved && (one.what != why.Remedy || !t.Idle || t.Means != "" && !unshown)
	}
	if compared.equal < len(b.own) {
		t.PartsAt = compared.equal + 1
	}
	return t, known, err
}

// cameBy says whether a fault of the plan struck an operation that the violation depends on.
func (b *bench) cameBy(strike int) bool {
	return slices.ContainsFunc(b.upTo.Fired, func(f scenarios.FiredFault) bool {
		return f.Number == strike && slices.Contains(b.violated.Steps, f.Step) && !faults.KindOf(faults.Effect(f.Do)).OnNode()
	})
}

// unjudged says whether the invariant had nothing to judge in a run, and the settings do not provide for it.
func (b *bench) unjudged(res *scenarios.Result) bool {
	i := res.Invariant(b.invariant)
	return i.Status == scenarios.StatusNotExercised && i.Promise == invariants.Unprovided
}
