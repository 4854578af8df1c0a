package replay

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var replayWaitsItsBackoff = rule.New(invariants.Invariant{
	Name:   "replay-waits-its-backoff",
	Says:   "Triage puts off the n-th automatic replay of a job by replay.backoff_base, doubled n-1 times, plus a random time of at most backoff_base. The sum is at most backoff_max. No replay comes before its time. The replay worker's list has the dead letter at that time.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model: auto replay with capped exponential backoff; triage policy: exponential_jitter",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{ReplayPutOff: func(s *model.Step, id string, l *model.Letter) {
		t.Exercise()
		j := f.Job(id)
		_, n := f.ReplayOf(j)
		least, most := backoff(&f.Config.Replay, n)
		// The writer decided after it had read the entry, and before it wrote it. The entry has whole
		// milliseconds.
		if l.Due < l.Read+least-time.Millisecond || l.Due > s.At+most {
			t.Violation(j, "replay %d of it is put off until %s at step %d (%s); the back-off is %s to %s", n, l.Due, invariants.StepNo(s.Step), s.At.Truncate(time.Millisecond), least, most)
		}
	}, LetterMisplaced: func(s *model.Step, id string, at, due time.Duration) {
		t.Violation(f.Job(id), "its dead letter is to be replayed at %s, as it says at step %d, but the replay worker is to visit it at %s", due, invariants.StepNo(s.Step), at)
	}, Wrote: eachReplay(t, func(s *model.Step) {
		if l := f.Source(s.About); l != nil && s.At < l.Due {
			t.Violation(s.About, "replays %s at step %d, %s before its time", s.About.Replay.Of, invariants.StepNo(s.Step), (l.Due - s.At).Round(time.Millisecond))
		}
	})}
})

// backoff returns the least and the most by which the n-th replay of a job is delayed; chance decides.
func backoff(c *config.ReplayConfig, n int) (least, most time.Duration) {
	least = c.BackoffBase
	for i := 1; i < n && least < c.BackoffMax; i++ {
		least *= 2
	}
	return min(least, c.BackoffMax), min(least+c.BackoffBase, c.BackoffMax)
}
