package campaign

import (
	"context"
	"errors"
)

// hunt makes findings of the broken promises, one after the other in the order of runs. It skips what an
// earlier finding explains, so the order decides what is found.
type hunt struct {
	max      int
	grid     bool      // broken promises are the grid's data: only runs that went out of bounds are examined
	queue    []*Record // runs that broke promises and are still to be examined
	left     []string  // promises of queue[0] that are still to be examined; nil if none was
	missed   []string  // promises of queue[0] that were not examined
	findings []Finding
	known    map[broken]*Finding // examinations by an earlier process
	closed   bool                // nothing is examined any more
	over     int                 // runs that broke a promise, were not examined, and are not explained by a finding
	overBy   map[string]int      // the same, by promise; a run may have broken several
}

// broken is a promise that a run broke.
type broken struct {
	n         int
	invariant string
}

// see takes the next run.
func (h *hunt) see(r *Record) {
	if len(r.promises()) > 0 && (!h.grid || r.Contained != nil) {
		kept := *r // the queue may grow while a run is examined, so it keeps only what is needed
		kept.Reason, kept.Exercised, kept.Outside, kept.Missed, kept.Measures = "", nil, nil, nil, nil
		h.queue = append(h.queue, &kept)
	}
}

// next returns the next promise to be examined; ok is false if there is none. The finding must be passed to
// found.
func (h *hunt) next() (b broken, ok bool) {
	for ; len(h.queue) > 0; h.queue, h.left, h.missed = h.queue[1:], nil, nil {
		r := h.queue[0]
		if h.left == nil {
			h.left = r.promises()
		}
		for ; len(h.left) > 0; h.left = h.left[1:] {
			b := broken{r.N, h.left[0]}
			switch {
			case h.explained(b.invariant, r):
			case h.known[b] != nil && len(h.findings) < h.max:
				h.add(b, *h.known[b])
			case h.closed || len(h.findings) >= h.max:
				h.missed = append(h.missed, b.invariant)
			default:
				return b, true
			}
		}
		if len(h.missed) > 0 {
			h.over++
		}
		for _, invariant := range h.missed {
			if h.overBy == nil {
				h.overBy = map[string]int{}
			}
			h.overBy[invariant]++
		}
	}
	return broken{}, false
}

func (h *hunt) explained(invariant string, r *Record) bool {
	for i := range h.findings {
		if f := &h.findings[i]; f.explains(invariant, r) {
			f.Runs++
			return true
		}
	}
	return false
}

// into adds to a result what was found, and how much was not examined.
func (h *hunt) into(res *Result) {
	res.Findings = append(res.Findings, h.findings...)
	res.Unexamined, res.UnexaminedBy = h.over, h.overBy
}

// found takes the finding of the promise that next returned.
func (h *hunt) found(b broken, f Finding) {
	h.known[b] = &f
}

// examined takes the finding of an earlier process.
func (h *hunt) examined(x examined) error {
	h.found(broken{x.N, x.Invariant}, *x.Finding)
	return nil
}

// add adds a finding, or counts it if it is known.
func (h *hunt) add(b broken, f Finding) {
	name := f.Fingerprint().Name()
	for i := range h.findings {
		if old := &h.findings[i]; old.Invariant == f.Invariant && (old.Cause == f.Cause || old.Fingerprint().Name() == name) {
			old.Runs++
			return
		}
	}
	f.First, f.Runs = b.n, 1
	h.findings = append(h.findings, f)
}

// examination is the examination under way.
type examination struct {
	broken
	cancel context.CancelFunc
}

// learnt is the result of an examination.
type learnt struct {
	broken
	finding *Finding
	err     error
}

// call is a trial that an examination waits for.
type call struct {
	Assignment
	deaths int // how many workers have died at it
	reply  chan<- *Outcome
}

// believed repeats a trial once if it goes out of bounds in a way that an overloaded machine can cause. It
// does not if that bound is what is examined, since the smallest plan is run again anyway.
func believed(invariant string, run trials) trials {
	return func(ctx context.Context, t Trial) (*Outcome, error) {
		o, err := run(ctx, t)
		if err == nil && o.Contained != nil && o.Contained.What.doubtful() && string(o.Contained.What) != invariant && o.Contained.Stack != tookTooLong {
			return run(ctx, t)
		}
		return o, err
	}
}

// trialsBy makes trials through the receivers of calls. With steps, workers report how far a trial comes
// even if it ends them.
func trialsBy(calls chan<- call, steps bool) trials {
	return func(ctx context.Context, t Trial) (*Outcome, error) {
		reply := make(chan *Outcome, 1)
		select {
		case calls <- call{Assignment: Assignment{Trial: &t, Steps: steps}, reply: reply}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case o := <-reply:
			if o.Problem != "" {
				return nil, errors.New(o.Problem)
			}
			return o, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
