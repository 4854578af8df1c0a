package invariants

import "time"

var noDispatchToExpiredWorker = checking(Invariant{
	Name:   "no-dispatch-to-expired-worker",
	Says:   "No dispatch is published to a worker of which the replica that picked it had then last heard longer than the worker TTL ago: by a heartbeat, or at its start from the snapshot. Who publishes it, and when, is no matter.",
	Kind:   Always,
	Source: "Stale workers, the stale detection rule; Scheduler internals, section 11",
}, func(f *facts, t *tally) checker {
	return checker{sent: func(s *step) {
		at, picked, ok := f.picker(s)
		if at.worker == "" || len(f.heard) == 0 || !ok {
			return // a topic bypasses the check
		}
		t.exercise()
		by := Process(at.scheduler, at.incarnation)
		known, ok := f.heard[at]
		switch {
		case !ok:
			t.violated(s.job, "%s published to %s at step %d, which %s had picked without ever having heard of %s",
				Who(s.Event), s.Target, s.Step, by, at.worker)
		case picked-known.at > f.cfg.WorkerTTL:
			t.violated(s.job, "%s published to %s at step %d, which %s had picked %s after the last heartbeat that it received of it; the worker TTL is %s",
				Who(s.Event), s.Target, s.Step, by, picked-known.at, f.cfg.WorkerTTL)
		}
	}}
})

var snapshotRevivesNoWorker = checking(Invariant{
	Name:   "snapshot-revives-no-worker",
	Says:   "A replica that knows a worker from the snapshot only does not pick it once the worker was last heard of, by the snapshot's writer, longer than the worker TTL ago.",
	Kind:   Always,
	Source: "Scheduler internals, section 11, where lastSeen is the time of the start: an old snapshot revives the dead",
	Needs:  []string{"no-dispatch-to-expired-worker"},
}, func(f *facts, t *tally) checker {
	return checker{sent: func(s *step) {
		at, picked, ok := f.picker(s)
		known, heard := f.heard[at]
		if !ok || !heard || known.live {
			return
		}
		t.exercise()
		f.reach(warmStarted)
		if age := picked - known.seen; age > f.cfg.WorkerTTL {
			t.violated(s.job, "%s published to %s at step %d, which it had picked %s after anybody had heard of the worker; it knew it from the snapshot, and the worker TTL is %s",
				Who(s.Event), s.Target, s.Step, age.Truncate(time.Millisecond), f.cfg.WorkerTTL)
		}
	}}
})

var noRetryForWantOfKnownWorkers = checking(Invariant{
	Name:   "no-retry-for-want-of-known-workers",
	Says:   "A replica sends no job back for want of a worker while the snapshot that it could read at its start has one that is alive and free.",
	Kind:   Always,
	Source: "Scheduler internals, section 11, warm start",
}, func(f *facts, t *tally) checker {
	return checker{released: func(s *step) {
		h := s.h
		if !h.scheduled || s.job.wish.particular() {
			return
		}
		for _, w := range f.ticks.offered[Process(s.Node, s.Incarnation)] {
			age := h.pick.at - w.seen
			known, ok := f.heard[hearing{s.Node, s.Incarnation, w.worker}]
			if age > f.cfg.WorkerTTL-doubt || w.load.overloaded() || w.load.choosy || ok && known.live {
				continue // by now it may be gone, or busy
			}
			t.exercise()
			if h.foundNobody() && !h.full {
				t.violated(s.job, "%s found no worker for it by step %d, although the snapshot listed %s at its start, of which somebody had heard %s ago",
					Who(s.Event), s.Step, w.worker, age.Truncate(time.Millisecond))
			}
			return
		}
	}}
})

// foundNobody says whether the handling scheduled the job and went no further, without an error.
func (h *handling) foundNobody() bool {
	return h.scheduled && !h.intended && !h.published && !h.storeFailed && !h.failed
}

var tiesBrokenByWorkerID = checking(Invariant{
	Name:   "ties-broken-by-worker-id",
	Says:   "Of several workers with the same, lowest load a job goes to the first by its id.",
	Kind:   Always,
	Source: "Scheduler internals, section 5, least-loaded: the same input dispatches alike on each run",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, _ *write) {
		chosen := s.chosen()
		if chosen == nil {
			return
		}
		lowest := chosen.load(&f.cfg)
		first, ties := chosen, 0
		for i := range s.h.choice {
			switch other := &s.h.choice[i]; {
			case other.load(&f.cfg) < lowest:
				return // the load decides
			case other.load(&f.cfg) == lowest:
				ties++
				if other.worker < first.worker {
					first = other
				}
			}
		}
		if ties < 2 {
			return
		}
		t.exercise()
		if first != chosen {
			t.violated(s.job, "%s dispatched it to %s at step %d; %s had the same load, and comes first", Who(s.Event), chosen.worker, s.Step, first.worker)
		}
	}}
})

var dispatchesCountAsLoad = checking(Invariant{
	Name:     "dispatches-count-as-load",
	Says:     "Of workers whose last heartbeats say the same load, a replica dispatches to one that it has given the fewest jobs since.",
	Kind:     Always,
	OnDemand: true,
	Source:   "Scheduler internals, section 5, least-loaded: heartbeats are 10 s old at times, and a burst within them goes to one worker",
}, func(_ *facts, t *tally) checker {
	return checker{wrote: func(s *step, _ *write) {
		chosen := s.chosen()
		if chosen == nil {
			return
		}
		fewest, alike := chosen, 0
		for i := range s.h.choice {
			if other := &s.h.choice[i]; other.score == chosen.score {
				alike++
				if other.given < fewest.given || other.given == fewest.given && fewest != chosen && other.worker < fewest.worker {
					fewest = other
				}
			}
		}
		if alike < 2 {
			return
		}
		t.exercise()
		if fewest != chosen {
			t.violated(s.job, "%s dispatched it to %s at step %d, to which it had dispatched %s since the heartbeat of that; to %s, whose heartbeat says the same load, %d",
				Who(s.Event), chosen.worker, s.Step, CountOf(chosen.given, "job", "jobs"), fewest.worker, fewest.given)
		}
	}}
})

// chosen is the candidate that the step's handling has just written down; nil if it wrote something else, or
// there is no telling what it had to choose from, or the stream held a dispatch of the epoch before: in
// publish-first order that says who has the job, whatever a later handling chose.
func (s *step) chosen() *candidate {
	if s.h == nil || s.job.state != dispatched || s.At-s.h.pick.at > doubt || s.job.intent.stored && !s.h.stored {
		return nil
	}
	for i := range s.h.choice {
		if s.h.choice[i].worker == s.job.intent.worker {
			return &s.h.choice[i]
		}
	}
	return nil
}

// counterRetries counts what went back for a later retry, counterStalePicks the picks that met a worker
// past its TTL.
const (
	counterRetries    = "scheduler_retry_total"
	counterStalePicks = "scheduler_stale_worker_retry_total"
)

var staleWorkerHasItsOwnReason = checking(Invariant{
	Name:   "stale-worker-has-its-own-reason",
	Says:   "A job that goes back since every pick met a worker past its TTL does so for the reason stale_worker, and not for want of workers.",
	Kind:   Eventually,
	Source: "Stale workers, next step 2",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	return checker{ended: func(end *End) {
		if end.Metrics == nil || f.cfg.StaleWorker != "fixed-retries" {
			return // a wait between two picks may end the matter
		}
		exhausted := int(sum(end.Metrics, counterStalePicks, "")) / f.cfg.MaxDispatchRetries
		t.Exercised += exhausted
		if own := sum(end.Metrics, counterRetries, `reason_code="`+reasonStale+`"`); own < float64(exhausted) {
			t.violated(nil, "%s in which every pick met a worker past its TTL, but %s counts %g retries for the reason %s",
				CountOf(exhausted, "handling", "handlings"), counterRetries, own, reasonStale)
		}
	}}
})
