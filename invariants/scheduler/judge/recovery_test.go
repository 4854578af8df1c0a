package judge

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// with returns the preset hardened with changes.
func with(change func(*config.Config)) config.Config {
	cfg := hardened
	change(&cfg)
	return cfg
}

// A fault that releases a promise no longer does where a setting has something to set against it, and
// does so again without that setting.
func TestSettingsWithdrawReleases(t *testing.T) {
	overstayed := func(write func(*story)) func(*story) {
		return func(s *story) {
			s.submit(job1).begins(s1, job1).stalls(s1).wait(61*time.Second).dispatched(s2, job1, w1)
			write(s)
		}
	}
	for name, c := range map[string]struct {
		invariant string
		without   config.Config
		story     func(*story)
	}{
		"fence, terminal-states-final": {"terminal-states-final", with(func(c *config.Config) { c.Fence = false }), overstayed(func(s *story) {
			s.executed(w1, job1).completed(s2, job1, "SUCCEEDED").write(s1, job1, "dispatched_write", "DISPATCHED")
		})},
		"fence, documented-transitions-only": {"documented-transitions-only", with(func(c *config.Config) { c.Fence = false }), overstayed(func(s *story) {
			s.scheduled(s1, job1, "scheduled_write")
		})},
		"fence and epochs, lock-mutual-exclusion": {"lock-mutual-exclusion", with(func(c *config.Config) { c.Fence = false }), overstayed(func(s *story) {
			s.scheduled(s1, job1, "scheduled_write")
		})},
		"epochs, one-dispatch-per-job": {"one-dispatch-per-job", with(func(c *config.Config) { c.Epochs = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).publishes(s1, job1, w1, 1).fails().unlock(s1, job1).begins(s1, job1).publishes(s1, job1, w1, 1)
		}},
		"reconciler, a dead worker": {"every-job-settles", with(func(c *config.Config) { c.Reconciler = false }), func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).control("crash", w1)
		}},
		"sweep_scheduled, a request given up": {"every-job-settles", with(func(c *config.Config) { c.SweepScheduled, c.BusyBackoff = false, false }), func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).fails().scheduled(s1, job1, "scheduled_write").unlock(s1, job1).message(s1, job1, "submit_nak", sim.KindNak, 100)
		}},
		"fence, a write from the past": {"every-job-settles", with(func(c *config.Config) { c.Fence = false }), func(s *story) {
			s.submit(job1).scheduled(s1, job1, "scheduled_write").late()
		}},
		"dlq_order=atomic, a crash before the entry": {"failed-job-has-dlq-entry", with(func(c *config.Config) { c.DLQOrder = "state-then-dlq" }), func(s *story) {
			s.submit(job1).begins(s1, job1).write(s1, job1, "failed_write", "FAILED").control("crash", s1)
		}},
		"resume_intents, a crash before the publish": {"every-intent-is-published", with(func(c *config.Config) { c.ResumeIntents = false }), func(s *story) {
			s.starts(s2).submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).control("crash", s1).wait(6*time.Minute).timesOut(s2, job1)
		}},
		"time to resume": {"every-intent-is-published", with(func(c *config.Config) { c.TopicTimeouts, c.RetryUnpublished = "job.default=20s", false }), func(s *story) {
			s.starts(s2).submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).control("crash", s1).wait(6*time.Minute).timesOut(s2, job1)
		}},
		"retry_unpublished, a publish that fails for longer than the timeout": {"every-intent-is-published", with(func(c *config.Config) { c.RetryUnpublished = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).add(s1, sim.KindPublish, "", epochSubject(w1, job1, 1), job1, "publish").fails().
				unlock(s1, job1).wait(6*time.Minute).timesOut(s2, job1)
		}},
		"fence, a void without the lock": {"lock-mutual-exclusion", with(func(c *config.Config) { c.Fence = false }), overstayed(func(s *story) {
			s.wait(10*time.Second).voids(s1, job1, w1, 1)
		})},
		"void_intents, a publish that comes late": {"no-dispatch-after-end", with(func(c *config.Config) { c.VoidIntents = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).unlock(s1, job1).cancelled(s2, job1).publishes(s1, job1, w1, 1).late()
		}},
		"refuse_stale_results": {"result-of-current-epoch", with(func(c *config.Config) { c.RefuseStaleResults = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishes(s1, job1, w1, 1).fails().unlock(s1, job1).answers(w1, job1, 1).
				begins(s1, job1).minted(s1, job1, w2, 2).unlock(s1, job1).message(s2, job1, "result_deliver", sim.KindDeliver, 1).of(2).
				lock(s2, job1).write(s2, job1, "result_write", "SUCCEEDED")
		}},
		"recheck_timeouts": {"timeout-only-when-due", with(func(c *config.Config) { c.RecheckTimeouts = false }), func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).timesOut(s2, job1)
		}},
		"recheck_timeouts, and what else an old list does": {"terminal-states-final", with(func(c *config.Config) { c.RecheckTimeouts = false }), func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).stalls(s2).executed(w1, job1).completed(s2, job1, "SUCCEEDED").timesOut(s2, job1)
		}},
		"busy_backoff": {"no-message-given-up", with(func(c *config.Config) { c.BusyBackoff = false }), func(s *story) {
			s.submit(job1).lock(s1, job1).releases(s1, job1).fails().
				message(s1, job1, "submit_deliver", sim.KindDeliver, 100).at1().message(s1, job1, "submit_nak", sim.KindNak, 100).at1()
		}},
		"cancel_notice": {"cancelled-job-is-told", with(func(c *config.Config) { c.CancelNotice = false }), func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).cancelled(s2, job1)
		}},
		"void_intents, a publish ahead of its intent": {"cancelled-job-is-told", with(func(c *config.Config) { c.DispatchOrder, c.VoidIntents = "publish-first", false }), func(s *story) {
			s.submit(job1).begins(s1, job1).publishes(s1, job1, w1, 1).unlock(s1, job1).cancelled(s2, job1)
		}},
		"resume_intents, a publish that was stored and taken back": {"cancelled-job-is-told", with(func(c *config.Config) { c.ResumeIntents = false }), func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishes(s1, job1, w1, 1).fails().scheduled(s1, job1, "rollback_write").unlock(s1, job1).
				cancelled(s2, job1)
		}},
		"snapshot_last_seen": {"snapshot-revives-no-worker", with(func(c *config.Config) { c.SnapshotLastSeen = false }), func(s *story) {
			s.snapshots(s2, heard{worker: w1, ago: time.Minute}).starts(s1).submit(job1).dispatched(s1, job1, w1)
		}},
		"fence, a snapshot of a writer that overstayed": {"one-writer-a-tick", with(func(c *config.Config) { c.Fence = false }), func(s *story) {
			s.ticks(s1, history.WriterKey, "snapshot_lock", 10*time.Second).stalls(s1).wait(11 * time.Second).writesSnapshot(s2).snapshots(s1)
		}},
		"tick_lock":  {"overdue-job-found-within-a-poll", with(func(c *config.Config) { c.TickLock = "until-expiry" }), overdue},
		"reconciler": {"overdue-job-found-within-a-poll", with(func(c *config.Config) { c.Reconciler = false }), overdue},
		"batch_size": {"overdue-job-found-within-a-poll", with(func(c *config.Config) { c.BatchSize, c.MaxIterations = 1, 3 }), overdue},
		"stale_reason_code": {"stale-worker-has-its-own-reason", with(func(c *config.Config) { c.StaleReasonCode = "no_workers" }), func(s *story) {
			s.submit(job1).counted(map[string]float64{counterStalePicks: 3})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			c.story(s)
			full, less := outcomeOf(s.injected().judge(hardened), c.invariant), outcomeOf(s.judge(c.without), c.invariant)
			require.NotEmpty(t, full.Violations)
			assert.Positive(t, full.Promised, full.Violations[0].Message)
			assert.Zero(t, less.Promised)
			assert.Positive(t, less.Unpromised)
			assert.NotEqual(t, full.Promise, less.Promise, "a report tells the promise of its own settings")
		})
	}
}

// What the documented design promises, it promises whatever part of it is taken away.
func TestPartsTakenAwayAreMissed(t *testing.T) {
	for name, c := range map[string]struct {
		invariant string
		cfg       config.Config
		story     func(*story)
	}{
		"a lock for one poll":  {"one-writer-a-tick", config.Config{}, func(s *story) { s.reconciles(s1).wait(31 * time.Second).reconciles(s1) }},
		"a lock is given back": {"one-writer-a-tick", config.Config{}, func(s *story) { s.reconciles(s1).wait(time.Second).reconciles(s2) }},
		"no writer's lock":     {"one-writer-a-tick", config.Config{}, func(s *story) { s.snapshots(s1) }},
		"no guard": {"processed-message-not-handled-again", config.Config{}, func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1().dispatched(s1, job1, w1).at1().lost()
			s.message(s2, job1, "submit_deliver", sim.KindDeliver, 2).at1().lock(s2, job1).read(s2, job1).unlock(s2, job1).ack(s2, job1, "submit_ack").at1()
		}},
		"no replayer": {"every-job-settles", config.Config{}, func(s *story) {
			s.write("submitter", job1, "submit_write", "PENDING", "attempts", "0")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			c.story(s)
			assert.Positive(t, outcomeOf(s.judge(c.cfg), c.invariant).Promised)
		})
	}
}

// A fenced write is a look and a MULTI: what the fence stops is no failed write, and its job no worse
// off.
func TestFencedWrites(t *testing.T) {
	stopped := func(s *story) *story { // by what the look saw
		return s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishFails(s1, job1, w1).looks(s1, job1, "rollback_write").unlock(s1, job1)
	}
	s := stopped(newStory()).counted(map[string]float64{counterFenced: 1, counterRollbacks: 1, counterRollbacksFailed: 1})
	r := s.judge(hardened)
	assert.Equal(t, 1, outcomeOf(r, "late-write-fenced").Exercised)
	assert.Zero(t, outcomeOf(r, "state-write-failed-clean").Exercised)
	assert.Zero(t, outcomeOf(r, "rollback-failed").Exercised)
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)

	s = newStory().submit(job1).begins(s1, job1).looks(s1, job1, "dispatched_write")
	s.add(s1, sim.KindRedis, "multi", history.RecordPrefix+job1, job1, "dispatched_write", // by the server: what it names is as it was
		sim.Change{Key: history.RecordPrefix + job1, Field: "state", Value: "SCHEDULED"}).last().Outcome = history.TransactionFailed
	s.unlock(s1, job1).counted(map[string]float64{counterFenced: 1})
	r = s.judge(hardened)
	assert.Equal(t, 1, outcomeOf(r, "late-write-fenced").Exercised)
	assert.Empty(t, outcomeOf(r, "attempts-equal-scheduled-writes").Violations)
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)

	s = newStory().submit(job1).lock(s1, job1).looks(s1, job1, "scheduled_write").busy(s1, job1).scheduled(s1, job1, "scheduled_write").unlock(s1, job1)
	r = s.counted(map[string]float64{}).judge(hardened)
	assert.Zero(t, outcomeOf(r, "late-write-fenced").Exercised, "what another handler of the process does is no refusal")
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)
}

// A request that nobody can read, and of which no entry is ever written, is lost once its deliveries are used up.
func TestWhatNobodyCanReadIsLostWithItsDeliveries(t *testing.T) {
	lost := func(s *story) *story {
		return s.garbles("poison-1").message(s1, "poison-1", "submit_deliver", sim.KindDeliver, 100).at1().
			op(s1, "poison-1", "dlq_write").fails().injected().message(s1, "poison-1", "submit_nak", sim.KindNak, 100).at1()
	}
	for name, c := range map[string]struct {
		cfg                  config.Config
		promised, unpromised int
		story                func(*story)
	}{
		"with busy_backoff":      {hardened, 1, 0, func(s *story) { lost(s) }},
		"without":                {config.Config{}, 0, 1, func(s *story) { lost(s) }},
		"its entry was written":  {hardened, 0, 0, func(s *story) { lost(s.dlq(s1, "CORDUM_SYS:1", "parse_error", 0)) }},
		"it comes again":         {hardened, 0, 0, func(s *story) { s.garbles("poison-1").message(s1, "poison-1", "submit_nak", sim.KindNak, 99).at1() }},
		"a request of some sort": {hardened, 0, 0, func(s *story) { s.submit(job1).message(s1, job1, "submit_nak", sim.KindNak, 100).at1() }},
	} {
		s := newStory()
		c.story(s)
		o := outcomeOf(s.judge(c.cfg), "terminated-message-has-dlq-entry")
		assert.Equal(t, c.promised, o.Promised, name)
		assert.Equal(t, c.unpromised, o.Unpromised, name)
	}
	o := outcomeOf(lost(newStory()).judge(hardened), "terminated-message-has-dlq-entry")
	assert.Equal(t, "poison-1: a message of it that nobody can read was given up after 100 deliveries, but dlq:entry:CORDUM_SYS:1 was never written", o.Violations[0].Message)
}

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
			for counter, may := range map[string][]float64{counterReceived: c.received, counterOrphans: c.orphans} {
				s := newStory()
				c.story(s)
				counted := map[string]float64{counterReceived: c.received[0], counterOrphans: c.orphans[0]}
				counted[counter] = float64(n)
				o := outcomeOf(s.counted(counted).judge(config.Config{IdempotencyGuard: true}), "counters-equal-trace")
				wrong := slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return strings.HasPrefix(v.Message, counter+" is ") })
				assert.Equal(t, !slices.Contains(may, float64(n)), wrong, "%s: %s is %d", name, counter, n)
			}
		}
	}
}

// A MULTI that the server refuses names fields that it has not touched. If the answer is lost, the
// version tells: each write counts it up.
func TestARefusedMultiIsNoWrite(t *testing.T) {
	for name, refuse := range map[string]func(*story){
		"and says so":             func(s *story) { s.last().Outcome = history.TransactionFailed },
		"and the answer is lost":  func(s *story) { s.fails() },
		"and it comes late":       func(s *story) { s.late().last().Outcome = sim.OutcomeNil },
		"and nobody hears of it":  func(s *story) { s.unseen() },
		"and all seems well, yet": func(*story) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory().submit(job1)
			s.write(s1, job1, "scheduled_write", "SCHEDULED", "attempts", "1", "version", "2").lock(s1, job1)
			s.write(s2, job1, "scheduled_write", "SCHEDULED", "attempts", "1", "version", "2")
			refuse(s)
			r := s.judge(hardened)
			assert.Empty(t, outcomeOf(r, "attempts-equal-scheduled-writes").Violations)
			assert.Zero(t, outcomeOf(r, "ambiguous-write-applied").Exercised)
		})
	}
}

// Each state write counts the version up by one. A write that leaves the version alone is a write all the same.
func TestAWriteThatDoesNotCountIsAWrite(t *testing.T) {
	for version, miscounted := range map[string]bool{"2": true, "3": false, "4": true} {
		s := newStory().write("submitter", job1, "submit_write", "PENDING", "attempts", "0", "version", "1")
		s.lock(s1, job1).read(s1, job1).write(s1, job1, "timeout_write", "TIMEOUT", "version", "2").unlock(s1, job1)
		r := s.lock(s1, job1).write(s2, job1, "result_write", "SUCCEEDED", "version", version).judge(hardened)
		for _, name := range []string{"terminal-states-final", "lock-mutual-exclusion", "succeeded-implies-finished-execution"} {
			assert.Equal(t, 1, outcomeOf(r, name).Promised, "version %s: %s", version, name)
		}
		o := outcomeOf(r, "epochs-never-decrease")
		assert.Equal(t, miscounted, o.Promised == 1, "version %s", version)
		for _, v := range o.Violations {
			assert.Contains(t, v.Message, "the version went from 2 to "+version+" with the write of SUCCEEDED")
		}
	}
}

// A write from the past is not of the handling that its process has under way by now.
func TestALateWriteIsNobodysHandling(t *testing.T) {
	s := newStory().submit(job1).lock(s1, job1).op(s1, job1, "scheduled_write").fails().unlock(s1, job1).
		begins(s1, job1).scheduled(s1, job1, "scheduled_write").late().intended(s1, job1, w1).publish(s1, job1, w1)
	r := s.judge(config.Config{})
	assert.Empty(t, outcomeOf(r, "attempts-drain-by-two").Violations)
	assert.Equal(t, 1, outcomeOf(r, "ambiguous-write-applied").Exercised)
}

func TestEpochsAreDispatchesOfTheirOwn(t *testing.T) {
	s := newStory().submit(job1).dispatchedAt(s1, job1, w1, 1).begins(s1, job1).minted(s1, job1, w2, 2).publishes(s1, job1, w2, 2)
	assert.Empty(t, outcomeOf(s.judge(hardened), "one-dispatch-per-job").Violations)
	s.publishes(s1, job1, w1, 2)
	o := outcomeOf(s.judge(hardened), "one-dispatch-per-job")
	require.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, "second dispatch of epoch 2 stored")

	s = newStory().submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).voids(s2, job1, w1, 1).tells(s2, job1, w1)
	r := s.judge(hardened)
	assert.Zero(t, outcomeOf(r, "one-dispatch-per-job").Exercised, "neither a void nor a notice is a dispatch")
	assert.Empty(t, outcomeOf(r, "events-agree-with-servers").Violations)
}

// A result of an older epoch is acknowledged and ignored; one of the record's epoch is not.
func TestAStaleResultMayBeAcknowledged(t *testing.T) {
	acked := func(epoch int) []invariants.Violation {
		s := newStory().submit(job1).begins(s1, job1).minted(s1, job1, w1, 2).answers(w1, job1, epoch)
		s.message(s2, job1, "result_deliver", sim.KindDeliver, 1).of(2).ack(s2, job1, "result_ack").of(2)
		return outcomeOf(s.judge(hardened), "acked-only-when-durable").Violations
	}
	assert.Empty(t, acked(1))
	assert.Len(t, acked(2), 1)
}

func TestACancellationIsAckedWhenTheJobIsOver(t *testing.T) {
	s := newStory().submit(job1).cancels(job1).ack(s1, job1, "cancel_ack")
	o := outcomeOf(s.judge(hardened), "acked-only-when-durable")
	require.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, "acknowledged the cancellation")
	s = newStory().submit(job1).cancels(job1).cancelled(s1, job1).unlock(s1, job1).ack(s1, job1, "cancel_ack")
	assert.Empty(t, outcomeOf(s.judge(hardened), "acked-only-when-durable").Violations)
}

// A plain DEL gives a lock back, too, and ends its handling each time.
func TestAnUncheckedReleaseEndsItsHandling(t *testing.T) {
	s := newStory().submit(job1)
	for range 3 {
		s.lock(s1, job1)
		delete(s.redis, history.LockPrefix+job1)
		s.add(s1, sim.KindRedis, "del", history.LockPrefix+job1, job1, "lock_release", sim.Change{Key: history.LockPrefix + job1, Gone: true})
	}
	j := NewJudge(config.Config{})
	for i := range s.events {
		j.Observe(&s.events[i])
	}
	assert.Empty(t, j.Facts.Jobs[job1].Handlings)
}

// A worker that takes up the published intent of another handling was picked back then.
func TestAResumedIntentIsJudgedByItsPick(t *testing.T) {
	s := newStory().beat(w1, s1).submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishFails(s1, job1, w1).unlock(s1, job1)
	s.wait(time.Hour).lock(s2, job1).read(s2, job1).publishes(s2, job1, w1, 1)
	r := s.judge(hardened)
	assert.Equal(t, 2, outcomeOf(r, "no-dispatch-to-expired-worker").Exercised)
	assert.Empty(t, outcomeOf(r, "no-dispatch-to-expired-worker").Violations)
	assert.Equal(t, 1, outcomeOf(r, "intent-resumed").Exercised)
}

// The guard cannot know what it was asked before the handling elsewhere was done; and what Redis could
// not say releases the promise.
func TestTheGuardIsJudgedByWhatItCouldKnow(t *testing.T) {
	s := newStory().submit(job1).message(s2, job1, "submit_deliver", sim.KindDeliver, 2).at1().asks(s2, job1, 1)
	s.remembers(s1, job1, 1).inFlight(s2, job1, 1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "processed-message-not-handled-again").Violations)

	s = redelivered(newStory()).asks(s2, job1, 1).fails().inFlight(s2, job1, 1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "processed-message-not-handled-again").Violations)

	s = redelivered(newStory()).wait(11*time.Minute).asks(s2, job1, 1).inFlight(s2, job1, 1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "processed-message-not-handled-again").Violations, "Redis has forgotten it")
}

// Whoever acknowledges a message has noted before that it was handled, for as long as it may come again.
func TestTheGuardIsTold(t *testing.T) {
	acks := func(s *story) *story { return s.ack(s1, job1, "submit_ack") }
	refused := func() *story {
		return handled(newStory()).add(s1, sim.KindRedis, "multi", history.ProcessedPrefix+history.StreamSys+":1", job1, "processed_write").fails()
	}
	unguarded := hardened
	unguarded.IdempotencyGuard = false
	for name, c := range map[string]struct {
		s    *story
		cfg  config.Config
		says string // "" if it holds
	}{
		"it was told":                    {acks(handled(newStory()).remembers(s1, job1, 1)), hardened, ""},
		"it was not":                     {acks(handled(newStory())), hardened, "scheduler-1 acknowledged message 1 of CORDUM_SYS/scheduler-submit at step 13, and had not noted in Redis that it was handled"},
		"it forgets too soon":            {acks(handled(newStory()).remembers(s1, job1, 1).expires(time.Minute)), hardened, "Redis knows for 1m0s that message 1 of CORDUM_SYS/scheduler-submit was handled, which scheduler-1 acknowledged at step 14, and AckWait is 10m0s"},
		"it never forgets":               {acks(handled(newStory()).remembers(s1, job1, 1).expires(0)), hardened, "Redis never forgets that message 1"},
		"Redis refuses":                  {acks(refused()), hardened, ""},
		"without a guard":                {acks(handled(newStory())), unguarded, ""},
		"the message is not answered":    {handled(newStory()), hardened, ""},
		"another message had that place": {acks(handled(newStory()).add("", sim.KindControl, "power-loss", sim.NATS, "", "", sim.Change{Stream: history.StreamSys, Seq: 1, Gone: true})), hardened, ""},
	} {
		found := outcomeOf(c.s.judge(c.cfg), "processed-message-not-handled-again").Violations
		if c.says == "" {
			assert.Empty(t, found, name)
		} else if assert.Len(t, found, 1, name) {
			assert.Contains(t, found[0].Message, c.says, name)
			require.True(t, found[0].Promised, name)
		}
	}
}

// An illegal result comes again without anybody's fault but a strike's; what is judged is how each handling of it ended.
func TestAnIllegalResultIsJudgedByItsHandlings(t *testing.T) {
	const place = "CORDUM_SYS:2"
	says := func(s *story) []string {
		var list []string
		for _, v := range outcomeOf(s.judge(config.Config{}), "illegal-result-is-refused").Violations {
			list = append(list, v.Message)
		}
		return list
	}
	comes := func(s *story, phase string, kind sim.Kind, n uint64) *story {
		s.message(s1, job1, phase, kind, n).last().Seq = 2
		return s
	}
	begin := func() *story {
		return comes(newStory().submit(job1).answersNonsense(w1, job1), "result_deliver", sim.KindDeliver, 1)
	}
	files := func(s *story) *story { return s.dlq(s1, place, "schema_invalid", 0) }
	again := func(s *story) *story {
		return comes(files(comes(s, "result_deliver", sim.KindDeliver, 2)), "result_term", sim.KindTerm, 2)
	}

	assert.Empty(t, says(again(begin())), "a delivery that came to nothing")
	s := begin().add(s1, sim.KindRedis, "multi", history.DlqPrefix+place, job1, "dlq_write").fails()
	assert.Empty(t, says(again(comes(s, "result_nak", sim.KindNak, 1))), "Redis refused the entry")
	s = comes(files(begin()), "result_term", sim.KindTerm, 1)
	s.last().Fault = "lose"
	assert.Empty(t, says(again(s)), "its termination was lost")

	require.Len(t, says(again(comes(begin(), "result_nak", sim.KindNak, 1))), 1)
	assert.Contains(t, says(again(comes(begin(), "result_nak", sim.KindNak, 1)))[0], "was not refused at delivery 1, although it could be")
	s = again(comes(files(begin()), "result_term", sim.KindTerm, 1))
	require.Len(t, says(s), 1)
	assert.Contains(t, says(s)[0], "was refused again at step")
	s = comes(files(begin()), "result_term", sim.KindTerm, 1).add("", sim.KindControl, "kill", sim.NATS, "", "")
	assert.Empty(t, says(again(s)), "nats-server has forgotten that it was terminated")
}

// Without a fence a writer of the snapshot that outlived its lock may still write; one that never had it may not.
func TestASnapshotOfAnOverstayedWriter(t *testing.T) {
	s := newStory().ticks(s1, history.WriterKey, "snapshot_lock", 10*time.Second).stalls(s1).wait(11 * time.Second).writesSnapshot(s2).snapshots(s1)
	o := outcomeOf(s.judge(config.Config{}), "one-writer-a-tick")
	require.Len(t, o.Violations, 1)
	assert.False(t, o.Violations[0].Promised)
	assert.Contains(t, o.Violations[0].Message, "scheduler-1 wrote the snapshot at step 7 without the lock of the snapshot's writer, which nobody held")
}

// A job goes to the worker with the lowest load, be there one worker of that load or several.
func TestTheLeastLoadedGetsTheJob(t *testing.T) {
	said := func(cfg config.Config, to string) (list []string) {
		s := newStory().beats(w2, 1, s1).beats(w1, 3, s1).submit(job1).dispatched(s1, job1, to)
		for _, v := range outcomeOf(s.judge(cfg), "ties-broken-by-worker-id").Violations {
			list = append(list, v.Message)
		}
		return list
	}
	for _, cfg := range []config.Config{{}, {CountDispatches: true}} {
		assert.Empty(t, said(cfg, w2))
		if is := said(cfg, w1); assert.Len(t, is, 1) {
			assert.Contains(t, is[0], "scheduler-1 dispatched it to worker-1 at step 8; worker-2 had the load 1, and that one 3")
		}
	}
}

// sentBack is a delivery whose handling ends with a publish that fails.
func sentBack(s *story, delivery uint64) *story {
	return s.message(s1, job1, "submit_deliver", sim.KindDeliver, delivery).begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1).
		scheduled(s1, job1, "rollback_write").unlock(s1, job1).message(s1, job1, "submit_nak", sim.KindNak, delivery)
}

// For how long a message is sent back goes by what its handling met. Where that is not known for sure, it is anything from the
// shortest of all delays to the longest.
func TestForHowLongAMessageIsSentBack(t *testing.T) {
	nobody := func(s *story) { s.begins(s1, job1).unlock(s1, job1) }
	fails := func(s *story) *story { return s.begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1) }
	back := func(s *story) { fails(s).scheduled(s1, job1, "rollback_write").unlock(s1, job1) }
	unread := func(s *story) { s.lock(s1, job1).read(s1, job1).fails().unlock(s1, job1) }
	busy := func(s *story) { s.busy(s1, job1) }
	asks := func(s *story) { s.lock(s1, job1).read(s1, job1) }
	exactly := func(d time.Duration) config.Span { return config.Span{Least: d, Most: d} }
	drawn := func(d time.Duration) config.Span { return config.Span{Least: d, Most: d + 500*time.Millisecond} }
	anything := config.Span{Least: 500 * time.Millisecond, Most: time.Minute}
	even := config.Config{EvenBackoff: true}
	kernel := config.Config{Policy: config.PolicyConfig{Kernel: true, SharedBreaker: true}}
	for name, it := range map[string]struct {
		before   int // attempts
		delivery uint64
		meets    func(s *story)
		cfg      config.Config
		due      config.Span
	}{
		"a publish that failed":                    {0, 1, back, config.Config{}, drawn(time.Second)},
		"another one":                              {2, 1, back, config.Config{}, drawn(4 * time.Second)},
		"the last but one":                         {40, 1, back, config.Config{}, exactly(30 * time.Second)},
		"a publish that failed, with even_backoff": {0, 1, back, even, drawn(3 * time.Second)},
		"at the ceiling":                           {2, 1, back, config.Config{MaxSchedulingRetries: 4}, anything},
		"no workers":                               {4, 1, nobody, config.Config{}, exactly(2 * time.Second)},
		"no workers, with even_backoff":            {3, 1, nobody, even, drawn(16 * time.Second)},
		"a pool that is overloaded":                {4, 1, func(s *story) { nobody(s.beats(w1, 9, s1)) }, config.Config{}, drawn(16 * time.Second)},
		"what may be a stale worker":               {4, 1, func(s *story) { nobody(s.beats(w1, 0, s1)) }, config.Config{}, config.Span{Least: 2 * time.Second, Most: 16500 * time.Millisecond}},
		"a busy lock":                              {4, 1, busy, config.Config{}, exactly(500 * time.Millisecond)},
		"a busy lock again, with busy_backoff":     {4, 3, busy, config.Config{BusyBackoff: true}, exactly(2 * time.Second)},
		"a busy lock for long, with busy_backoff":  {4, 90, busy, config.Config{BusyBackoff: true}, exactly(30 * time.Second)},
		"a lock that cannot be asked for":          {4, 1, func(s *story) { s.busy(s1, job1).fails() }, config.Config{}, exactly(time.Second)},
		"two who ask for the lock":                 {4, 1, func(s *story) { s.busy(s1, job1).busy(s1, job1) }, config.Config{}, anything},
		"a read that failed":                       {4, 1, unread, config.Config{}, exactly(time.Second)},
		"a read that failed, failing open":         {4, 1, unread, config.Config{ReadError: "fail-open"}, anything},
		"a replica that does not confirm":          {0, 1, func(s *story) { s.op(s1, job1, "replica_wait").fails() }, config.Config{}, exactly(time.Second)},
		"a void that is not published": {0, 1, func(s *story) {
			asks(s)
			s.add(s1, sim.KindPublish, "", "", job1, "void_publish").fails().unlock(s1, job1)
		}, config.Config{}, exactly(2 * time.Second)},
		"a kernel that gives no answer": {0, 3, func(s *story) {
			asks(s)
			s.calls(s1, job1).hears(s1, job1, 0).unlock(s1, job1)
		}, kernel, drawn(4 * time.Second)},
		"a kernel that throttles": {0, 3, func(s *story) {
			asks(s)
			s.calls(s1, job1).hears(s1, job1, 5).unlock(s1, job1)
		}, kernel, exactly(5 * time.Second)},
		"a circuit that is open": {0, 1, func(s *story) {
			c := s.set("cordum:cb:safety:failures", "", "3")
			c.Expires = 30*time.Second + model.CountKept
			s.add(s1, sim.KindRedis, "multi", c.Key, "", "breaker_write", c)
			asks(s)
			s.add(s1, sim.KindRedis, "pipeline", c.Key, job1, "breaker_read").unlock(s1, job1)
		}, kernel, exactly(5 * time.Second)},
		"a rollback that failed": {4, 1, func(s *story) { fails(s).op(s1, job1, "rollback_write").fails().unlock(s1, job1) }, config.Config{}, anything},
		"the stream's refusal":   {4, 1, func(s *story) { s.begins(s1, job1).minted(s1, job1, w1, 1).refused(s1, job1, w1, 1).unlock(s1, job1) }, hardened, anything},
		"the handling of a replayer": {4, 1, func(s *story) {
			s.add(s1, sim.KindRedis, "", history.RecordPrefix+job1, job1, "replay_read")
			nobody(s)
		}, config.Config{}, anything},
	} {
		for delay, violations := range map[time.Duration]int{it.due.Least - 1: 1, it.due.Least: 0, it.due.Most: 0, it.due.Most + 1: 1} {
			s := newStory().submit(job1).write(s2, job1, "submit_write", "PENDING", "attempts", strconv.Itoa(it.before))
			s.message(s1, job1, "submit_deliver", sim.KindDeliver, it.delivery)
			it.meets(s)
			s.message(s1, job1, "submit_nak", sim.KindNak, it.delivery).awayFor(delay)
			assert.Len(t, outcomeOf(s.judge(it.cfg), "retry-waits-its-delay").Violations, violations, "%s: for %s", name, delay)
		}
	}
}

// A message that nobody can read is sent back for 5 s if its DLQ entry cannot be written.
func TestForHowLongAnUnreadableMessageIsSentBack(t *testing.T) {
	for delay, violations := range map[time.Duration]int{time.Second: 1, 5 * time.Second: 0, 6 * time.Second: 1} {
		s := newStory()
		c := s.store(history.StreamSys, history.SubjectSubmit, job1)
		c.Value = "{"
		s.add("submitter", sim.KindPublish, "", history.SubjectSubmit, job1, "submit_publish", c).message(s1, job1, "submit_deliver", sim.KindDeliver, 1)
		s.add(s1, sim.KindRedis, "watch", history.DlqPrefix+model.Place(1), job1, "dlq_write").fails()
		s.message(s1, job1, "submit_nak", sim.KindNak, 1).awayFor(delay)
		assert.Len(t, outcomeOf(s.judge(config.Config{}), "retry-waits-its-delay").Violations, violations, delay)
	}
}

// A message that was sent back comes again no sooner.
func TestWhatWasSentBackStaysAway(t *testing.T) {
	for after, violations := range map[time.Duration]int{time.Second - 2*time.Millisecond: 1, time.Second: 0} {
		s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1)
		s.message(s1, job1, "submit_nak", sim.KindNak, 1).wait(after-time.Millisecond).message(s2, job1, "submit_deliver", sim.KindDeliver, 2)
		assert.Len(t, outcomeOf(s.judge(config.Config{}), "retry-waits-its-delay").Violations, violations, after)
	}
}

// A message that comes again for another reason may come at any time.
func TestWhatWasNotSentBackMayComeAtOnce(t *testing.T) {
	for name, then := range map[string]func(s *story){
		"the nak was lost":                    func(s *story) { s.lost() },
		"a delivery was lost":                 func(s *story) { s.message(s1, job1, "submit_deliver", sim.KindDeliver, 2).lost() },
		"nats-server was killed":              func(s *story) { s.control("kill", sim.NATS).control("start", sim.NATS) },
		"somebody has it":                     func(s *story) { s.message(s1, job1, "submit_deliver", sim.KindDeliver, 2) },
		"there is a delivery nobody has seen": func(s *story) {},
	} {
		s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1)
		if name == "somebody has it" {
			s.message(s2, job1, "submit_deliver", sim.KindDeliver, 1)
		}
		s.message(s1, job1, "submit_nak", sim.KindNak, 1)
		then(s)
		s.message(s1, job1, "submit_deliver", sim.KindDeliver, 3)
		assert.Empty(t, outcomeOf(s.judge(config.Config{}), "retry-waits-its-delay").Violations, name)
	}
}

// Where the stream holds a dispatch already, its worker is nobody's choice any more.
func TestWhatTheStreamSaysIsNoChoice(t *testing.T) {
	cfg := hardened
	cfg.DispatchOrder, cfg.CountDispatches = "publish-first", true
	judge := func(invariant string, before, after func(*story)) int {
		s := newStory().beats(w2, 1, s1).beats(w1, 1, s1).submit(job1).submit(job2)
		before(s)
		s.begins(s1, job1)
		after(s)
		return len(outcomeOf(s.minted(s1, job1, w2, 1).judge(cfg), invariant).Violations)
	}
	nothing := func(*story) {}
	earlier := func(s *story) { s.begins(s2, job1).publishes(s2, job1, w2, 1).unlock(s2, job1) }
	other := func(s *story) { s.dispatchedAt(s1, job2, w2, 1) }
	stores := func(s *story) { s.publishes(s1, job1, w2, 1) }
	refused := func(s *story) { s.refused(s1, job1, w1, 1) }
	assert.Equal(t, 1, judge("ties-broken-by-worker-id", nothing, stores))
	assert.Zero(t, judge("ties-broken-by-worker-id", earlier, refused))
	assert.Positive(t, judge("dispatches-count-as-load", other, stores))
	with := func(s *story) { other(s); earlier(s) }
	assert.Equal(t, judge("dispatches-count-as-load", other, stores)-1, judge("dispatches-count-as-load", with, refused))
}

// A replica whose picks may have met a worker past its TTL sends the job back for that, though it knows another that is alive.
func TestAStaleWorkerIsNoWantOfKnownOnes(t *testing.T) {
	broken := func(ago time.Duration) int {
		s := newStory().snapshots(s2, heard{worker: w1, ago: 10 * time.Second}, heard{worker: w2, ago: ago}).starts(s1).wait(10 * time.Second)
		s.submit(job1).begins(s1, job1).unlock(s1, job1)
		return len(outcomeOf(s.judge(hardened), "no-retry-for-want-of-known-workers").Violations)
	}
	assert.Equal(t, 1, broken(10*time.Second))
	assert.Zero(t, broken(25*time.Second), "it is past its TTL by the pick")
	assert.Equal(t, 1, broken(35*time.Second), "it was by the start, so that the replica does not know it")
}

// A replica that has read the snapshot, and was not told the time, starts cold.
func TestASnapshotWithoutTheTimeTellsNothing(t *testing.T) {
	s := newStory().snapshots(s2, heard{worker: w1, ago: 10 * time.Second})
	s.add(s1, sim.KindStart, "", "", "", "")
	s.add(s1, sim.KindRedis, "get", history.SnapshotKey, "", "snapshot_read")
	s.beats(w2, 0, s1).submit(job1).dispatched(s1, job1, w1)
	assert.NotEmpty(t, outcomeOf(s.judge(hardened), "no-dispatch-to-expired-worker").Violations)
}

// When a snapshot is written says nothing of when its writer heard of whom: it may have been on its way for long.
func TestALateSnapshotIsAsOldAsItSays(t *testing.T) {
	s := newStory().snapshots(s2, heard{worker: w1, ago: 10 * time.Second}).arrives(40 * time.Second).starts(s1)
	s.submit(job1).begins(s1, job1).unlock(s1, job1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "no-retry-for-want-of-known-workers").Violations, "nobody has heard of it for longer than its TTL")

	s = newStory().snapshots(s2, heard{worker: w1, ago: 10 * time.Second}).arrives(40 * time.Second).starts(s1)
	s.submit(job1).dispatched(s1, job1, w1)
	assert.NotEmpty(t, outcomeOf(s.judge(hardened), "snapshot-revives-no-worker").Violations)
}

// The words of a promise name the settings that it depends on, and those of a report their outcome.
func TestPromiseNamesItsSettings(t *testing.T) {
	promised := func(name string) string {
		inv, ok := Find(name)
		require.True(t, ok)
		return inv.Promise
	}
	assert.Regexp(t, "^with cancel_notice and an intent before each dispatch, or with cancel_notice and epochs and void_intents, under every fault(?: but [a-z, -]+)?; under ", promised("cancelled-job-is-told"))
	assert.Regexp(t, "^under every fault; under write-unanswered only with recheck_timeouts; under write-late, scheduler-away only with fence and recheck_timeouts; under lock-fails only with fence; under ", promised("terminal-states-final"))
	assert.Equal(t, "with read_error=fail-closed, under every fault", promised("no-dispatch-after-failed-read"))
	assert.Equal(t, "under every fault", promised("told-worker-stops"))
	report := newStory().judge(config.Config{})
	assert.Equal(t, "not under these settings", outcomeOf(report, "cancelled-job-is-told").Promise)
	for _, o := range report.Invariants {
		list := strings.Split(strings.TrimPrefix(o.Promise, "unless struck by "), ", ")
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(list))), len(list), "%s names each strike once: %s", o.Name, o.Promise)
	}
	assert.Equal(t, "unless struck by nats-power-loss", outcomeOf(newStory().judge(hardened), "one-dispatch-per-job").Promise)
}

func TestConfigReadsTopicTimeouts(t *testing.T) {
	cfg := config.Config{TopicTimeouts: "job.fast=20s, job.slow=10m"}.WithDefaults()
	assert.Equal(t, 20*time.Second, cfg.TimeoutOf("job.fast"))
	assert.Equal(t, 10*time.Minute, cfg.TimeoutOf("job.slow"))
	assert.Equal(t, 300*time.Second, cfg.TimeoutOf("job.default"))
}

// A scheduler whose clock is fast stamps what it writes with times that have not come.
func TestATimeoutByAFastClockIsTooEarly(t *testing.T) {
	s := newStory().submit(job1).dispatched(s1, job1, w1).wait(time.Minute).timesOut(s2, job1)
	changes := s.last().Changes
	for i := range changes {
		if changes[i].Field == "updated_at" {
			changes[i].Value = strconv.FormatInt((s.at + 40*time.Minute).Milliseconds(), 10)
		}
	}
	r := s.judge(hardened)
	assert.Equal(t, 1, outcomeOf(r, "timeout-only-when-due").Promised)
	assert.Contains(t, outcomeOf(r, "timeout-only-when-due").Violations[0].Message, "too early")
}

// repickDropped is a job that goes to another worker, for whom the stream stores nothing: it remembers the
// dispatch to the first, whose ack was lost.
func repickDropped(s *story) *story {
	return s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).fails().
		scheduled(s1, job1, "rollback_write").unlock(s1, job1).
		begins(s1, job1).intended(s1, job1, w2).publishDropped(s1, job1, w2).write(s1, job1, "running_write", "RUNNING").unlock(s1, job1)
}

// A publish that is confirmed and not stored is no dispatch, whatever its publisher makes of it.
func TestADroppedPublishIsNoDispatch(t *testing.T) {
	s := repickDropped(newStory()).wait(31*time.Minute).timesOut(s2, job1)
	s.counted(map[string]float64{"scheduler_duplicate_publishes_total": 1, "scheduler_dispatch_rollback_total": 1, "jobs_completed": 1})
	r := s.judge(config.Config{})
	assert.Empty(t, outcomeOf(r, "one-dispatch-per-job").Violations)
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)
	require.Len(t, outcomeOf(r, "every-intent-is-published").Violations, 1)
	v := outcomeOf(r, "every-intent-is-published").Violations[0]
	assert.True(t, v.Promised)
	assert.Contains(t, v.Message, "(to worker-2)")
}

// With watch_workers a job may be timed out while RUNNING once its worker is known to be silent.
func TestATimeoutOfASilentWorkersJob(t *testing.T) {
	const silent = 5*time.Minute + 20*time.Second
	begins := func() *story { return newStory().submit(job1).beat(w1, s1, s2).dispatched(s1, job1, w1) }
	for name, c := range map[string]struct {
		story *story
		early bool
	}{
		"for as long as the dispatch timeout":       {begins().beatsFor(silent, w2, s2), false},
		"not for as long":                           {begins().beatsFor(silent-time.Minute, w2, s2), true},
		"not all the time":                          {begins().beatsFor(silent/2, w2, s2).beat(w1, s2).beatsFor(silent/2, w2, s2), true},
		"to a replica that hears of nobody":         {begins().wait(silent), true},
		"to one that has heard of nobody meanwhile": {begins().wait(silent).beatsFor(time.Minute, w2, s2), true},
		"to another replica only":                   {begins().beatsFor(silent, w2, s1), true},
	} {
		violations := outcomeOf(c.story.timesOut(s2, job1).judge(hardened), "timeout-only-when-due").Violations
		assert.Equal(t, c.early, len(violations) == 1, name)
	}
	s := begins().beatsFor(silent, w2, s2).timesOut(s2, job1)
	assert.Len(t, outcomeOf(s.judge(with(func(c *config.Config) { c.WatchWorkers = false })), "timeout-only-when-due").Violations, 1)
}

func TestLastCauses(t *testing.T) {
	cfg := config.Config{MaxSchedulingRetries: 2, StaleWorker: "fixed-retries", Tenants: config.TenantConfig{Limit: 1}}
	busy := func(s *story) *story { return s.beats(w1, 9, s1) }
	for name, c := range map[string]struct {
		meets func(s *story) *story
		cause string
		told  string // of another cause
	}{
		"nobody is known":           {func(s *story) *story { return s }, "no_workers", "pool_overloaded"},
		"the only worker is busy":   {busy, "pool_overloaded", "no_workers"},
		"the busy worker is gone":   {func(s *story) *story { return busy(s).wait(time.Minute) }, "no_workers", "pool_overloaded"},
		"its publish never set out": {busy, "pool_overloaded", "dispatch_failed"},
		"its tenant is at its limit": {func(s *story) *story {
			return s.submit(job2).dispatched(s1, job2, w1).slots("default", job2)
		}, "tenant_limit", "no_workers"},
	} {
		for _, told := range []string{c.cause, c.told} {
			s := c.meets(newStory()).submit(job1).begins(s1, job1)
			if c.cause == "tenant_limit" {
				s.add(s1, sim.KindRedis, "scard", "", job1, "tenant_read")
			}
			got := outcomeOf(s.givenUp(s1, job1, told).judge(cfg), "last-cause-is-true")
			assert.Equal(t, 1, got.Exercised, name)
			assert.Equal(t, told != c.cause, len(got.Violations) > 0, "%s: %s", name, told)
		}
	}
}

// A job whose request was sent back each time is not tried for much longer than its budget; one that was left to AckWait may be,
// or to the replayer.
func TestAJobIsNotTriedForLongerThanItsBudget(t *testing.T) {
	cfg := config.Config{MaxSchedulingRetries: 2, EvenBackoff: true, BusyBackoff: true, BackoffMax: 30 * time.Second, Outages: time.Minute}
	lost := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1().begins(s1, job1).unlock(s1, job1)
	lost.losesPower(history.StreamSys, 1).wait(151*time.Second).begins(s1, job1).givenUp(s1, job1, "no_workers")
	assert.Empty(t, outcomeOf(lost.judge(cfg), "attempts-last-their-budget").Violations)
	replayer := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1().begins(s1, job1).unlock(s1, job1)
	replayer.message(s1, job1, "submit_nak", sim.KindNak, 1).at1().fails().wait(151*time.Second).begins(s1, job1).givenUp(s1, job1, "no_workers")
	assert.Empty(t, outcomeOf(replayer.judge(cfg), "attempts-last-their-budget").Violations, "its nak failed, and a replayer took it up")
	for after, sentBack := range map[time.Duration]bool{149 * time.Second: true, 151 * time.Second: true, 152 * time.Second: false} {
		s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1()
		s.begins(s1, job1).unlock(s1, job1)
		if sentBack {
			s.message(s1, job1, "submit_nak", sim.KindNak, 1).at1()
		}
		s.wait(after).message(s1, job1, "submit_deliver", sim.KindDeliver, 2).at1().begins(s1, job1).givenUp(s1, job1, "no_workers")
		got := outcomeOf(s.judge(cfg), "attempts-last-their-budget")
		assert.Equal(t, after == 151*time.Second, len(got.Violations) > 0, "%s: %v", after, got)
	}
}
