package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var oneWriterATick = rule.New(invariants.Invariant{
	Name:   "one-writer-a-tick",
	Says:   "One replica at a time reconciles, and one replays. No other begins within a poll; with tick_lock=until-expiry none begins within the lock's TTL, which is two polls. Only the holder of its lock writes the snapshot.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: the lock-hold pattern, and the snapshot writer lock",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ticked: func(s *model.Step, k *model.Tick) {
		t.Exercise()
		me := invariants.Process(s.Node, s.Incarnation)
		switch {
		case k.Begins && k != &f.Ticks.Writer:
			apart, expires := f.Config.PollInterval, f.Config.TickLock == "until-expiry"
			if expires {
				apart = 2*f.Config.PollInterval - model.Slack
			}
			if k.Before != "" && (expires || k.Before != me) && k.Ago < apart {
				t.Violation(nil, "%s began a tick of the %s at step %d, %s after %s had begun one; a poll is %s",
					me, k.What, invariants.StepNo(s.Step), k.Ago, k.Before, f.Config.PollInterval)
			}
		case k.Begins:
		case !k.Live(s.At):
			t.Violation(nil, "%s wrote the snapshot at step %d without the lock of the %s, which nobody held", me, invariants.StepNo(s.Step), k.What)
		case k.By != me:
			t.Violation(nil, "%s wrote the snapshot at step %d while %s held the lock of the %s", me, invariants.StepNo(s.Step), k.By, k.What)
		}
	}}
})
