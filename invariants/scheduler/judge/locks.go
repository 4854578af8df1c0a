package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

var lockReleasedByOwnerOrExpiry = rule.New(invariants.Invariant{
	Name:   "lock-released-by-owner-or-expiry",
	Says:   "Only the process that took a job's lock releases or renews it. Otherwise the lock ends only by expiry.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, job lock TTL renewal: if GET key == token",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Locked: func(s *model.Step, c *model.LockChange) {
		was := c.Was
		if !was.Live(s.At) {
			return
		}
		if c.Gone || c.Extended {
			t.Exercise()
		}
		own := was.Node == s.Node && was.Incarnation == s.Incarnation
		expiring := was.Expires != 0 && s.At >= was.Expires-model.Slack
		switch {
		case expiring:
		case c.Taken:
			t.Violation(s.About, "%s took the lock at step %d over that of %s, who had held it since step %d with %s to go",
				invariants.Who(s.Event), invariants.StepNo(s.Step), invariants.Process(was.Node, was.Incarnation), invariants.StepNo(was.Step), was.Expires-s.At)
		case own:
		case c.Gone:
			t.Violation(s.About, "%s deleted the lock at step %d that %s had held since step %d, %s before its expiry",
				invariants.Who(s.Event), invariants.StepNo(s.Step), invariants.Process(was.Node, was.Incarnation), invariants.StepNo(was.Step), was.Expires-s.At)
		case c.Extended:
			t.Violation(s.About, "%s renewed the lock at step %d that %s had held since step %d",
				invariants.Who(s.Event), invariants.StepNo(s.Step), invariants.Process(was.Node, was.Incarnation), invariants.StepNo(was.Step))
		}
	}}
})

var lockMutualExclusion = rule.New(invariants.Invariant{
	Name:   "lock-mutual-exclusion",
	Says:   "Only the process that holds a job's lock writes the job's state, or stores a void in place of its dispatch. Without epochs, only that process dispatches the job.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: per-job mutex for state transitions",
	Needs:  []string{"lock-released-by-owner-or-expiry"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	judge := func(s *model.Step, what string) {
		if s.Phase == "submit_write" || s.Phase == "dlq_update" {
			return // a submission creates the record, which nobody else knows yet
		}
		t.Exercise()
		l := &s.About.Lock
		switch {
		case l.HeldBy(s.Event):
		case !l.Live(s.At):
			t.Violation(s.About, "%s %s at step %d without the job's lock, which nobody held", invariants.Who(s.Event), what, invariants.StepNo(s.Step))
		default:
			t.Violation(s.About, "%s %s at step %d while %s held the job's lock (since step %d)",
				invariants.Who(s.Event), what, invariants.StepNo(s.Step), invariants.Process(l.Node, l.Incarnation), invariants.StepNo(l.Step))
		}
	}
	hooks := observe.Checker{Wrote: func(s *model.Step, _ *model.Write) { judge(s, "wrote the state") }}
	if !f.Config.Epochs { // with epochs, the stream itself rejects a second dispatch, whoever holds the lock
		hooks.Stored = func(s *model.Step, _ *model.Dispatch) { judge(s, "dispatched") }
	}
	hooks.Voided = func(s *model.Step) {
		if s.Kind == sim.KindLate || s.Handling != nil && s.At < s.Handling.Expires+f.Config.PublishTimeout && !s.About.Lock.HeldBy(s.Event) {
			return // it was sent before its sender's lock ran out
		}
		judge(s, "voided its dispatch")
	}
	return hooks
})

var lockKeptByLivingHolder = rule.New(invariants.Invariant{
	Name:   "lock-kept-by-living-holder",
	Says:   "A job's lock does not expire while its handler lives. The handler renews the lock for as long as the handling takes, and then releases it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, job lock TTL renewal",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	lapses := func(j *model.Job, at time.Duration) {
		for h := j.Lapsed(at); h != nil; h = j.Lapsed(at) {
			t.Violation(j, "the lock that %s took at step %d ran out: it was neither renewed any more nor given back, although its holder lives",
				invariants.Process(h.Node, h.Incarnation), invariants.StepNo(h.Lock))
		}
	}
	return observe.Checker{
		Locked: func(s *model.Step, c *model.LockChange) {
			if c.Extended {
				t.Exercise()
			}
			if c.Taken {
				lapses(s.About, s.At)
			}
		},
		Ended: func(end *invariants.End) {
			for _, j := range f.Order {
				lapses(j, end.At)
			}
		},
		Overdue: func(s *model.Step) {
			when := "as"
			if late := (s.At - s.Handling.Expires).Round(time.Millisecond); late > 0 {
				when = late.String() + " after"
			}
			t.Violation(s.About, "%s was still handling it at step %d (%s), %s the lock that it had taken ran out", invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, when)
		},
	}
})

var lockRenewedByThirds = rule.New(invariants.Invariant{
	Name:   "lock-renewed-by-thirds",
	Says:   "While a job is handled, its handler renews the job's lock every third of the lock's TTL, no later and no more often. After max_renewal_failures failed renewals in a row, it renews the lock no more.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, job lock TTL renewal, and section 7, maxRenewalFailures",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	third, most := f.Config.JobLockTTL/3, f.Config.MaxRenewalFailures
	late := func(s *model.Step, what string) {
		if h := s.Handling; h.Renewals < most && h.Unrenewed > third+f.Config.StoreOpTimeout+model.Doubt {
			t.Violation(s.About, "%s %s at step %d, %s after it had taken or renewed it; a third of its TTL is %s, and %s had failed in a row",
				invariants.Who(s.Event), what, invariants.StepNo(s.Step), h.Unrenewed, third, invariants.CountOf(h.Renewals, "renewal", "renewals"))
		}
	}
	return observe.Checker{
		Renews: func(s *model.Step) {
			h := s.Handling
			if s.About.Mixed {
				return
			}
			t.Exercise()
			late(s, "renewed the lock")
			switch {
			case h.Renewals >= most:
				t.Violation(s.About, "%s renewed the lock at step %d, although %s had failed in a row; it was to give up after %d",
					invariants.Who(s.Event), invariants.StepNo(s.Step), invariants.CountOf(h.Renewals, "renewal", "renewals"), most)
			case s.At < h.Taken+time.Duration(h.Renewed)*third-model.Slack:
				t.Violation(s.About, "%s renewed the lock for the %d. time at step %d, %s after it had taken it; a third of its TTL is %s",
					invariants.Who(s.Event), h.Renewed, invariants.StepNo(s.Step), s.At-h.Taken, third)
			}
		},
		Released: func(s *model.Step) {
			if !s.About.Mixed {
				late(s, "began to give the lock back")
			}
		},
	}
})

var noLockOutlivesItsHolder = rule.New(invariants.Invariant{
	Name:   "no-lock-outlives-its-holder",
	Says:   "If the holder of a lock has crashed or failed to release it, the lock is gone one TTL later, or one TTL after a renewal that was then on its way. No process takes or renews a lock for longer than its TTL. No process takes or renews the lock of a job, a run or a rollback for shorter. The locks are those of a job, a run, the rollback of a saga, the reconcilers, the replayers, the poller of delays and the writer of the snapshot.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 8: the lock is allowed to expire",
	Needs:  []string{"events-agree-with-servers", "lock-released-by-owner-or-expiry"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	lasts := func(s *model.Step, j *model.Job, what string, expires, ttl time.Duration, ticks bool) {
		t.Exercise()
		switch {
		case expires == 0:
			t.Violation(j, "the lock of %s that %s took at step %d has no expiry", what, invariants.Process(s.Node, s.Incarnation), invariants.StepNo(s.Step))
		case expires > s.At+ttl+model.Slack:
			t.Violation(j, "the lock of %s that %s took at step %d lasts %s, longer than its TTL of %s", what, invariants.Process(s.Node, s.Incarnation), invariants.StepNo(s.Step), expires-s.At, ttl)
		case expires < s.At+ttl-model.Slack && !ticks:
			t.Violation(j, "the lock of %s that %s took at step %d lasts %s, shorter than its TTL of %s", what, invariants.Process(s.Node, s.Incarnation), invariants.StepNo(s.Step), expires-s.At, ttl)
		}
	}
	return observe.Checker{
		RunLocked: func(s *model.Step, r *model.WorkflowRun) {
			lasts(s, &r.As, "the run", r.Lock.Expires, f.Config.Workflow.RunLockTTL, false)
		},
		SagaLocked: func(s *model.Step, g *model.Saga, _ model.Lock) {
			if g.Lock.Node != "" && !s.Rewinds() {
				lasts(s, nil, "the saga "+g.ID, g.Lock.Expires, f.Config.Saga.LockTTL, false)
			}
		},
		Locked: func(s *model.Step, c *model.LockChange) {
			l := &s.About.Lock
			if !c.Gone {
				lasts(s, s.About, "the job", l.Expires, f.Config.JobLockTTL, false)
			}
			if c.Extended && l.Abandoned != 0 && (l.Expires == 0 || l.Expires > l.Abandoned+f.Config.JobLockTTL+model.Slack) {
				t.Violation(s.About, "the lock was renewed at step %d although its holder, %s, was gone for %s",
					invariants.StepNo(s.Step), invariants.Process(l.Node, l.Incarnation), s.At-l.Abandoned)
			}
		},
		Ticked: func(s *model.Step, k *model.Tick) {
			if !k.Begins {
				return
			}
			ttl := 2 * f.Poll(k)
			if k == &f.Ticks.Writer {
				ttl = f.Config.SnapshotLockTTL
			}
			lasts(s, nil, "the "+k.What, k.Expires, ttl, true) // a tick may begin under the lock of the previous one
		},
		Audited: func(end *invariants.End) {
			auditLocks(t, end, map[string]time.Duration{
				history.LockPrefix: f.Config.JobLockTTL, history.ReconcilerKey: 2 * f.Config.PollInterval, history.ReplayerKey: 2 * f.Config.PollInterval, history.WriterKey: f.Config.SnapshotLockTTL,
			})
		},
		Ended: func(end *invariants.End) {
			t.Exercised += f.Reached[model.LockLeft] + f.Count.LockLeft
			for _, j := range f.Order {
				l := &j.Lock
				if _, there := end.Redis[history.LockPrefix+j.ID]; !there {
					continue
				}
				switch {
				case l.Abandoned != 0 && end.At-l.Abandoned > f.Config.JobLockTTL+model.Slack:
					t.Violation(j, "the lock that %s took at step %d is still there, %s after its holder was gone",
						invariants.Process(l.Node, l.Incarnation), invariants.StepNo(l.Step), end.At-l.Abandoned)
				case l.Expires == 0:
					t.Violation(j, "the lock that %s took at step %d has no expiry", invariants.Process(l.Node, l.Incarnation), invariants.StepNo(l.Step))
				}
			}
		},
	}
})
