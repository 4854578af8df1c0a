package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

var lockReleasedByOwnerOrExpiry = checking(invariants.Invariant{
	Name:   "lock-released-by-owner-or-expiry",
	Says:   "A job's lock is released and renewed only by the process that took it; from anybody else's hands it goes only by expiry.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, job lock TTL renewal: if GET key == token",
}, func(_ *facts, t *tally) checker {
	return checker{locked: func(s *step, c *lockChange) {
		was := c.was
		if !was.live(s.At) {
			return
		}
		if c.gone || c.extended {
			t.exercise()
		}
		own := was.node == s.Node && was.incarnation == s.Incarnation
		expiring := was.expires != 0 && s.At >= was.expires-slack
		switch {
		case expiring:
		case c.taken:
			t.violated(s.about, "%s took the lock at step %d over that of %s, who had held it since step %d with %s to go",
				invariants.Who(s.Event), s.Step, invariants.Process(was.node, was.incarnation), was.step, was.expires-s.At)
		case own:
		case c.gone:
			t.violated(s.about, "%s deleted the lock at step %d that %s had held since step %d, %s before its expiry",
				invariants.Who(s.Event), s.Step, invariants.Process(was.node, was.incarnation), was.step, was.expires-s.At)
		case c.extended:
			t.violated(s.about, "%s renewed the lock at step %d that %s had held since step %d",
				invariants.Who(s.Event), s.Step, invariants.Process(was.node, was.incarnation), was.step)
		}
	}}
})

var lockMutualExclusion = checking(invariants.Invariant{
	Name:   "lock-mutual-exclusion",
	Says:   "Only the process that holds a job's lock writes the job's state, takes its dispatch's place with a void or, without epochs, dispatches it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: per-job mutex for state transitions",
	Needs:  []string{"lock-released-by-owner-or-expiry"},
}, func(f *facts, t *tally) checker {
	judge := func(s *step, what string) {
		if s.Phase == "submit_write" || s.Phase == "dlq_update" {
			return // a submission creates the record, which nobody else knows of yet
		}
		t.exercise()
		l := &s.about.lock
		switch {
		case l.heldBy(s.Event):
		case !l.live(s.At):
			t.violated(s.about, "%s %s at step %d without the job's lock, which nobody held", invariants.Who(s.Event), what, s.Step)
		default:
			t.violated(s.about, "%s %s at step %d while %s held the job's lock (since step %d)",
				invariants.Who(s.Event), what, s.Step, invariants.Process(l.node, l.incarnation), l.step)
		}
	}
	hooks := checker{wrote: func(s *step, _ *write) { judge(s, "wrote the state") }}
	if !f.config.Epochs { // else the stream itself keeps a second dispatch out, whoever holds the lock
		hooks.stored = func(s *step, _ *dispatch) { judge(s, "dispatched") }
	}
	hooks.voided = func(s *step) {
		if f.strikes.run&history.StrikesOf(history.ClockWrong) != 0 {
			return // by its sender's clock its lock may not have run out
		}
		if s.Kind == sim.KindLate || s.handling != nil && s.At < s.handling.expires+f.config.PublishTimeout && !s.about.lock.heldBy(s.Event) {
			return // it had set out before its sender's lock ran out
		}
		judge(s, "voided its dispatch")
	}
	return hooks
})

var lockKeptByLivingHolder = checking(invariants.Invariant{
	Name:   "lock-kept-by-living-holder",
	Says:   "A job's lock does not run out under a handler that lives: it is renewed for as long as the handling takes.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, job lock TTL renewal",
}, func(_ *facts, t *tally) checker {
	return checker{
		locked: func(_ *step, c *lockChange) {
			if c.extended {
				t.exercise()
			}
		},
		overdue: func(s *step) {
			t.violated(s.about, "%s was still handling it at step %d (%s), %s after the lock that it had taken ran out",
				invariants.Who(s.Event), s.Step, s.Phase, (s.At - s.handling.expires).Round(time.Millisecond))
		},
	}
})

var noLockOutlivesItsHolder = checking(invariants.Invariant{
	Name:   "no-lock-outlives-its-holder",
	Says:   "A lock whose holder has crashed or failed to release it is gone one TTL later, or after a renewal that was on its way by then: a job's, the reconciler's, the replayer's and that of the snapshot's writer.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 8: the lock is allowed to expire",
	Needs:  []string{"events-agree-with-servers", "lock-released-by-owner-or-expiry"},
}, func(f *facts, t *tally) checker {
	return checker{
		locked: func(s *step, c *lockChange) {
			l := &s.about.lock
			if c.extended && l.abandoned != 0 && (l.expires == 0 || l.expires > l.abandoned+f.config.JobLockTTL+slack) {
				t.violated(s.about, "the lock was renewed at step %d although its holder, %s, was gone for %s",
					s.Step, invariants.Process(l.node, l.incarnation), s.At-l.abandoned)
			}
		},
		ticked: func(s *step, k *tick) {
			if !k.begins {
				return
			}
			t.exercise()
			ttl := 2 * f.config.PollInterval
			if k == &f.ticks.writer {
				ttl = f.config.SnapshotLockTTL
			}
			switch {
			case k.expires == 0:
				t.violated(nil, "the lock of the %s that %s took at step %d has no expiry", k.what, k.by, s.Step)
			case k.expires > s.At+ttl+slack:
				t.violated(nil, "the lock of the %s that %s took at step %d lasts %s, longer than its TTL of %s", k.what, k.by, s.Step, k.expires-s.At, ttl)
			}
		},
		audited: func(end *invariants.End) {
			auditLocks(t, end, map[string]time.Duration{
				history.LockPrefix: f.config.JobLockTTL, history.ReconcilerKey: 2 * f.config.PollInterval, history.ReplayerKey: 2 * f.config.PollInterval, history.WriterKey: f.config.SnapshotLockTTL,
			})
		},
		ended: func(end *invariants.End) {
			t.Exercised += f.reached[lockLeft] + f.count.lockLeft
			for _, j := range f.order {
				l := &j.lock
				if _, there := end.Redis[history.LockPrefix+j.id]; !there {
					continue
				}
				switch {
				case l.abandoned != 0 && end.At-l.abandoned > f.config.JobLockTTL+slack:
					t.violated(j, "the lock that %s took at step %d is still there, %s after its holder was gone",
						invariants.Process(l.node, l.incarnation), l.step, end.At-l.abandoned)
				case l.expires == 0:
					t.violated(j, "the lock that %s took at step %d has no expiry", invariants.Process(l.node, l.incarnation), l.step)
				}
			}
		},
	}
})
