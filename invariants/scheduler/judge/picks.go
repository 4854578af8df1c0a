package judge

import (
	"cmp"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var noDispatchToExpiredWorker = rule.New(invariants.Invariant{
	Name:   "no-dispatch-to-expired-worker",
	Says:   "A replica does not pick a worker if it last heard of the worker longer than the worker TTL ago. It hears of a worker by a heartbeat or, at its start, from the snapshot. The dispatch may be published later, and by another process.",
	Kind:   invariants.Always,
	Source: "Stale workers, the stale detection rule; Scheduler internals, section 11",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Sent: func(s *model.Step) {
		at, picked, ok := picker(f, s)
		if at.Worker == "" || len(f.Heard) == 0 || !ok {
			return // dispatches to a topic bypass the check
		}
		t.Exercise()
		by := invariants.Process(at.Scheduler, at.Incarnation)
		known := f.Ear(at)
		switch {
		case known == nil:
			t.Violation(s.About, "%s published to %s at step %d, which %s had picked without ever having heard of %s",
				invariants.Who(s.Event), s.Target, invariants.StepNo(s.Step), by, at.Worker)
		case picked-known.At > f.Config.WorkerTTL:
			t.Violation(s.About, "%s published to %s at step %d, which %s had picked %s after the last heartbeat that it received of it; the worker TTL is %s",
				invariants.Who(s.Event), s.Target, invariants.StepNo(s.Step), by, picked-known.At, f.Config.WorkerTTL)
		}
	}}
})

var noDispatchToOverloadedWorker = rule.New(invariants.Invariant{
	Name:   "no-dispatch-to-overloaded-worker",
	Says:   "A replica does not pick a worker if the last heartbeat that it received from the worker shows an overload: 90 % of the worker's parallel jobs, its CPU or its GPU.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, overload detection",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		h, j := s.Handling, s.About
		if h == nil || !h.Scheduled || j.State != model.Dispatched || len(h.Busy) == 0 || j.Intent.Worker == "" || f.Config.StaleWorker != "fixed-retries" || j.Intent.Stored && !h.Stored {
			return // what is known may change while it waits between two picks; and it has no choice if the stream already holds a dispatch
		}
		t.Exercise()
		if slices.Contains(h.Busy, j.Intent.Worker) {
			t.Violation(j, "%s dispatched it to %s at step %d, whose last heartbeat said that it was overloaded", invariants.Who(s.Event), j.Intent.Worker, invariants.StepNo(s.Step))
		}
	}}
})

var snapshotRevivesNoWorker = rule.New(invariants.Invariant{
	Name:   "snapshot-revives-no-worker",
	Says:   "A replica that knows a worker only from the snapshot does not pick the worker if the snapshot's writer had last heard of it longer than the worker TTL ago.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 11, where lastSeen is the time of the start: an old snapshot revives the dead",
	Needs:  []string{"no-dispatch-to-expired-worker"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Sent: func(s *model.Step) {
		at, picked, ok := picker(f, s)
		known := f.Ear(at)
		if !ok || known == nil || known.Live {
			return
		}
		t.Exercise()
		f.Reach(model.WarmStarted)
		if age := picked - known.Seen; age > f.Config.WorkerTTL {
			t.Violation(s.About, "%s published to %s at step %d, which it had picked %s after anybody had heard of the worker; it knew it from the snapshot, and the worker TTL is %s",
				invariants.Who(s.Event), s.Target, invariants.StepNo(s.Step), age.Truncate(time.Millisecond), f.Config.WorkerTTL)
		}
	}}
})

var noRetryForWantOfKnownWorkers = rule.New(invariants.Invariant{
	Name:   "no-retry-for-want-of-known-workers",
	Says:   "A replica sends no job back for want of a worker while the snapshot that it could read at its start names a worker that is alive and free. A replica that knows a worker past its TTL is not judged.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 11, warm start",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Released: func(s *model.Step) {
		h := s.Handling
		if !h.Scheduled || s.About.Wish.Particular() {
			return
		}
		for _, w := range f.Ticks.Offered[invariants.Process(s.Node, s.Incarnation)] {
			age := h.Pick.At - w.Seen
			known := f.Ear(model.Hearing{Scheduler: s.Node, Incarnation: s.Incarnation, Worker: w.Worker})
			if age > f.Config.WorkerTTL-model.Doubt || w.Load.Overloaded() || w.Load.Choosy || known != nil && known.Live {
				continue // it may be gone or busy by now
			}
			t.Exercise()
			if h.FoundNobody() && !h.Full && !f.KnowsStaleWorker(s) { // otherwise its picks may have met the stale worker
				t.Violation(s.About, "%s found no worker for it by step %d, although the snapshot listed %s at its start, of which somebody had heard %s ago",
					invariants.Who(s.Event), invariants.StepNo(s.Step), w.Worker, age.Truncate(time.Millisecond))
			}
			return
		}
	}}
})

var liveWorkerIsFound = rule.New(invariants.Invariant{
	Name:   "live-worker-is-found",
	Says:   "A replica sends no job back for want of a worker while it knows a worker that is alive and free, and lists no worker past its TTL.",
	Kind:   invariants.Always,
	Source: "Stale workers, the stale detection rule: a worker counts as alive for 30 s after a heartbeat, and is evicted after that; Scheduler internals, section 5",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Released: func(s *model.Step) {
		h := s.Handling
		if len(h.Choice) == 0 || h.Full || h.Overdue || h.Renewals != 0 {
			return
		}
		t.Exercise()
		if h.FoundNobody() {
			t.Violation(s.About, "%s found no worker for it by step %d, although it knew %s, which was alive and free, and listed none past its TTL",
				invariants.Who(s.Event), invariants.StepNo(s.Step), h.Choice[0].Worker)
		}
	}}
})

var stalePreferenceIsPassedOver = rule.New(invariants.Invariant{
	Name:   "stale-preference-is-passed-over",
	Says:   "If the preferred worker of a job is past its TTL, the job is not sent back for want of a worker while another worker is alive and free, and no other worker is past its TTL.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, preferred_worker_id: direct dispatch to a specific worker if healthy",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Released: func(s *model.Step) {
		h, w := s.Handling, &s.About.Wish
		preferred := w.Labels["preferred_worker_id"]
		plain := model.Wish{Topic: w.Topic}
		if !h.Scheduled || h.Full || preferred == "" || len(w.Labels)+len(w.Requires)+len(w.Constraints) > 1 || plain.Particular() || !f.OnlyStale(s, preferred) {
			return
		}
		others := f.Alive(s)
		if len(others) == 0 {
			return
		}
		t.Exercise()
		if h.FoundNobody() {
			t.Violation(s.About, "%s found no worker for it by step %d; its preferred %s was past its TTL, but %s was alive and free",
				invariants.Who(s.Event), invariants.StepNo(s.Step), preferred, others[0].Worker)
		}
	}}
})

var tiesBrokenByWorkerID = rule.New(invariants.Invariant{
	Name:   "ties-broken-by-worker-id",
	Says:   "A job goes to the worker with the lowest load. If several workers have that load, it goes to the first of them by id.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, routing algorithm: select the worker with the lowest score; tie_break, which no document gives",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		chosen := chosenBy(s)
		if chosen == nil || len(s.Handling.Choice) < 2 {
			return
		}
		t.Exercise()
		first := slices.MinFunc(s.Handling.Choice, func(a, b model.Candidate) int {
			return cmp.Or(cmp.Compare(loadOf(&a, &f.Config), loadOf(&b, &f.Config)), cmp.Compare(a.Worker, b.Worker))
		})
		if first.Worker == chosen.Worker {
			return
		}
		why := invariants.Say("had the same load, and comes first")
		if is, least := loadOf(chosen, &f.Config), loadOf(&first, &f.Config); least < is {
			why = invariants.Say("had the load %.4g, and that one %.4g", least, is)
		}
		t.Violation(s.About, "%s dispatched it to %s at step %d; %s %s", invariants.Who(s.Event), chosen.Worker, invariants.StepNo(s.Step), first.Worker, why)
	}}
})

var dispatchesCountAsLoad = rule.New(invariants.Invariant{
	Name:     "dispatches-count-as-load",
	Says:     "If the last heartbeats of several workers say the same load, a replica dispatches to the worker to which it has given the fewest jobs since then.",
	Kind:     invariants.Always,
	OnDemand: true,
	Source:   "Scheduler internals, section 5, least-loaded: heartbeats are 10 s old at times, and a burst within them goes to one worker",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		chosen := chosenBy(s)
		if chosen == nil {
			return
		}
		fewest, alike := chosen, 0
		for i := range s.Handling.Choice {
			if other := &s.Handling.Choice[i]; other.Score == chosen.Score {
				alike++
				if other.Given < fewest.Given || other.Given == fewest.Given && fewest != chosen && other.Worker < fewest.Worker {
					fewest = other
				}
			}
		}
		if alike < 2 {
			return
		}
		t.Exercise()
		if fewest != chosen {
			t.Violation(s.About, "%s dispatched it to %s at step %d, to which it had dispatched %s since the heartbeat of that; to %s, whose heartbeat says the same load, %d",
				invariants.Who(s.Event), chosen.Worker, invariants.StepNo(s.Step), invariants.CountOf(chosen.Given, "job", "jobs"), fewest.Worker, fewest.Given)
		}
	}}
})

// picked says whether the step's handling has just written which worker it picked. It has not if the stream
// held a dispatch of the epoch before. In publish-first order that dispatch says who has the job, whatever a
// later handling chose.
func picked(s *model.Step) bool {
	h := s.Handling
	return h != nil && s.About.State == model.Dispatched && s.At-h.Pick.At <= model.Doubt && (!s.About.Intent.Stored || h.Stored) && !s.About.HandlesTwice(s.Event)
}

// chosenBy returns the candidate that the step's handling has just written; nil if it wrote something else,
// or its choice is not known.
func chosenBy(s *model.Step) *model.Candidate {
	if !picked(s) {
		return nil
	}
	for i := range s.Handling.Choice {
		if s.Handling.Choice[i].Worker == s.About.Intent.Worker {
			return &s.Handling.Choice[i]
		}
	}
	return nil
}

var staleWorkerHasItsOwnReason = rule.New(invariants.Invariant{
	Name:   "stale-worker-has-its-own-reason",
	Says:   "If every pick of a handling meets a worker past its TTL, the job is sent back for the reason stale_worker, and not for want of workers.",
	Kind:   invariants.Eventually,
	Source: "Stale workers, next step 2",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	maybe, first, last := 0, invariants.Clause{}, invariants.Clause{} // the handlings that may be meant
	return observe.Checker{Released: func(s *model.Step) {
		if h := s.Handling; h.FoundNobody() && !h.Full && f.KnowsStaleWorker(s) {
			last = invariants.Say("of %s at step %d", s.About.ID, invariants.StepNo(s.About.StateAt))
			if maybe++; maybe == 1 {
				first = last
			}
		}
	}, Ended: func(end *invariants.End) {
		if end.Metrics == nil || f.Config.StaleWorker != "fixed-retries" {
			return // a wait between two picks may end the search
		}
		exhausted := int(sum(end.Metrics, history.CounterStalePicks, "")) / f.Config.MaxDispatchRetries
		t.Exercised += exhausted
		for _, j := range f.Order {
			if j.State == model.Failed && j.Attempts >= f.Config.MaxSchedulingRetries {
				exhausted-- // its last attempt is no retry
			}
		}
		which := invariants.Clause{}
		if maybe > 0 && maybe == exhausted { // otherwise some of them found nobody for another reason
			which = invariants.Say("; the first was %s, the last %s", first, last)
		}
		if own := sum(end.Metrics, history.CounterRetries, `reason_code="`+history.ReasonStale+`"`); own < float64(exhausted-f.Count.RetriesCutShort) {
			t.Violation(nil, "%s in which every pick met a worker past its TTL, but %s counts %g retries for the reason %s%s",
				invariants.CountOf(exhausted, "handling", "handlings"), history.CounterRetries, own, history.ReasonStale, which)
		}
	}}
})

var staleWorkerIsPickedAgain = rule.New(invariants.Invariant{
	Name:   "stale-worker-is-picked-again",
	Says:   "With fixed retries, a handling picks max_dispatch_retries times if its pick meets a worker past its TTL. The number of stale picks is therefore a multiple of max_dispatch_retries, and that many picks precede each retry for the reason stale_worker. Only a replica that still lists a worker past its TTL has stale picks.",
	Kind:   invariants.Eventually,
	Source: "Stale workers, the inner dispatch loop",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(end *invariants.End) {
		if end.Metrics == nil || f.Config.StaleWorker != "fixed-retries" {
			return // a wait between two picks may end the search
		}
		each := f.Config.MaxDispatchRetries
		picks, own := int(sum(end.Metrics, history.CounterStalePicks, "")), int(sum(end.Metrics, history.CounterRetries, `reason_code="`+history.ReasonStale+`"`))
		t.Exercised += picks
		switch {
		case picks < own*each:
			t.Violation(nil, "%s for the reason %s, but %s met a worker past its TTL; each was to follow %d",
				invariants.CountOf(own, "retry", "retries"), history.ReasonStale, invariants.CountOf(picks, "pick", "picks"), each)
		case picks > f.Count.StaleMaybe*each:
			t.Violation(nil, "%s met a worker past its TTL, but only %s may have listed one, with %d picks each",
				invariants.CountOf(picks, "pick", "picks"), invariants.CountOf(f.Count.StaleMaybe, "handling", "handlings"), each)
		case picks%each != 0:
			t.Violation(nil, "%s met a worker past its TTL; each handling was to pick %d times", invariants.CountOf(picks, "pick", "picks"), each)
		}
	}}
})

// picker says which replica picked the worker that the step publishes to, and when. The publisher need not
// have picked it: it may have read another replica's intent, from the record or the outbox, and have been
// delayed until that intent is gone. ok is false if the events do not show which handling it is.
func picker(f *model.Facts, s *model.Step) (by model.Hearing, at time.Duration, ok bool) {
	p := model.Pick{Node: s.Node, Incarnation: s.Incarnation, At: s.At}
	switch {
	case s.About.HandlesTwice(s.Event):
		return by, 0, false
	case s.Handling != nil && s.Handling.Pick.Node != "":
		p = s.Handling.Pick
	case s.About.Intent.Step != 0:
		p = s.About.Intent.Pick
	}
	return model.Hearing{Scheduler: p.Node, Incarnation: p.Incarnation, Worker: history.WorkerOf(s.Target)}, p.At, p.Node != ""
}

// loadOf is the load by which candidates are compared.
func loadOf(c *model.Candidate, cfg *config.Config) float64 {
	if cfg.CountDispatches {
		return c.Score + float64(c.Given)
	}
	return c.Score
}
