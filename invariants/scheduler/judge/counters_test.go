package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Requests that are handled, and orphans that a replayer schedules, are counted.
func TestCountersOfRequestsAndOrphans(t *testing.T) {
	deliver := func(s *story, node string, n uint64) *story {
		return s.message(node, job1, "submit_deliver", sim.KindDeliver, n).at1()
	}
	ack := func(s *story, node string, n uint64) *story {
		return s.message(node, job1, "submit_ack", sim.KindAck, n).at1()
	}
	for name, c := range map[string]struct {
		received, orphans []float64 // what they may be
		story             func(*story)
	}{
		"a request":   {[]float64{1}, []float64{0}, func(s *story) { deliver(s.submit(job1), s1, 1).dispatched(s1, job1, w1).at1() }},
		"one in hand": {[]float64{0, 1}, []float64{0}, func(s *story) { deliver(s.submit(job1), s1, 1) }},
		"a redelivery": {[]float64{2}, []float64{0}, func(s *story) {
			ack(deliver(deliver(s.submit(job1), s1, 1).dispatched(s1, job1, w1).at1(), s2, 2), s2, 2)
		}},
		"one skipped": {[]float64{1}, []float64{0}, func(s *story) { ack(redelivered(s).asks(s2, job1, 1), s2, 2) }},
		"an ack that is sent again": {[]float64{1, 2}, []float64{0}, func(s *story) {
			ack(ack(deliver(deliver(s.submit(job1), s1, 1), s1, 2), s1, 1).lost(), s1, 1)
		}},
		"two skipped at once": {[]float64{1}, []float64{0}, func(s *story) {
			ack(ack(deliver(redelivered(s), s2, 3).asks(s2, job1, 1).asks(s2, job1, 1), s2, 2), s2, 3)
		}},
		"two skipped by two processes": {[]float64{1}, []float64{0}, func(s *story) {
			ack(ack(deliver(redelivered(s), s1, 3).asks(s2, job1, 1).asks(s1, job1, 1), s2, 2), s1, 3)
		}},
		"no request": {[]float64{0}, []float64{0}, func(s *story) {
			s.garbles("poison-1").message(s1, "poison-1", "submit_deliver", sim.KindDeliver, 1).at1()
		}},
		"an orphan":     {[]float64{1}, []float64{1}, func(s *story) { s.submit(job1).op(s1, job1, "replay_read").dispatched(s1, job1, w1) }},
		"a failed read": {[]float64{0}, []float64{0}, func(s *story) { s.submit(job1).op(s1, job1, "replay_read").fails() }},
		"one that another has by then": {[]float64{0, 1}, []float64{0}, func(s *story) {
			s.submit(job1).op(s1, job1, "replay_read").dispatched(s2, job1, w1).lock(s1, job1).read(s1, job1).unlock(s1, job1)
		}},
		"a write that failed": {[]float64{0, 1}, []float64{0}, func(s *story) { s.submit(job1).op(s1, job1, "replay_read").begins(s1, job1).fails() }},
		"a request of it in the same process": {[]float64{1, 2}, []float64{0, 1}, func(s *story) {
			deliver(s.submit(job1).op(s1, job1, "replay_read"), s1, 1).dispatched(s1, job1, w1).at1()
		}},
	} {
		for n := range 4 {
			for counter, may := range map[string][]float64{history.CounterReceived: c.received, history.CounterOrphans: c.orphans} {
				s := newStory()
				c.story(s)
				counted := map[string]float64{history.CounterReceived: c.received[0], history.CounterOrphans: c.orphans[0]}
				counted[counter] = float64(n)
				o := outcomeOf(s.counted(counted).judge(config.Config{IdempotencyGuard: true}), "counters-equal-trace")
				wrong := slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return strings.HasPrefix(v.Message, counter+" is ") })
				assert.Equal(t, !slices.Contains(may, float64(n)), wrong, "%s: %s is %d", name, counter, n)
			}
		}
	}
}

// The count of jobs that went on without a decision is no less than the writes that say so. It may be more: of a write that failed.
func TestJobsThatGoOnUndecidedAreCounted(t *testing.T) {
	open := guarded
	open.Policy.FailMode = "open"
	for n, holds := range map[float64]bool{0: false, 1: true, 2: true} {
		s := newStory().submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).decided(s1, job1, "FAIL_OPEN")
		s.counted(map[string]float64{"cordum_scheduler_input_fail_open_total": n})
		found := outcomeOf(s.judge(open), "counters-equal-trace").Violations
		assert.Equal(t, holds, len(found) == 0, "%g: %v", n, found)
	}
}
