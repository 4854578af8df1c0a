package exhaust

import (
	"fmt"
	"slices"
	"sync"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Certify makes a certificate of the campaign's records, which are in the order of runs. It fails if the run
// without a fault differs from the one in which the tries were listed.
func (d *Definition) Certify(records []*campaign.Record, res *campaign.Result) (*Certificate, error) {
	p, err := plans.Parse("certified", []byte(d.Plan))
	if err != nil {
		return nil, err
	}
	c := &Certificate{
		Version: CertificateVersion, Build: buildname.Of(), Name: p.Name, Preset: p.Preset, Plan: d.Plan,
		All: len(d.Tries), Complete: res.Complete && len(records) == 1+len(d.Tries), Calm: d.Calm, Digest: res.Digest,
		Pairs: d.Pairs, Unpruned: d.Unpruned, Alike: d.Alike, Beyond: d.Beyond, Own: d.Own, Reduced: d.Reduced, Lengths: d.Lengths, Phases: d.Phases, Apart: d.Apart, Aside: d.Aside, Kinds: d.columns(), Sites: d.Sites,
		Counts: map[Outcome]int{}, Tries: []Tried{}, Releases: []Release{},
	}
	for i := range d.Firsts {
		t := d.tried(&d.Firsts[i], c.Kinds)
		c.Firsts = append(c.Firsts, First{t.Site, t.Kind, t.Fault})
	}
	last := len(p.Faults) // the index of a try's last fault
	if d.Pairs {
		last++
	}
	for _, r := range records {
		if r.N == 0 {
			if r.Contained != nil {
				return nil, fmt.Errorf("the run without a fault went out of bounds (%s), so runs with faults would show nothing", r.Contained.What)
			}
			if r.Digest != d.Calm {
				return nil, fmt.Errorf("the run without a fault has the digest %s, but had %s when the operations were listed: the plan is not deterministic", r.Digest, d.Calm)
			}
			c.Baseline = baselineOf(r)
			continue
		}
		outside := c.besides(r.Outside)
		t := d.tried(&d.Tries[r.N-1], c.Kinds)
		t.Digest, t.Unjudged = r.Digest, r.Unjudged
		t.Outcome, t.Invariants = outcomeOf(r, outside, last)
		c.Counts[t.Outcome]++
		if t.Outcome == Outside {
			for _, o := range outside {
				c.release(o)
			}
		}
		c.Tries = append(c.Tries, t)
	}
	c.Unjudged = unjudged(c.Tries)
	slices.SortStableFunc(c.Releases, func(a, b Release) int { return b.Tries - a.Tries })
	return c, nil
}

// baselineOf lists what the plan breaks outside promises by itself, given the record of its run.
func baselineOf(r *campaign.Record) (list []Break) {
	for _, o := range r.Outside {
		list = append(list, Break{o, cellsOf(o)})
	}
	return list
}

// besides lists what was broken beyond the baseline. An invariant broken for another job is beyond it, and so
// is one that the plan's own strikes no longer release.
func (c *Certificate) besides(list []campaign.Outside) []campaign.Outside {
	return slices.DeleteFunc(slices.Clone(list), func(o campaign.Outside) bool {
		return slices.ContainsFunc(c.Baseline, func(b Break) bool {
			return b.Invariant == o.Invariant && (b.InGap || !o.InGap) && among(b.Released, o.Released) && among(o.Jobs, b.Jobs)
		})
	})
}

// among says whether others contains all of some.
func among(some, others []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
}

func sameOutside(a, b campaign.Outside) bool {
	return a.Invariant == b.Invariant && slices.Equal(a.Released, b.Released) && slices.Equal(a.Jobs, b.Jobs)
}

// tried describes a try before it is made.
func (d *Definition) tried(t *Try, kinds []string) Tried {
	return Tried{First: t.First + 1, Site: t.Site, Kind: slices.Index(kinds, kindOf(&t.Fault)), Fault: t.Fault.String()}
}

// outcomeOf is the outcome of a run. last is the index of the fault that was added last.
func outcomeOf(r *campaign.Record, outside []campaign.Outside, last int) (is Outcome, invariants []string) {
	switch {
	case r.Contained != nil:
		return OutOfBounds, []string{string(r.Contained.What)}
	case len(r.Broken) > 0:
		for _, b := range r.Broken {
			invariants = append(invariants, b.Invariant)
		}
		return Broken, invariants
	case r.Verdict == scenarios.Inconclusive: // the Eventually invariants were not judged
		return Inconclusive, nil
	case len(outside) > 0:
		for _, o := range outside {
			invariants = append(invariants, o.Invariant)
		}
		return Outside, invariants
	case slices.Contains(r.Missed, last):
		return Missed, nil
	}
	return Held, nil
}

// release counts the cells by which the next try to be added broke an invariant outside its promise.
func (c *Certificate) release(o campaign.Outside) {
	for _, cell := range cellsOf(o) {
		i := slices.IndexFunc(c.Releases, func(r Release) bool {
			return r.Invariant == o.Invariant && r.Cell.Strike == cell.Strike && r.Cell.Status == cell.Status
		})
		if i < 0 {
			i = len(c.Releases)
			c.Releases = append(c.Releases, Release{Invariant: o.Invariant, Cell: cell, First: len(c.Tries)})
		}
		c.Releases[i].Tries++
	}
}

// cellsOf lists the cells of the promise matrix that release what was broken.
func cellsOf(o campaign.Outside) (cells []invariants.Cell) {
	i := slices.IndexFunc(promises(), func(p invariants.Promise) bool { return p.Invariant == o.Invariant })
	if i < 0 {
		return nil
	}
	p := promises()[i]
	if o.Unprovided { // whatever struck
		return []invariants.Cell{{Status: notProvided, With: p.Takes}}
	}
	for _, cell := range p.Cells {
		if slices.Contains(o.Released, cell.Strike) {
			cells = append(cells, cell)
		}
	}
	if o.InGap && p.Open != nil {
		cells = append(cells, *p.Open)
	}
	return cells
}

var promises = sync.OnceValue(judge.Promises)
