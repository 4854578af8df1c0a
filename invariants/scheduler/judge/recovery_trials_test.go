package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// hardened has every setting of the preset that promises depend on.
var hardened = config.Config{
	TickLock: "renewed", StaleReasonCode: "stale_worker", DLQOrder: "atomic",
	Fence: true, Epochs: true, ResumeIntents: true, RefuseStaleResults: true, VoidIntents: true, RetryUnpublished: true, CancelNotice: true,
	SweepScheduled: true, RecheckTimeouts: true, BusyBackoff: true, WatchWorkers: true, SnapshotLastSeen: true,
	Reconciler: true, PendingReplayer: true, IdempotencyGuard: true,
}

// with returns the preset hardened with changes.
func with(change func(*config.Config)) config.Config {
	cfg := hardened
	change(&cfg)
	return cfg
}

// handled is a request that was handled and not acknowledged yet.
func handled(s *story) *story {
	s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1()
	return s.begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).write(s1, job1, "running_write", "RUNNING").unlock(s1, job1)
}

// redelivered is a request whose handling was done, and noted, and that comes again.
func redelivered(s *story) *story {
	handled(s).remembers(s1, job1, 1).ack(s1, job1, "submit_ack")
	return s.message(s2, job1, "submit_deliver", sim.KindDeliver, 2).at1()
}

// overdue is a job that stays RUNNING for a minute longer than it may.
func overdue(s *story) {
	s.submit(job1).dispatchedAt(s1, job1, w1, 1).reconciles(s1).wait(31*time.Minute).reconciles(s1).timesOut(s1, job1)
}

var recoveryTrials = map[string]trial{
	"every-intent-is-published": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).unlock(s1, job1).wait(6*time.Minute).timesOut(s2, job1)
		},
		says: "TIMEOUT was written at step 12, and no dispatch was ever stored for the DISPATCHED write at step 6 (to worker-1)",
		holds: func(s *story) {
			calm(s)
			rolledBack(s) // undone, so that nothing need follow
		},
	},
	"no-dispatch-after-end": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).write(s1, job1, "cancel_write", "CANCELLED").publish(s1, job1, w1)
		},
		says:  "although the job was CANCELLED since step 7",
		holds: calm,
	},
	"epochs-never-decrease": {
		breaks: func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 2).begins(s1, job1).minted(s1, job1, w1, 1)
		},
		says:  "the epoch went from 2 to 1 with the write of DISPATCHED",
		holds: func(s *story) { s.submit(job1).dispatchedAt(s1, job1, w1, 1).begins(s1, job1).minted(s1, job1, w1, 2) },
	},
	"snapshot-revives-no-worker": {
		cfg: hardened,
		breaks: func(s *story) {
			s.snapshots(s2, heard{worker: w1, ago: time.Minute}).starts(s1).submit(job1).dispatched(s1, job1, w1)
		},
		says: "after anybody had heard of the worker; it knew it from the snapshot",
		holds: func(s *story) {
			s.snapshots(s2, heard{worker: w1, ago: 20 * time.Second}).starts(s1).submit(job1).dispatched(s1, job1, w1)
		},
	},
	"no-retry-for-want-of-known-workers": {
		breaks: func(s *story) {
			s.snapshots(s2, heard{worker: w1}).starts(s1).submit(job1).begins(s1, job1).unlock(s1, job1)
		},
		says: "scheduler-1 found no worker for it by step 10, although the snapshot listed worker-1 at its start",
		holds: func(s *story) {
			s.snapshots(s2, heard{worker: w1}).starts(s1).submit(job1).dispatched(s1, job1, w1)
			s.wait(time.Minute).begins(s1, job1).unlock(s1, job1) // by now it is not known to be alive
		},
	},
	"ties-broken-by-worker-id": {
		breaks: func(s *story) { s.beats(w2, 1, s1).beats(w1, 1, s1).submit(job1).dispatched(s1, job1, w2) },
		says:   "scheduler-1 dispatched it to worker-2 at step 8; worker-1 had the same load, and comes first",
		holds: func(s *story) {
			s.beats(w2, 1, s1).beats(w1, 1, s1).submit(job1).dispatched(s1, job1, w1)
			s.beats(w1, 2, s1).dispatched(s1, job1, w2) // no tie
			s.beats(w2, 2, s1).wait(31*time.Second).beats(w2, 2, s1).dispatched(s1, job1, w2)
			s.beats(w1, 9, s1).beats(w2, 9, s1).dispatched(s1, job1, w2) // both are overloaded
		},
	},
	"dispatches-count-as-load": {
		cfg: config.Config{CountDispatches: true},
		breaks: func(s *story) {
			s.beats(w2, 1, s1).beats(w1, 1, s1).submit(job1).dispatched(s1, job1, w1).submit(job2).dispatched(s1, job2, w1)
		},
		says: "scheduler-1 dispatched it to worker-1 at step 20, to which it had dispatched 1 job since the heartbeat of that; to worker-2, whose heartbeat says the same load, 0",
		holds: func(s *story) {
			s.beats(w2, 1, s1).beats(w1, 1, s1).submit(job1).dispatched(s1, job1, w1).submit(job2).dispatched(s1, job2, w2)
			s.beats(w1, 1, s1).dispatched(s1, job1, w1) // it has said how much it has
			s.beats(w2, 3, s1).dispatched(s1, job2, w1) // the other has more
		},
	},
	"one-effect-per-key": {
		cfg: config.Config{Deduplicate: true, Replay: config.ReplayConfig{KeepKey: true}},
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).effect(w2, job1, "finish")
		},
		says: "the effect of idempotency key job-1:key happened again at step 16 on worker-2; it had happened before for job-1, on worker-1",
		holds: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).effect(w2, job1, "finish")
			s.last().Outcome = history.EffectHad
		},
	},
	"one-execution-per-job": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishes(s1, job1, w1, 1).unlock(s1, job1).effect(w1, job1, "begin")
			s.begins(s2, job1).minted(s2, job1, w2, 2).publishes(s2, job1, w2, 2).effect(w2, job1, "begin")
		},
		says: "on worker-2; the first began at step",
		holds: func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).executed(w1, job1)
		},
	},
	"stale-worker-has-its-own-reason": {
		cfg: hardened,
		breaks: func(s *story) {
			calm(s)
			s.counted(map[string]float64{`scheduler_stale_worker_retry_total{topic="job.default",worker="worker-1"}`: 6, `scheduler_retry_total{phase="pick",reason_code="no_workers",topic="job.default"}`: 2})
		},
		says: "2 handlings in which every pick met a worker past its TTL, but scheduler_retry_total counts 0 retries for the reason stale_worker",
		holds: func(s *story) {
			calm(s)
			s.submit("job-2").begins(s1, "job-2").control("crash", s1) // before it counts the last retry
			s.counted(map[string]float64{history.CounterStalePicks: 9, `scheduler_retry_total{phase="pick",reason_code="stale_worker",topic="job.default"}`: 2})
		},
	},
	"stale-worker-is-picked-again": {
		cfg: hardened,
		breaks: func(s *story) {
			calm(s)
			s.counted(map[string]float64{history.CounterStalePicks: 3, `scheduler_retry_total{phase="pick",reason_code="stale_worker",topic="job.default"}`: 2})
		},
		says: "2 retries for the reason stale_worker, but 3 picks met a worker past its TTL; each was to follow 3",
		holds: func(s *story) {
			s.beat(w1, s1).wait(31*time.Second).submit(job1).begins(s1, job1).unlock(s1, job1).begins(s1, job1).unlock(s1, job1)
			s.counted(map[string]float64{history.CounterStalePicks: 6, `scheduler_retry_total{phase="pick",reason_code="stale_worker",topic="job.default"}`: 2})
		},
	},
	"heartbeat-tells-the-truth": {
		cfg:    beating,
		breaks: func(s *story) { s.begun(w1, job1).wait(2*time.Second).isHeard(w1, s1, 0) },
		says:   "scheduler-1 heard by step 5 from worker-1, whose active_jobs is 0, and it executed 1",
		holds:  func(s *story) { s.begun(w1, job1).wait(2*time.Second).isHeard(w1, s1, 1) },
	},
	"live-worker-is-found": {
		breaks: func(s *story) { s.beats(w1, 0, s1).submit(job1).begins(s1, job1).unlock(s1, job1) },
		says:   "scheduler-1 found no worker for it by step 7, although it knew worker-1, which was alive and free, and listed none past its TTL",
		holds: func(s *story) {
			s.beats(w1, 0, s1).beats(w2, 0, s1).submit(job1).dispatched(s1, job1, w1)
			s.wait(20*time.Second).beats(w2, 0, s1).wait(11*time.Second).submit("job-2").begins(s1, "job-2").unlock(s1, "job-2")
		},
	},
	"timeout-only-when-due": {
		cfg:    hardened,
		breaks: func(s *story) { s.submit(job1).dispatched(s1, job1, w1).wait(6*time.Minute).timesOut(s2, job1) },
		says:   "scheduler-2 wrote TIMEOUT at step 15 too early: it was RUNNING for 6m0.007s, and the timeout is 30m0s",
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).unlock(s1, job1).wait(5*time.Minute).timesOut(s2, job1)
			s.submit("job-2").dispatched(s1, "job-2", w1).wait(30*time.Minute).timesOut(s2, "job-2")
			s.write("submitter", "job-3", "submit_write", "PENDING", "attempts", "0", "deadline_at", "1000").wait(time.Second).timesOut(s2, "job-3")
		},
	},
	"dead-worker-is-noticed": {
		cfg: hardened,
		breaks: func(s *story) {
			s.submit(job1).beat(w1, s1, s2).dispatched(s1, job1, w1).beatsFor(15*time.Minute, w2, s2).timesOut(s2, job1)
		},
		says: "scheduler-2 timed it out at step 198 after 15m0.187s of RUNNING on worker-1 without a word of that; the dispatch timeout is 5m0s",
		holds: func(s *story) {
			s.submit(job1).beat(w1, s1, s2).dispatched(s1, job1, w1).beatsFor(5*time.Minute+20*time.Second, w2, s2).timesOut(s2, job1)
		},
	},
	"no-timeout-while-executing": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).unlock(s1, job1).effect(w1, job1, "begin").
				wait(6*time.Minute).timesOut(s2, job1)
		},
		says: "scheduler-2 timed it out at step 14 as DISPATCHED while worker-1 was executing it; it was first begun at step 11",
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).unlock(s1, job1).effect(w1, job1, "begin").
				control("crash", w1).wait(6*time.Minute).timesOut(s2, job1)
		},
	},
	"result-of-current-epoch": {
		cfg: hardened,
		breaks: func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).answers(w1, job1, 1).begins(s1, job1).minted(s1, job1, w2, 2).unlock(s1, job1)
			s.message(s2, job1, "result_deliver", sim.KindDeliver, 1).of(2).lock(s2, job1).write(s2, job1, "result_write", "SUCCEEDED")
		},
		says: "scheduler-2 wrote SUCCEEDED at step 23 by a result of epoch 1; the record's epoch is 2",
		holds: func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).answers(w1, job1, 1)
			s.message(s2, job1, "result_deliver", sim.KindDeliver, 1).of(2).lock(s2, job1).write(s2, job1, "result_write", "SUCCEEDED")
		},
	},
	"lock-kept-by-living-holder": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).wait(61*time.Second).intended(s1, job1, w1)
		},
		says: "scheduler-1 was still handling it at step 6 (dispatched_write), 1.003s after the lock that it had taken ran out",
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).wait(20*time.Second).renew(s1, job1, time.Minute).wait(50*time.Second).intended(s1, job1, w1)
		},
	},
	"lock-renewed-by-thirds": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).wait(30*time.Second).renew(s1, job1, time.Minute)
		},
		says: "scheduler-1 renewed the lock at step 6, 30.003s after it had taken or renewed it; a third of its TTL is 20s",
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).wait(20*time.Second).renew(s1, job1, time.Minute).wait(10*time.Second).unlock(s1, job1)
		},
	},
	"overdue-job-found-within-a-poll": {
		cfg:    hardened,
		breaks: overdue,
		says:   "it was RUNNING when its time was up at 30m0.008s, and nobody brought it on for 1m0.006s, until step",
		holds: func(s *story) { // the tick takes its time
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).unlock(s1, job1).wait(5*time.Minute + 25*time.Second).reconciles(s1)
			s.wait(10*time.Second).timesOut(s1, job1)
		},
	},
	"what-is-due-is-taken-up": {
		cfg:    config.Config{Reconciler: true},
		breaks: func(s *story) { s.submit(job1).dispatched(s1, job1, w1).wait(32*time.Minute).timesOut(s1, job1) },
		says:   "its time was up at 30m0.008s, and nobody brought it on for 2m0.00",
		holds:  func(s *story) { s.submit(job1).dispatched(s1, job1, w1).wait(31*time.Minute).timesOut(s1, job1) },
	},
	"waiting-job-is-left-alone": {
		cfg:    config.Config{PendingReplayer: true},
		breaks: func(s *story) { s.submit(job1).wait(time.Minute).op(s1, job1, "replay_read").begins(s1, job1) },
		says:   "the replayer of scheduler-1 took it up at step 6, after 1m0.00",
		holds:  func(s *story) { s.submit(job1).wait(2*time.Minute).op(s1, job1, "replay_read").begins(s1, job1) },
	},
	"one-writer-a-tick": {
		breaks: func(s *story) { s.reconciles(s1).wait(10 * time.Second).reconciles(s2) },
		says:   "scheduler-2 began a tick of the reconciler at step 2, 10.001s after scheduler-1 had begun one (at step 1); a poll is 30s",
		holds: func(s *story) {
			s.reconciles(s1).wait(time.Minute).reconciles(s2).wait(time.Minute).reconciles(s2)
			s.writesSnapshot(s1).writesSnapshot(s2)
		},
	},
	"snapshot-stays-fresh": {
		breaks: func(s *story) {
			s.beats(w1, 0, s1).writesSnapshot(s1, heard{worker: w1}).wait(17*time.Second).writesSnapshot(s1, heard{worker: w1, ago: 17 * time.Second})
		},
		says: "although scheduler-1 had heard of workers for 17.0",
		holds: func(s *story) {
			s.beats(w1, 0, s1).writesSnapshot(s1, heard{worker: w1}).wait(15*time.Second).writesSnapshot(s1, heard{worker: w1, ago: 15 * time.Second})
		},
	},
	"processed-message-not-handled-again": {
		cfg:    hardened,
		breaks: func(s *story) { redelivered(s).asks(s2, job1, 1).inFlight(s2, job1, 1) },
		says:   "scheduler-2 handled message 1 of CORDUM_SYS/scheduler-submit at step",
		holds:  func(s *story) { redelivered(s).asks(s2, job1, 1).ack(s2, job1, "submit_ack").at1() },
	},
	"no-message-given-up": {
		cfg: hardened,
		breaks: func(s *story) {
			s.submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 100).at1().message(s1, job1, "submit_nak", sim.KindNak, 100).at1()
		},
		says: "message 1 of CORDUM_SYS/scheduler-submit was given up after 100 deliveries, while the job was PENDING",
		holds: func(s *story) {
			calm(s)
			s.message(s1, job1, "submit_deliver", sim.KindDeliver, 100).at1().message(s1, job1, "submit_nak", sim.KindNak, 100).at1()
		},
	},
	"dispatch-acked-only-when-answered": {
		cfg: hardened,
		breaks: func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).message(w1, job1, "job_deliver", sim.KindDeliver, 1).of(1).message(w1, job1, "job_ack", sim.KindAck, 1).of(1)
		},
		says: "worker-1 acknowledged the dispatch (seq 1, epoch 1) at step 14, although the stream had no result of it, and nobody had told the worker to drop it",
		holds: func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).message(w1, job1, "job_deliver", sim.KindDeliver, 1).of(1).
				effect(w1, job1, "begin").effect(w1, job1, "finish").answers(w1, job1, 1).message(w1, job1, "job_ack", sim.KindAck, 1).of(1)
		},
	},
	"only-poison-is-terminated": {
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(2)
			s.dlq(s1, "CORDUM_SYS:2", "schema_invalid", 0).message(s1, job1, "result_term", sim.KindTerm, 1).of(2)
		},
		says: "scheduler-1 terminated message 2 of CORDUM_SYS/scheduler-result at step 18, which can be handled",
		holds: func(s *story) {
			s.garbles("poison-1").message(s1, "poison-1", "submit_term", sim.KindTerm, 1).of(1)
			s.submit(job1).dispatched(s1, job1, w1).answersNonsense(w1, job1).message(s1, job1, "result_term", sim.KindTerm, 1).of(3)
		},
	},
	"terminated-message-has-dlq-entry": {
		breaks: func(s *story) {
			s.garbles("poison-1")
			s.message(s1, "poison-1", "submit_term", sim.KindTerm, 1).at1()
		},
		says: "a message of it was terminated at step 2, but dlq:entry:CORDUM_SYS:1 was never written",
		holds: func(s *story) {
			s.garbles("poison-1")
			s.dlq(s1, "CORDUM_SYS:1", "parse_error", 0).message(s1, "poison-1", "submit_term", sim.KindTerm, 1).at1()
		},
	},
	"failed-never-precedes-its-dlq-entry": {
		cfg:    config.Config{DLQOrder: "dlq-then-state"},
		breaks: func(s *story) { s.submit(job1).rejected(s1, job1) },
		says:   "scheduler-1 wrote FAILED at step 6 (failed_write), before dlq:entry:job-1 was written",
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).dlq(s1, job1, "no_pool_mapping", 1).
				write(s1, job1, "failed_write", "FAILED", "reason_code", "no_pool_mapping")
		},
	},
	"dispatch-is-what-was-decided": {
		breaks: func(s *story) { s.allowed(s1, job1, `{"n":1}`).dispatchesPayload(s1, job1, w1, `{"n":2}`) },
		says:   "what was dispatched at step 6, CORDUM_JOBS seq 1, is not the request that was decided upon: they differ in the payload",
		holds:  func(s *story) { s.allowed(s1, job1, `{"n":1}`).dispatchesPayload(s1, job1, w1, `{"n":1}`) },
	},
	"derived-request-matches-its-source": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").write(s1, replay1, "dlq_update", "PENDING", "attempts", "0", "request",
				`{"job_id":"job-1-replay-1","topic":"job.default","idempotency_key":"job-1:key","priority":"LOW","labels":{"replay_of":"job-1","replay_count":"1"}}`)
		},
		says:  "says that it is derived from job-1, but its priority is another",
		holds: func(s *story) { s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key") },
	},
	"illegal-result-is-refused": {
		breaks: func(s *story) { // it is delivered again and again
			s.submit(job1).answersNonsense(w1, job1)
			for n := range uint64(3) {
				s.message(s1, job1, "result_deliver", sim.KindDeliver, n+1).last().Seq = 2
				s.message(s1, job1, "result_nak", sim.KindNak, n+1).last().Seq = 2
			}
		},
		says: "its result at CORDUM_SYS:2, which has no legal status, was delivered 3 times, and never refused",
		holds: func(s *story) {
			s.submit(job1).answersNonsense(w1, job1).message(s1, job1, "result_deliver", sim.KindDeliver, 1).last().Seq = 2
			s.add(s1, sim.KindRedis, "multi", history.DlqPrefix+"CORDUM_SYS:2", "", "dlq_write", s.set(history.DlqPrefix+"CORDUM_SYS:2", "", "{}"))
			s.message(s1, job1, "result_term", sim.KindTerm, 1).last().Seq = 2
		},
	},
	"cancellation-takes-effect": {
		cfg: config.Config{KeepCancellations: true},
		breaks: func(s *story) {
			s.cancels(job1).message(s1, job1, "cancel_deliver", sim.KindDeliver, 1).last().Seq = 1
			s.lock(s1, job1).read(s1, job1).unlock(s1, job1)
			s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).completed(s1, job1, "SUCCEEDED")
		},
		says: "although a cancellation of the job had come before its record, at step 4",
		holds: func(s *story) {
			s.cancels(job1).message(s1, job1, "cancel_deliver", sim.KindDeliver, 1).last().Seq = 1
			s.lock(s1, job1).read(s1, job1).unlock(s1, job1)
			s.submit(job1).cancelled(s1, job1).unlock(s1, job1)
		},
	},
	"cancelled-job-is-told": {
		cfg: hardened,
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).cancelled(s2, job1).unlock(s2, job1)
			s.write(s1, job1, "output_write", "OUTPUT_QUARANTINED") // another state since, whoever wrote that
		},
		says: "was cancelled at step 15, but worker-1, which had it, was never told",
		holds: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).cancelled(s2, job1).tells(s2, job1, w1).unlock(s2, job1)
			s.submit("job-2").cancelled(s2, "job-2").unlock(s2, "job-2") // nobody had it
		},
	},

	"cancelled-only-when-asked": {
		breaks: func(s *story) { s.submit(job1).dispatched(s1, job1, w1).cancels(job2).cancelled(s2, job1) },
		says:   "scheduler-2 wrote CANCELLED at step 16, although nobody had asked for it",
		holds:  func(s *story) { s.submit(job1).dispatched(s1, job1, w1).cancels(job1).cancelled(s2, job1) },
	},
	"told-worker-stops": {
		cfg: hardened,
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).effect(w1, job1, "begin").cancelled(s2, job1).tells(s2, job1, w1)
			seq := s.last().Changes[0].Seq
			s.unlock(s2, job1).message(w1, job1, "notice_deliver", sim.KindDeliver, 1).last().Seq = seq
			s.wait(2*time.Second).effect(w1, job1, "finish")
		},
		says: "worker-1 had been told at step 21 that it is cancelled, and its execution goes on at step 22: finish",
		holds: func(s *story) { // the effect was at its gate already
			s.submit(job1).dispatched(s1, job1, w1).effect(w1, job1, "begin").cancelled(s2, job1).tells(s2, job1, w1)
			seq := s.last().Changes[0].Seq
			s.unlock(s2, job1).message(w1, job1, "notice_deliver", sim.KindDeliver, 1).last().Seq = seq
			s.effect(w1, job1, "finish")
		},
	},
	"lock-abandoned": {
		breaks: func(s *story) {
			s.submit(job1).lock(s1, job1).renewalFails(s1, job1).renewalFails(s1, job1).renew(s1, job1, time.Minute).renewalFails(s1, job1)
		},
		holds: func(s *story) {
			s.submit(job1).lock(s1, job1).renewalFails(s1, job1).renewalFails(s1, job1).renewalFails(s1, job1)
		},
	},
	"intent-resumed": {
		cfg:    hardened,
		breaks: calm,
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1).unlock(s1, job1).
				lock(s2, job1).read(s2, job1).publish(s2, job1, w1)
		},
	},
	"publish-refused-as-stored": {
		breaks: func(s *story) { s.submit(job1).dispatchedAt(s1, job1, w1, 1) },
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).publishes(s1, job1, w1, 1).fails().unlock(s1, job1).
				lock(s2, job1).read(s2, job1).refused(s2, job1, w1, 1)
		},
	},
	"publish-dropped-as-duplicate": {
		breaks: calm,
		holds:  func(s *story) { repickDropped(s) },
	},
	"late-write-fenced": {
		cfg: hardened,
		breaks: func(s *story) {
			s.submit(job1).lock(s1, job1).looks(s1, job1, "scheduled_write").scheduled(s1, job1, "scheduled_write")
		},
		holds: func(s *story) { s.submit(job1).lock(s1, job1).looks(s1, job1, "scheduled_write").unlock(s1, job1) },
	},
	"orphan-replayed": {
		breaks: calm,
		holds:  func(s *story) { s.submit(job1).op(s1, job1, "replay_read").dispatched(s1, job1, w1) },
	},
	"job-rescued": {
		breaks: calm,
		holds:  func(s *story) { s.submit(job1).op(s1, job1, "replay_read").dispatched(s1, job1, w1) },
	},
	"nobody-is-rescued": {
		breaks: func(s *story) { s.submit(job1).op(s1, job1, "replay_read").dispatched(s1, job1, w1) },
		says:   "job-1: the replayer of scheduler-1 did at step 6 what another path should have done before",
		holds:  calm,
	},
	"no-failure-for-want-of-attempts": {
		cfg: config.Config{MaxSchedulingRetries: 2},
		breaks: func(s *story) {
			s.submit(job1).beats(w1, 0, s1)
			rolledBack(s).lock(s1, job1).read(s1, job1).write(s1, job1, "failed_write", "FAILED", "reason_code", "max_scheduling_retries")
		},
		says: "although it knew of worker-1, which was alive and free",
		holds: func(s *story) {
			s.submit(job1)
			rolledBack(s).dispatched(s1, job1, w1).executed(w1, job1).completed(s1, job1, "SUCCEEDED")
		},
	},
	"retry-waits-its-delay": {
		breaks: func(s *story) {
			sentBack(s.submit(job1), 1).awayFor(3 * time.Minute)
		},
		says: "scheduler-1 sent its message 1 of CORDUM_SYS back at step 13 for 3m0s; it was to stay away for 1s to 1.5s",
		holds: func(s *story) {
			sentBack(s.submit(job1), 1).wait(time.Second)
			sentBack(s, 2).awayFor(4 * time.Second).wait(4 * time.Second) // two attempts each
			sentBack(s, 3).awayFor(16 * time.Second)
		},
	},
	"given-up-only-at-the-ceiling": {
		cfg: config.Config{MaxSchedulingRetries: 2},
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).write(s1, job1, "failed_write", "FAILED")
		},
		says: "scheduler-1 wrote FAILED at step 6, although it had used 1 of its 2 attempts, and no worker had reported a failure",
		holds: func(s *story) {
			rolledBack(s.submit(job1)).lock(s1, job1).read(s1, job1).write(s1, job1, "failed_write", "FAILED", "reason_code", "max_scheduling_retries")
			s.submit(job2).dispatched(s1, job2, w1).replies(w1, job2, `{"status":"FAILED"}`).message(s2, job2, "result_deliver", sim.KindDeliver, 1).of(3).completed(s2, job2, "FAILED")
		},
	},
	"attempts-last-their-budget": {
		cfg: config.Config{MaxSchedulingRetries: 2, RetryDelayBusy: 10 * time.Second, RetryDelayStore: 10 * time.Second, RetryDelayNoWorkers: 10 * time.Second, BackoffBase: 10 * time.Second, EvenBackoff: true, BusyBackoff: true},
		breaks: func(s *story) {
			rolledBack(s.submit(job1)).wait(9*time.Second).lock(s1, job1).read(s1, job1).write(s1, job1, "failed_write", "FAILED")
		},
		says: "after 2 attempts in 9",
		holds: func(s *story) {
			rolledBack(s.submit(job1)).wait(10*time.Second).lock(s1, job1).read(s1, job1).write(s1, job1, "failed_write", "FAILED")
		},
	},
	"last-cause-is-true": {
		cfg: config.Config{MaxSchedulingRetries: 2},
		breaks: func(s *story) {
			rolledBack(s.submit(job1)).lock(s1, job1).read(s1, job1).givenUp(s1, job1, "no_workers")
		},
		says: `scheduler-1 wrote its DLQ entry at step 16 with the last cause "no_workers"; it was dispatch_failed`,
		holds: func(s *story) {
			rolledBack(s.submit(job1)).lock(s1, job1).read(s1, job1).givenUp(s1, job1, "dispatch_failed")
		},
	},
	"scheduled-swept": {
		breaks: func(s *story) { s.submit(job1).op(s1, job1, "replay_read").dispatched(s1, job1, w1) },
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).unlock(s1, job1).op(s1, job1, "replay_read").dispatched(s1, job1, w1)
		},
	},
	"tick-contended": {
		breaks: func(s *story) { s.reconciles(s1).ticksNot(s1, history.ReconcilerKey, "reconcile_lock") },
		holds:  func(s *story) { s.reconciles(s1).ticksNot(s2, history.ReconcilerKey, "reconcile_lock") },
	},
	"result-of-older-epoch": {
		breaks: func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).answers(w1, job1, 1).message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(2)
		},
		holds: func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).answers(w1, job1, 1).begins(s1, job1).minted(s1, job1, w2, 2).
				message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(2)
		},
	},
	"void-stored": {
		breaks: func(s *story) { s.submit(job1).dispatchedAt(s1, job1, w1, 1) },
		holds:  func(s *story) { s.submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).voids(s1, job1, w1, 1) },
	},
	"warm-started": {
		breaks: func(s *story) {
			s.snapshots(s2, heard{worker: w1}).starts(s1).beats(w1, 0, s1).submit(job1).dispatched(s1, job1, w1)
		},
		holds: func(s *story) { s.snapshots(s2, heard{worker: w1}).starts(s1).submit(job1).dispatched(s1, job1, w1) },
	},
	"message-skipped-as-processed": {
		breaks: calm,
		holds:  func(s *story) { redelivered(s).asks(s2, job1, 1).ack(s2, job1, "submit_ack").at1() },
	},
}

// A snapshot revives no worker by a time at which its writer had not heard of the worker.
func TestASnapshotsTimesAreWhatItsWriterHeard(t *testing.T) {
	s := newStory().beats(w1, 0, s2).wait(50*time.Second).snapshots(s2, heard{worker: w1}).starts(s1).submit(job1).dispatched(s1, job1, w1)
	assert.Len(t, outcomeOf(s.judge(hardened), "snapshot-revives-no-worker").Violations, 1)
	s = newStory().beats(w1, 0, s2).wait(20*time.Second).snapshots(s2, heard{worker: w1}).starts(s1).submit(job1).dispatched(s1, job1, w1)
	assert.Empty(t, outcomeOf(s.judge(hardened), "snapshot-revives-no-worker").Violations)
}
