package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var oneWriterATick = rule.New(invariants.Invariant{
	Name:   "one-writer-a-tick",
	Says:   "Only one replica at a time reconciles. The same holds for replaying, for reconciling runs, for polling for delays and for replaying dead letters. No other replica begins within a poll; with tick_lock=until-expiry no replica begins within the lock's TTL, which is two polls. A replica looks for what is due only if it was given the lock; for delays, it also looks once at its start. Only the holder of the snapshot's lock writes the snapshot.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: the lock-hold pattern, and the snapshot writer lock",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	begins := func(s *model.Step, k *model.Tick) {
		me, poll := invariants.Process(s.Node, s.Incarnation), f.Poll(k)
		apart, expires := poll, f.Config.TickLock == "until-expiry"
		if expires {
			apart = 2*poll - model.Slack
		}
		if k.Before != "" && (expires || k.Before != me) && k.Ago < apart {
			t.Violation(nil, "%s began a tick of the %s at step %d, %s after %s had begun one (at step %d); a poll is %s",
				me, k.What, invariants.StepNo(s.Step), k.Ago, k.Before, invariants.StepNo(k.Since), poll)
		}
	}
	held := func(s *model.Step, k *model.Tick) invariants.Clause {
		if !k.Live(s.At) {
			return invariants.Say(", which nobody held")
		}
		return invariants.Say(", which %s held", k.By)
	}
	return observe.Checker{Ticked: func(s *model.Step, k *model.Tick) {
		t.Exercise()
		me := invariants.Process(s.Node, s.Incarnation)
		switch {
		case k.Begins && k != &f.Ticks.Writer:
			begins(s, k)
		case k.Begins:
		case !k.Live(s.At):
			t.Violation(nil, "%s wrote the snapshot at step %d without the lock of the %s, which nobody held", me, invariants.StepNo(s.Step), k.What)
		case k.By != me:
			t.Violation(nil, "%s wrote the snapshot at step %d while %s held the lock of the %s", me, invariants.StepNo(s.Step), k.By, k.What)
		}
	}, Listed: func(s *model.Step, k *model.Tick) {
		t.Exercise()
		if me := invariants.Process(s.Node, s.Incarnation); !k.Has[me] {
			t.Violation(nil, "%s looked for what is due at step %d (%s) without the lock of the %s%s", me, invariants.StepNo(s.Step), s.Phase, k.What, held(s, k))
		}
	}}
})

var snapshotStaysFresh = rule.New(invariants.Invariant{
	Name:   "snapshot-stays-fresh",
	Says:   "While a replica that hears of workers lives, the snapshot of the workers is no older than its lock's TTL and one tick, even if its writer has crashed. That is 15 s in the documented design. The snapshot may be one tick older if the writer had not written yet. It names each worker of which its writer had heard within the worker TTL, with what that worker had reported.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 8, snapshot writer lock: maximum snapshot staleness on crash, and no partial snapshots",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	var written time.Duration
	began := map[string]time.Duration{} // when each process first tried to write
	bound := f.Config.SnapshotLockTTL + f.Config.SnapshotEvery + model.Doubt
	stale := func(by string, at time.Duration) {
		bound := bound
		if slices.ContainsFunc(f.Ticks.Writing, func(other string) bool { return other != by }) {
			bound += f.Config.SnapshotEvery
		}
		l, heard := f.Listens[by]
		since := l.Since + f.Config.SnapshotReadTimeout // a starting replica may wait so long for the snapshot
		if first, set := began[by]; set {
			since = min(since, max(first, l.Since))
		}
		if heard && at-l.Last <= f.Config.WorkerTTL && at-max(written, since) > bound {
			t.Violation(nil, "the snapshot was %s old at %s, although %s had heard of workers for %s; its lock's TTL is %s and a tick %s",
				at-written, at, by, at-l.Since, f.Config.SnapshotLockTTL, f.Config.SnapshotEvery)
		}
	}
	return observe.Checker{Ticked: func(s *model.Step, k *model.Tick) {
		by := invariants.Process(s.Node, s.Incarnation)
		if _, set := began[by]; !set && k == &f.Ticks.Writer {
			began[by] = s.At
		}
		if k == &f.Ticks.Writer && !k.Begins {
			t.Exercise()
			stale(by, s.At)
			written = s.At
			if how := f.Unlike(s); how != "" {
				t.Violation(nil, "%s wrote the snapshot at step %d %s, of which it had heard within the worker TTL", by, invariants.StepNo(s.Step), how)
			}
		}
	}, Ended: func(*invariants.End) {
		for _, by := range slices.Sorted(maps.Keys(f.Listens)) {
			stale(by, f.Listens[by].Last)
		}
	}}
})
