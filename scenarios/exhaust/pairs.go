package exhaust

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// second is a moment after a first fault has struck.
type second struct {
	moment
	first    int // its index among the first faults
	distance int // how many operations lie between the two faults
}

// pair makes pairs of the definition's tries. Each try is a first fault, and is followed by every fault at
// every later operation of its run, including operations that it brings about. The closest pairs come first.
// A second fault is left out if it has struck the same before, alone or in another pair; see [found].
func (d *Definition) pair(ctx context.Context, p *plans.Plan, calm []moment) error {
	seconds, err := d.seconds(ctx, p.Concerned())
	if err != nil {
		return err
	}
	d.Firsts, d.Tries = d.Tries, nil
	places, phases, found := map[faults.Match]int{}, phasesOf(p), found{}
	for i := range d.Sites {
		places[*d.Sites[i].match()] = i
	}
	for i := range calm {
		found.meet(&calm[i])
	}
	for i := range seconds {
		s := &seconds[i]
		strikes := d.strikesAt(p, phases[s.Phase], &s.moment)
		if !d.Unpruned {
			strikes = d.fresh(found, &s.moment, strikes)
		}
		if len(strikes) == 0 {
			continue
		}
		place, there := places[*s.match()]
		if !there {
			place = len(d.Sites)
			places[*s.match()], d.Sites = place, append(d.Sites, s.Site)
		}
		for _, f := range strikes {
			d.Tries = append(d.Tries, Try{s.first, place, f})
		}
	}
	return nil
}

// seconds runs each try, unless its result was kept, and lists the moments after its fault, the closest
// first.
func (d *Definition) seconds(ctx context.Context, about []int) (list []second, err error) {
	var runs *Kept
	if d.Keep != nil {
		if runs, err = d.Keep(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, runs.Close()) }()
	}
	for n := range d.Tries {
		if d.Progress != nil {
			d.Progress(n, len(d.Tries))
		}
		l, err := runs.listed(n, func() (listed, error) {
			plan, err := d.PlanOf(n)
			if err != nil {
				return listed{}, err
			}
			l, err := d.listedBy(ctx, plan)
			d.wanted(&l, about)
			return l, err
		})
		if err != nil {
			return nil, err
		}
		if l.Beyond {
			d.Beyond++
		}
		d.Apart += l.Apart
		d.Aside += l.Aside
		for i, m := range l.Moments {
			list = append(list, second{m, n, i})
		}
	}
	slices.SortStableFunc(list, func(a, b second) int { return cmp.Compare(a.distance, b.distance) })
	return list, nil
}

// listedBy lists the moments of the plan's run after its last fault, in another process if there is one for
// it.
func (d *Definition) listedBy(ctx context.Context, plan *plans.Plan) (l listed, err error) {
	if d.Lists == nil {
		l, _, err = d.momentsOf(ctx, plan, true)
		return l, err
	}
	text, err := plans.Marshal(plan)
	if err != nil {
		return l, err
	}
	return d.Lists(ctx, string(text))
}

// found has the moments at which faults have been tried. For pairs it includes those of the run without a
// fault, where single faults strike. Two moments are the same to a fault if they look the same, whatever the
// time. To an effect on an operation, that means the same operation, and equal knowledge of its job and of
// what belongs to no job. To a fault on a node or a server, it means the same operation before it, and equal
// knowledge of everything. This prunes first faults that had no effect, and the many polls of a long wait.
//
// The strikes so far at the earlier moment must also be among those at the later one. Otherwise a violation
// that they excused at the earlier moment might not be excused at the later one.
type found map[foundAt][][]invariants.Kinds

// foundAt identifies an operation by its phase, job and node, and by what is known there.
type foundAt struct {
	effect   bool // for an effect on the operation; other faults strike after it
	own      bool // see moment
	phase    string
	job      int
	node     string
	likeness uint64
}

// fresh returns the strikes to which the moment looks like no earlier one, and counts the others.
func (d *Definition) fresh(l found, m *moment, strikes []faults.Fault) []faults.Fault {
	all := len(strikes)
	effect, after := l.meet(m)
	strikes = slices.DeleteFunc(strikes, func(f faults.Fault) bool { return f.On != nil && effect || f.On == nil && after })
	d.Alike += all - len(strikes)
	return strikes
}

// meet notes a moment. It says whether an earlier one looks the same to effects, and to faults after the
// operation.
func (l found) meet(m *moment) (effect, after bool) {
	of := m.OfAll
	if m.Job > 0 {
		of = m.OfJob
	}
	return l.note(m, true, of), l.note(m, false, m.OfAll)
}

func (l found) note(m *moment, effect bool, is standing) (before bool) {
	at := foundAt{effect, m.Own, m.Phase, m.Job, m.Node, is.Likeness}
	if before = slices.ContainsFunc(l[at], func(was []invariants.Kinds) bool { return within(was, is.Struck) }); !before {
		l[at] = append(l[at], is.Struck)
	}
	return before
}

// within says whether others has all strikes of some, job by job.
func within(some, others []invariants.Kinds) bool {
	for i := range some {
		if some[i]&^others[i] != 0 {
			return false
		}
	}
	return true
}
