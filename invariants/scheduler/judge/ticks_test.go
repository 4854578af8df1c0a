package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// lists is a look for what a tick is to deal with.
func (s *story) lists(node, phase string) *story {
	return s.add(node, sim.KindRedis, "multi", "", "", phase)
}

// renews is a tick that goes on under its lock.
func (s *story) renews(node, key, phase string, ttl time.Duration) *story {
	c := s.set(key, "", s.redis[key][""])
	c.Expires = s.at + time.Millisecond + ttl
	return s.add(node, sim.KindRedis, "evalsha", key, "", phase, c)
}

// Nobody looks for what is due who was not given the lock of the tick.
func TestWhoLooksForWhatIsDue(t *testing.T) {
	for _, k := range []struct{ key, lock, list, what string }{
		{history.ReconcilerKey, "reconcile_lock", "reconcile_read", "reconciler"},
		{history.ReplayerKey, "replay_lock", "replay_read", "replayer"},
		{history.ReplayerKey, "replay_lock", "scan_read", "replayer"},
		{history.RunsKey, "runs_lock", "runs_read", "reconciler of runs"},
		{history.LettersKey, "dlq_lock", "dlq_read", "replayer of dead letters"},
		{history.LettersKey, "dlq_lock", "dlq_growth_read", "replayer of dead letters"},
		{history.PollerKey, "poll_lock", "timer_pop", "poller of delays"},
		{history.PollerKey, "poll_lock", "timer_clean", "poller of delays"},
	} {
		takes := func(s *story, node string) *story { return s.ticks(node, k.key, k.lock, time.Minute) }
		for name, c := range map[string]struct {
			tell func(*story)
			says string // "" if nothing is broken
		}{
			"its holder, again and again": {tell: func(s *story) { takes(s, s1).lists(s1, k.list).lists(s1, k.list) }},
			"its holder, at its next tick": {tell: func(s *story) {
				takes(s, s1).wait(30*time.Second).renews(s1, k.key, k.lock, time.Minute).lists(s1, k.list)
			}},
			"a tick that outlasts its lock": {tell: func(s *story) { takes(s, s1).wait(2*time.Minute).lists(s1, k.list) }},
			"a client":                      {tell: func(s *story) { s.lists("operator", k.list) }},
			"who was refused": {
				tell: func(s *story) { takes(s, s1).lists(s1, k.list).ticksNot(s2, k.key, k.lock).lists(s2, k.list) },
				says: "scheduler-2 looked for what is due at step 6 (" + k.list + ") without the lock of the " + k.what + ", which scheduler-1 held",
			},
			"who was refused, having had it before": {
				tell: func(s *story) {
					takes(s, s2).lists(s2, k.list).wait(2 * time.Minute)
					takes(s, s1).ticksNot(s2, k.key, k.lock).lists(s2, k.list)
				},
				says: "without the lock of the " + k.what + ", which scheduler-1 held",
			},
			"whose renewal was refused": {
				tell: func(s *story) {
					takes(s, s1).wait(2*time.Minute).add(s1, sim.KindRedis, "evalsha", k.key, "", k.lock).lists(s1, k.list)
				},
				says: "without the lock of the " + k.what + ", which nobody held",
			},
			"who was told of an error": {
				tell: func(s *story) { takes(s, s1).fails().lists(s1, k.list) },
				says: "without the lock of the " + k.what + ", which scheduler-1 held",
			},
			"who has given it back": {
				tell: func(s *story) {
					takes(s, s1).lists(s1, k.list).add(s1, sim.KindRedis, "multi", k.key, "", k.lock, sim.Change{Key: k.key, Gone: true}).lists(s1, k.list)
				},
				says: "without the lock of the " + k.what + ", which nobody held",
			},
			"who never asked": {
				tell: func(s *story) { s.lists(s1, k.list) },
				says: "without the lock of the " + k.what + ", which nobody held",
			},
			"a process that comes after it": {
				tell: func(s *story) {
					takes(s, s1).control("crash", s1).control("restart", s1)
					s.lists(s1, "timer_pop").lists(s1, k.list)
				},
				says: "scheduler-1 (incarnation 2) looked for what is due",
			},
		} {
			s := newStory()
			for _, node := range []string{s1, s2} { // what they do at their start, without a lock
				s.lists(node, "timer_pop")
			}
			c.tell(s)
			cfg := hardened
			cfg.Workflow.DelayPoll = 30 * time.Second
			o := outcomeOf(s.judge(cfg), "one-writer-a-tick")
			if assertSays(t, o.Violations, c.says, "%s: %s", k.list, name) {
				assert.True(t, o.Violations[0].Promised, "%s: %s", k.list, name)
			}
		}
	}
}

// The ticks of runs, delays and dead letters are as far apart as others.
func TestTicksAreAPollApart(t *testing.T) {
	cfg := hardened
	cfg.Workflow.DelayPoll = 5 * time.Second
	for key, c := range map[string]struct {
		phase string
		poll  time.Duration
	}{
		history.RunsKey: {"runs_lock", 30 * time.Second}, history.LettersKey: {"dlq_lock", 30 * time.Second}, history.PollerKey: {"poll_lock", 5 * time.Second},
	} {
		for apart, broken := range map[time.Duration]bool{c.poll: false, c.poll - 100*time.Millisecond: true} {
			s := newStory().ticks(s1, key, c.phase, 2*c.poll).wait(apart).ticks(s2, key, c.phase, 2*c.poll)
			assert.Equal(t, broken, outcomeOf(s.judge(cfg), "one-writer-a-tick").Promised == 1, "%s: %s", key, apart)
		}
		s := newStory().ticks(s1, key, c.phase, 3*c.poll)
		assert.Equal(t, 1, outcomeOf(s.judge(cfg), "no-lock-outlives-its-holder").Promised, "%s: a lock that is held for too long", key)
	}
}

// The snapshot names whom its writer has heard of within the worker TTL for sure, as they reported themselves.
func TestASnapshotIsWhole(t *testing.T) {
	const said = "of which it had heard within the worker TTL"
	both := func() *story { return newStory().beats(w1, 2, s1).beats(w2, 3, s1).wait(5 * time.Second) }
	one, two := heard{worker: w1, active: 2, ago: 5 * time.Second}, heard{worker: w2, active: 3, ago: 5 * time.Second}
	idle := heard{worker: w2, ago: 5 * time.Second}
	for name, c := range map[string]struct {
		s    *story
		says string // "" if nothing is broken
	}{
		"whole":                          {both().writesSnapshot(s1, one, two), ""},
		"partial":                        {both().writesSnapshot(s1, one), "without worker-2"},
		"empty":                          {both().writesSnapshot(s1), "without worker-1"},
		"not what it reported":           {both().writesSnapshot(s1, one, idle), "with another heartbeat of worker-2"},
		"another has heard of that":      {both().writesSnapshot(s2, one), ""},
		"it has just come":               {both().beats("worker-3", 0, s1).writesSnapshot(s1, one, two), ""},
		"it has just reported otherwise": {both().beats(w2, 0, s1).writesSnapshot(s1, one, two), ""},
		"a heartbeat may have been lost": {both().beats(w2, 0, s1).lost().wait(5*time.Second).writesSnapshot(s1, one, idle), ""},
		"it is past its TTL":             {both().wait(time.Minute).beats(w1, 2, s1).wait(5*time.Second).writesSnapshot(s1, one), ""},
		"it is back":                     {both().wait(time.Minute).beats(w1, 2, s1).beats(w2, 3, s1).writesSnapshot(s1, one), ""},
		"it arrives late":                {both().ticks(s1, history.WriterKey, "snapshot_lock", 10*time.Second).snapshots(s1, one).late(), ""},
		"its writer stood still":         {both().control("pause", s1).wait(5*time.Second).control("resume", s1).writesSnapshot(s1, one), ""},
		"its clock was set":              {both().control("skew", s1).writesSnapshot(s1), ""},
	} {
		o := outcomeOf(c.s.judge(config.Config{}), "snapshot-stays-fresh")
		found := slices.DeleteFunc(o.Violations, func(v invariants.Violation) bool { return !strings.Contains(v.Message, said) })
		if assertSays(t, found, c.says, name) {
			assert.True(t, found[0].Promised, name)
		}
	}
}

// Without a fence a writer of the snapshot that outlived its lock may still write; one that never had it may not.
func TestASnapshotOfAnOverstayedWriter(t *testing.T) {
	s := newStory().ticks(s1, history.WriterKey, "snapshot_lock", 10*time.Second).stalls(s1).wait(11 * time.Second).writesSnapshot(s2).snapshots(s1)
	o := outcomeOf(s.judge(config.Config{}), "one-writer-a-tick")
	require.Len(t, o.Violations, 1)
	assert.False(t, o.Violations[0].Promised)
	assert.Contains(t, o.Violations[0].Message, "scheduler-1 wrote the snapshot at step 7 without the lock of the snapshot's writer, which nobody held")
}
