package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/wavetank-sim/wavetank/scenarios/diff"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// nearest finds the nearest run without the violation, and where it parts from the plan's own run. It
// prefers, in this order:
//
//   - runs that lack a strike or have another engine, to those in other circumstances
//   - runs in which nothing else goes wrong
//   - runs with the part of the engine that serves the invariant, since they part where that part acts
//   - runs that lack a strike
//   - runs in which the invariant has something to judge; for that part of the engine, nothing to judge is as
//     good, since no write is no wrong write
//   - runs that stay equal to the plan's own run longer
func (b *bench) nearest(c *why.Cause, list []change) error {
	sets := []*set{b.apart, b.joint}
	var jobs []string
	for _, says := range append([]string{c.Job + " " + c.Message}, saying(c.Path)...) {
		for _, job := range b.upTo.JobsIn(says) {
			if !slices.Contains(jobs, job) {
				jobs = append(jobs, job)
			}
		}
	}
	var best *why.Tried
	rank := func(t *why.Tried) (n int) {
		o := t.Outcome
		own := t.Means != "" && t.What != why.Strike
		o.Idle = o.Idle && !own
		if !t.Circumstance() {
			n += 10
		}
		if o.Clean() {
			n += 5
		}
		switch {
		case own:
			n += 3
		case t.What == why.Strike:
			n++
		}
		if !o.Idle {
			n++
		}
		return n
	}
	length := func(t *why.Tried) int {
		if t.PartsAt == 0 {
			return math.MaxInt
		}
		return t.PartsAt
	}
	consider := func(t *why.Tried) {
		if t.Needed && (best == nil || cmp.Or(rank(t)-rank(best), cmp.Compare(length(t), length(best))) > 0) {
			best = t
		}
	}
	for i := range c.Tried {
		consider(&c.Tried[i])
	}
	for _, s := range sets {
		if s != nil {
			consider(&s.Tried)
		}
	}
	if best == nil {
		return nil
	}
	c.Nearest = &why.Nearest{Tried: *best}
	if best.PartsAt == 0 {
		return nil
	}
	var made []change
	if i := slices.IndexFunc(sets, func(s *set) bool { return s != nil && best == &s.Tried }); i >= 0 {
		made = sets[i].made
	} else {
		made = []change{changeOf(list, best)}
	}
	changed, _ := apply(b.plan, made...)
	return b.part(c.Nearest, changed, jobs)
}

// saying lists the sentences of a path.
func saying(path []why.Point) (says []string) {
	for _, at := range path {
		says = append(says, at.Says)
	}
	return says
}

// part finds the events at which a run parts from the plan's own. If they concern no job on the path to the
// violation, they tell little. Then part also finds the first events that differ for a job on the path, the
// violation's own if it has one. It does not do so for a strike, whose own effect is told as it is.
func (b *bench) part(n *why.Nearest, changed *plans.Plan, jobs []string) error {
	own, err := b.event(b.plan, n.PartsAt)
	if err != nil {
		return err
	}
	other, err := b.event(changed, n.PartsAt)
	if err != nil {
		return err
	}
	n.Own, n.Other = pointOf(own, other, jobs...), pointOf(other, own, jobs...)
	of := func(e *sim.Event) bool { return e != nil && slices.Contains(jobs, e.Job) }
	if n.What == why.Strike || of(own) || of(other) {
		return nil
	}
	ownOf, _, err := b.eventsOf(b.plan, jobs)
	if err != nil {
		return err
	}
	otherOf, over, err := b.eventsOf(changed, jobs)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		own, other, i := ownOf[job], otherOf[job], 0
		for i < len(own) && i < len(other) && own[i].Words() == other[i].Words() && own[i].Target == other[i].Target {
			i++
		}
		switch {
		case i < len(own) && i < len(other):
			n.Then = &why.Parting{Job: job, Own: pointOf(own[i], other[i]), Other: pointOf(other[i], own[i])}
			return nil
		case i < len(own) && over:
			n.Then = &why.Parting{Job: job, Own: pointOf(own[i], nil)}
			return nil
		}
	}
	return nil
}

// event runs a plan up to the event with that number, and returns the event; nil if the run ends before.
func (b *bench) event(p *plans.Plan, number int) (*sim.Event, error) {
	k := &kept{number: number}
	if _, _, _, err := b.run(p, nil, k, number); err != nil || len(k.events) == 0 {
		return nil, err
	}
	return k.events[0], nil
}

// eventsAt returns the first event of each of these steps in the plan's own run, as far as the steps left
// suffice.
func (b *bench) eventsAt(steps []int) (list []*sim.Event, err error) {
	if len(steps) == 0 || b.steps >= b.most {
		return nil, nil
	}
	k := &kept{steps: steps}
	_, _, _, err = b.run(b.plan, nil, k, b.most-b.steps)
	return slices.CompactFunc(k.events, func(x, y *sim.Event) bool { return x.Step == y.Step }), err
}

// eventsOf returns the events of each of these jobs up to the violation, as far as the steps left suffice.
// over says that the run ended without the violation.
func (b *bench) eventsOf(p *plans.Plan, jobs []string) (of map[string][]*sim.Event, over bool, err error) {
	if b.steps >= b.most {
		return nil, false, nil
	}
	k := &kept{jobs: jobs}
	_, comes, known, err := b.run(p, nil, k, b.most-b.steps)
	of = map[string][]*sim.Event{}
	for _, e := range k.events {
		of[e.Job] = append(of[e.Job], e)
	}
	return of, known && !comes, err
}

// pointOf describes an event. If the words for the other event are the same, it adds what differs. Of many
// changes it adds one about these jobs.
func pointOf(e, other *sim.Event, jobs ...string) *why.Point {
	if e == nil {
		return nil
	}
	p := &why.Point{Step: e.Step, At: e.At, Operation: e.Phase, Says: e.Words()}
	if other == nil || other.Words() != p.Says {
		return p
	}
	for _, v := range diff.FieldsThatDiffer(e, other) {
		switch {
		case v.Key == "at": // a difference of microseconds tells little
			continue
		case v.Key == diff.Changes && e.Target != other.Target: // it follows from the targets
			continue
		case v.Key == diff.Changes:
			p.Says += differing(e, other, jobs)
			continue
		}
		if v.A != "" {
			p.Says += ", with " + v.Key + " " + why.ClipFrom(v.A, v.B)
		} else {
			p.Says += ", without " + v.Key + " " + why.ClipFrom(v.B, v.A)
		}
	}
	return p
}

// differing describes a change that one of the events makes and the other does not.
func differing(e, other *sim.Event, jobs []string) string {
	own, others := diff.OwnChanges(e, other)
	if len(own) > 0 {
		return ", with " + oneOf(own, others, jobs)
	}
	return ", without " + oneOf(others, own, jobs)
}

// oneOf picks one of many changes: the first about one of the jobs, or else the first.
func oneOf(changes, others []string, jobs []string) string {
	if len(changes) == 1 {
		return why.ClipFrom(changes[0], strings.Join(others, "; "))
	}
	one := changes[0]
	for _, job := range slices.Backward(jobs) { // the first job is the violation's own
		if i := slices.IndexFunc(changes, func(c string) bool { return names(c, job) }); i >= 0 {
			one = changes[i]
		}
	}
	return fmt.Sprintf("%d changes, one of them %s", len(changes), why.Clip(one))
}

// names says whether a text contains a job's name as a whole word.
func names(text, job string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}), job)
}
