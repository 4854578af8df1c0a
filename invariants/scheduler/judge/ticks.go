package judge

import "github.com/wavetank-sim/wavetank/invariants"

var oneWriterATick = checking(invariants.Invariant{
	Name:   "one-writer-a-tick",
	Says:   "Of the replicas one at a time reconciles and replays, and no other begins within a poll; with tick_lock=until-expiry nobody does within the lock's TTL, which is two polls. Only the holder of its lock writes the snapshot.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: the lock-hold pattern, and the snapshot writer lock",
}, func(f *facts, t *tally) checker {
	return checker{ticked: func(s *step, k *tick) {
		t.exercise()
		me := invariants.Process(s.Node, s.Incarnation)
		switch {
		case k.begins && k != &f.ticks.writer:
			apart, expires := f.config.PollInterval, withExpiringTicks.On(&f.config)
			if expires {
				apart = 2*f.config.PollInterval - slack
			}
			if k.before != "" && (expires || k.before != me) && k.ago < apart {
				t.violated(nil, "%s began a tick of the %s at step %d, %s after %s had begun one; a poll is %s",
					me, k.what, s.Step, k.ago, k.before, f.config.PollInterval)
			}
		case k.begins:
		case !k.live(s.At):
			t.violated(nil, "%s wrote the snapshot at step %d without the lock of the %s, which nobody held", me, s.Step, k.what)
		case k.by != me:
			t.violated(nil, "%s wrote the snapshot at step %d while %s held the lock of the %s", me, s.Step, k.by, k.what)
		}
	}}
})
