package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

var outboxOrder = config.Config{DispatchOrder: "outbox"}

// enters is the DISPATCHED write that puts the dispatch into the outbox.
func (s *story) enters(node, job, worker string) *story {
	c := s.set(history.OutboxKey, job, "{}")
	s.intended(node, job, worker).last().Changes = append(s.last().Changes, c)
	return s
}

// leaves takes the entry out with the write of RUNNING.
func (s *story) leaves(node, job string) *story {
	delete(s.redis[history.OutboxKey], job)
	s.write(node, job, "outbox_remove", "RUNNING").last().Changes = append(s.last().Changes, sim.Change{Key: history.OutboxKey, Field: job, Gone: true})
	return s
}

// drops takes the entry out of a job that has moved on.
func (s *story) drops(node, job string) *story {
	delete(s.redis[history.OutboxKey], job)
	return s.add(node, sim.KindRedis, "multi", history.OutboxKey, job, "outbox_remove", sim.Change{Key: history.OutboxKey, Field: job, Gone: true})
}

// intendsLate is a DISPATCHED write that its caller gives up, and that is still on its way.
func (s *story) intendsLate(node, job string) *story {
	s.add(node, sim.KindRedis, "multi", history.RecordPrefix+job, job, "dispatched_write").fails().last().Fault = history.FaultLate
	return s
}

func (s *story) claims(node, job string) *story {
	return s.add(node, sim.KindRedis, "multi", history.OutboxKey, job, "outbox_claim")
}

// outboxed is a whole handling of a request, and relayed that of its entry.
func (s *story) outboxed(node, job, worker string) *story {
	return s.begins(node, job).enters(node, job, worker).unlock(node, job).ack(node, job, "submit_ack")
}

func (s *story) relayed(node, job, worker string) *story {
	return s.lock(node, job).claims(node, job).publish(node, job, worker).leaves(node, job).unlock(node, job)
}

func TestACalmOutboxHoldsEverything(t *testing.T) {
	s := newStory().submit(job1).outboxed(s1, job1, w1).relayed(s2, job1, w1).executed(w1, job1).completed(s2, job1, "SUCCEEDED")
	for _, o := range s.judge(outboxOrder).Invariants {
		assert.Empty(t, o.Violations, o.Name)
	}
}

// What is in the outbox is not lost, neither by a crash nor by a lost answer.
func TestWhatIsInTheOutboxSettles(t *testing.T) {
	for name, tell := range map[string]func(*story){
		"a crash before the answer":    func(s *story) { s.begins(s1, job1).enters(s1, job1, w1).unseen().control("crash", s1) },
		"a crash before the publish":   func(s *story) { s.outboxed(s1, job1, w1).control("crash", s1) },
		"a crash of the relay":         func(s *story) { s.outboxed(s1, job1, w1).lock(s2, job1).claims(s2, job1).control("crash", s2) },
		"a write of unknown fate":      func(s *story) { s.begins(s1, job1).enters(s1, job1, w1).fails().unlock(s1, job1) },
		"a publish that nobody stored": func(s *story) { s.outboxed(s1, job1, w1).lock(s1, job1).publishFails(s1, job1, w1).unlock(s1, job1) },
	} {
		t.Run(name, func(t *testing.T) {
			left := newStory().submit(job1)
			tell(left)
			o := outcomeOf(left.judge(outboxOrder), "every-job-settles")
			require.Len(t, o.Violations, 1)
			assert.Contains(t, o.Violations[0].Message, "its dispatch is still in the outbox")

			done := newStory().submit(job1)
			tell(done)
			done.wait(time.Minute).relayed(s2, job1, w1).executed(w1, job1).completed(s2, job1, "SUCCEEDED")
			for _, o := range done.judge(outboxOrder).Invariants {
				assert.Empty(t, o.Violations, o.Name)
			}
		})
	}
}

func TestACrashWithAnEntryIsACrashBetweenIntentAndPublish(t *testing.T) {
	reached := func(tell func(*story)) int {
		s := newStory().submit(job1)
		tell(s)
		return outcomeOf(s.judge(outboxOrder), "crash-between-intent-and-publish").Exercised
	}
	assert.Equal(t, 1, reached(func(s *story) { s.begins(s1, job1).enters(s1, job1, w1).unseen().control("crash", s1) }))
	assert.Equal(t, 1, reached(func(s *story) { s.outboxed(s1, job1, w1).control("crash", s1) }))
	assert.Zero(t, reached(func(s *story) { s.outboxed(s1, job1, w1).control("crash", s2) }))
	assert.Zero(t, reached(func(s *story) { s.outboxed(s1, job1, w1).relayed(s2, job1, w1).control("crash", s1) }))
}

// At least once: an entry that stays although its dispatch was stored is published again.
func TestAnEntryThatStaysReleasesTheOneDispatch(t *testing.T) {
	for name, stays := range map[string]func(*story){
		"the removal fails":        func(s *story) { s.op(s2, job1, "outbox_remove").fails().unlock(s2, job1) },
		"the relay crashes":        func(s *story) { s.control("crash", s2).wait(time.Minute) },
		"the publish is ambiguous": func(s *story) { s.fails().unlock(s2, job1) },
		"the removal hangs": func(s *story) {
			s.op(s2, job1, "outbox_remove").unseen().wait(2*time.Second).
				add(s2, sim.KindReturn, "multi", history.RecordPrefix+job1, job1, "outbox_remove").fails().unlock(s2, job1)
		},
		"the lock runs out": func(s *story) { s.stalls(s2).wait(2*time.Minute).unlock(s2, job1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory().submit(job1).outboxed(s1, job1, w1).lock(s2, job1).claims(s2, job1).publish(s2, job1, w1)
			stays(s)
			s.relayed(s1, job1, w1)
			r := s.injected().judge(outboxOrder)
			o := outcomeOf(r, "one-dispatch-per-job")
			assert.Zero(t, o.Promised)
			assert.Equal(t, 1, o.Unpromised)
			assert.Empty(t, outcomeOf(r, "intent-before-dispatch").Violations)
		})
	}
	s := newStory().submit(job1).outboxed(s1, job1, w1).relayed(s2, job1, w1)
	s.lock(s1, job1).publish(s1, job1, w1)
	r := s.judge(outboxOrder)
	assert.Equal(t, 1, outcomeOf(r, "one-dispatch-per-job").Promised, "no entry, no excuse")
}

func TestADispatchComesFromTheOutbox(t *testing.T) {
	s := newStory().submit(job1).begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1)
	o := outcomeOf(s.judge(outboxOrder), "intent-before-dispatch")
	require.Equal(t, 1, o.Promised)
	assert.Contains(t, o.Violations[0].Message, "which the outbox does not hold")
	assert.Empty(t, outcomeOf(s.judge(config.Config{}), "intent-before-dispatch").Violations)
}

// The worker is judged at its pick, by what the picker had heard: the relay may come later, and
// from elsewhere.
func TestARelayIsNotJudgedByItsOwnEars(t *testing.T) {
	s := newStory().submit(job1).beat(w1, s1).outboxed(s1, job1, w1).wait(time.Hour).relayed(s2, job1, w1)
	o := outcomeOf(s.judge(outboxOrder), "no-dispatch-to-expired-worker")
	assert.Equal(t, 1, o.Exercised)
	assert.Empty(t, o.Violations)

	s = newStory().submit(job1).beat(w1, s1, s2).wait(31*time.Second).outboxed(s1, job1, w1).beat(w1, s2).relayed(s2, job1, w1)
	o = outcomeOf(s.judge(outboxOrder), "no-dispatch-to-expired-worker")
	require.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, "scheduler-2 published to worker.worker-1.jobs")
	assert.Contains(t, o.Violations[0].Message, "which scheduler-1 had picked 31")
}

// The pick is what counts, however late its write arrives, and however long a relay is held up.
func TestAPickIsOfItsOwnTime(t *testing.T) {
	const beats = 45 * time.Second
	for name, tell := range map[string]func(s *story){
		"the write is late, and its writer has crashed": func(s *story) {
			s.begins(s1, job1).intendsLate(s1, job1).unlock(s1, job1).control("crash", s1).control("restart", s1).
				wait(beats).enters(s1, job1, w1).late().relayed(s2, job1, w1)
		},
		"the write is late, and its writer has picked again": func(s *story) {
			s.begins(s1, job1).intendsLate(s1, job1).unlock(s1, job1).
				wait(beats).begins(s1, job1).unlock(s1, job1).enters(s1, job1, w1).late().relayed(s1, job1, w1)
		},
		"a relay is held up until another has published": func(s *story) {
			s.outboxed(s2, job1, w1).lock(s1, job1).claims(s1, job1).wait(beats+time.Minute).relayed(s2, job1, w1).publish(s1, job1, w1)
		},
		"a relay is held up until the job is over": func(s *story) {
			s.outboxed(s2, job1, w1).lock(s1, job1).claims(s1, job1).wait(beats+time.Minute).relayed(s2, job1, w1).
				executed(w1, job1).completed(s2, job1, "SUCCEEDED").publish(s1, job1, w1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory().submit(job1).beat(w1, s1, s2)
			tell(s)
			o := outcomeOf(s.judge(outboxOrder), "no-dispatch-to-expired-worker")
			assert.Positive(t, o.Exercised)
			assert.Empty(t, o.Violations)

			s = newStory().submit(job1).beat(w1, s1, s2).wait(31 * time.Second) // past its TTL at the pick
			tell(s)
			assert.NotEmpty(t, outcomeOf(s.judge(outboxOrder), "no-dispatch-to-expired-worker").Violations)
		})
	}
}

func TestCountersOfTheOutboxAndTheCache(t *testing.T) {
	s := newStory().submit(job1).outboxed(s1, job1, w1)
	s.lock(s1, job1).claims(s1, job1).fails().unlock(s1, job1) // fails closed
	s.lock(s1, job1).claims(s1, job1).publish(s1, job1, w1).fails().unlock(s1, job1)
	s.executed(w1, job1).completed(s2, job1, "SUCCEEDED").lock(s1, job1).claims(s1, job1).drops(s1, job1).unlock(s1, job1)
	s.lock(s2, job1).read(s2, job1).fails().unlock(s2, job1) // the cached state says that it is over
	counted := map[string]float64{
		`jobs_completed{status="SUCCEEDED"}`: 1, "scheduler_outbox_voided_total": 1,
		`scheduler_redis_errors_total{operation="read"}`:     1,
		`scheduler_outbox_retry_total{phase="outbox_claim"}`: 1, `scheduler_outbox_retry_total{phase="publish"}`: 1,
		`scheduler_state_read_fail_closed_total{topic="unknown"}`:                   1,
		`scheduler_state_read_cached_total{decision="skip",topic="job.default"}`:    1,
		`scheduler_state_read_cached_total{decision="proceed",topic="job.default"}`: 5,
	}
	o := outcomeOf(s.counted(counted).judge(outboxOrder), "counters-equal-trace")
	assert.Positive(t, o.Exercised)
	assert.Empty(t, o.Violations)

	counted["scheduler_outbox_voided_total"] = 0
	o = outcomeOf(s.counted(counted).judge(outboxOrder), "counters-equal-trace")
	require.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, "scheduler_outbox_voided_total is 0, but the events show 1")
}

// relay is the outbox order in miniature: what follows the DISPATCHED write in model.handle.
func (m *miniature) relay(node, job string) {
	_, _ = m.locked(node, job, func() (bool, bool) {
		ok, alive := m.op(node, job, "outbox_claim", sim.KindRedis, history.OutboxKey, func() { m.claims(node, job) })
		if _, waits := m.redis[history.OutboxKey][job]; !ok || !waits {
			return false, alive
		}
		if m.record(job)["state"] != "DISPATCHED" {
			_, alive := m.op(node, job, "outbox_remove", sim.KindRedis, history.OutboxKey, func() { m.drops(node, job) })
			return false, alive
		}
		worker := m.record(job)["worker"]
		ok, alive = m.op(node, job, "publish", sim.KindPublish, "worker."+worker+".jobs", func() { m.publish(node, job, worker) })
		if !ok {
			return false, alive
		}
		_, alive = m.op(node, job, "outbox_remove", sim.KindRedis, history.RecordPrefix+job, func() { m.leaves(node, job) })
		return true, alive
	})
}

// A relay that follows the description breaks no promise, whatever fails.
func TestTheOutboxPathKeepsEveryPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		m.outbox = true
		m.run(rapid.IntRange(1, 3).Draw(t, "jobs"))
		for _, o := range m.injected().judge(config.Config{MaxSchedulingRetries: m.ceiling, DispatchOrder: "outbox"}).Invariants {
			for _, v := range o.Violations {
				if v.Promised {
					t.Fatalf("%s: %s", v.Invariant, v.Message)
				}
			}
		}
	})
}
