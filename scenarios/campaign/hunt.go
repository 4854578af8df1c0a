package campaign

import (
	"context"
	"errors"
)

// hunt makes findings of the promises that were broken, one after the other in the order of runs:
// what a finding explains is not looked at again, so that the order decides what is found.
type hunt struct {
	max      int
	grid     bool      // whose broken promises are its data: only runs that went out of bounds are looked at
	queue    []*Record // runs that broke promises, still to be looked at
	left     []string  // promises of queue[0] not looked at yet; nil: none was
	missed   []string  // promises of queue[0] that were not examined
	findings []Finding
	known    map[broken]*Finding // what an earlier process has examined
	closed   bool                // nothing is examined any more
	over     int                 // runs that broke a promise, were not examined, and are explained by no finding
	overBy   map[string]int      // the same by promise: a run may have broken several
}

// broken is a promise that a run broke.
type broken struct {
	n         int
	invariant string
}

// see takes the run after those it has seen.
func (h *hunt) see(r *Record) {
	if len(r.promises()) > 0 && (!h.grid || r.Contained != nil) {
		kept := *r // without what nobody asks of it here: the queue may grow while a run is examined
		kept.Reason, kept.Exercised, kept.Outside, kept.Missed, kept.Measures = "", nil, nil, nil, nil
		h.queue = append(h.queue, &kept)
	}
}

// next is the promise that must be examined before anything else can be said; ok is false if there
// is none. Its finding goes to found.
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

// into enters in a result what was found, and how much was not looked into.
func (h *hunt) into(res *Result) {
	res.Findings = append(res.Findings, h.findings...)
	res.Unexamined, res.UnexaminedBy = h.over, h.overBy
}

// found is given the finding of the promise that next has asked for.
func (h *hunt) found(b broken, f Finding) {
	h.known[b] = &f
}

// examined takes what an earlier process has found.
func (h *hunt) examined(x examined) error {
	h.found(broken{x.N, x.Invariant}, *x.Finding)
	return nil
}

// add enters what was found, or counts it if it is a finding already.
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

// examination is the one that is under way.
type examination struct {
	broken
	cancel context.CancelFunc
}

// learnt is the end of an examination.
type learnt struct {
	broken
	finding *Finding
	err     error
}

// call is a trial that an examination waits for.
type call struct {
	Assignment
	deaths int // of workers, at it
	reply  chan<- *Outcome
}

// believed has a trial run once more that goes out of bounds as an overloaded machine may make it, unless
// that is what is examined: then the smallest plan is run again anyway.
func believed(invariant string, run trials) trials {
	return func(ctx context.Context, t Trial) (*Outcome, error) {
		o, err := run(ctx, t)
		if err == nil && o.Contained != nil && o.Contained.What.doubtful() && string(o.Contained.What) != invariant && o.Contained.Stack != tookTooLong {
			return run(ctx, t)
		}
		return o, err
	}
}

// trialsBy lets an examination have its trials from whoever takes calls. With steps, workers say how
// far a trial comes even if it takes them down.
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
