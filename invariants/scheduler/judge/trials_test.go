package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// trial is one story in which an invariant is broken (or a situation is not reached), and one in
// which it holds (or is reached).
type trial struct {
	cfg    config.Config
	breaks func(*story)
	says   string // part of the violation's message
	holds  func(*story)
}

func calm(s *story) {
	s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).completed(s2, job1, "SUCCEEDED")
}

// rolledBack is a handling whose publish fails cleanly.
func rolledBack(s *story) *story {
	return s.begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1).
		scheduled(s1, job1, "rollback_write").unlock(s1, job1).message(s1, job1, "submit_nak", sim.KindNak, 1)
}

var trials = map[string]trial{
	"events-agree-with-servers": {
		breaks: func(s *story) { calm(s); s.redis[history.RecordPrefix+job1]["state"] = "FAILED" },
		says:   "job-1 is FAILED in Redis, but the steps left it SUCCEEDED",
		holds:  calm,
	},
	"one-dispatch-per-job": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).publish(s1, job1, w1).op(s1, job1, "dispatched_write").fails().unlock(s1, job1)
			s.dispatched(s2, job1, w2)
		},
		says:  "job-1: second dispatch stored, CORDUM_JOBS seq 2 on worker.worker-2.jobs at step 15; the first was seq 1 on worker.worker-1.jobs at step 6",
		holds: calm,
	},
	"intent-before-dispatch": {
		breaks: func(s *story) { s.submit(job1).begins(s1, job1).publish(s1, job1, w1) },
		says:   "while the record said SCHEDULED",
		holds:  calm,
	},
	"no-dispatch-after-failed-read": {
		breaks: func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).fails().scheduled(s1, job1, "scheduled_write").
				intended(s1, job1, w1).publish(s1, job1, w1)
		},
		says: "although its state read at step 4 had failed",
		holds: func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).fails().unlock(s1, job1)
			s.dispatched(s1, job1, w1)
		},
	},
	"no-dispatch-to-expired-worker": {
		breaks: func(s *story) { s.submit(job1).beat(w1, s1).wait(31*time.Second).dispatched(s1, job1, w1) },
		says:   "after the last heartbeat that it received of it",
		holds: func(s *story) {
			// Judged at the pick: what follows may take its time.
			s.submit(job1).beat(w1, s1).wait(29*time.Second).begins(s1, job1)
			s.wait(2*time.Second).intended(s1, job1, w1).publish(s1, job1, w1)
		},
	},
	"deadline-counts-from-submission": {
		breaks: func(s *story) { s.expects(job1, 10000, 20000) },
		says:   "submitter wrote PENDING at step 1 (submit_write) with deadline_at 20001; by its request it is 10001",
		holds:  func(s *story) { s.expects(job1, 10000, 10000).submit(job2) },
	},
	"terminal-states-final": {
		breaks: func(s *story) { calm(s); s.lock(s1, job1).write(s1, job1, "result_write", "FAILED") },
		says:   "over the terminal state SUCCEEDED",
		holds:  func(s *story) { calm(s); s.lock(s1, job1).write(s1, job1, "quarantine", "OUTPUT_QUARANTINED") },
	},
	"documented-transitions-only": {
		breaks: func(s *story) { s.submit(job1).lock(s1, job1).read(s1, job1).intended(s1, job1, w1) },
		says:   "from PENDING to DISPATCHED",
		holds:  calm,
	},
	"attempts-equal-scheduled-writes": {
		breaks: func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).write(s1, job1, "scheduled_write", "SCHEDULED")
		},
		says:  "attempts is 0 after the write of SCHEDULED",
		holds: calm,
	},
	"attempts-drain-by-two": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).scheduled(s1, job1, "scheduled_write").intended(s1, job1, w1).
				publishFails(s1, job1, w1).scheduled(s1, job1, "rollback_write")
		},
		says: "at a cost of 3 attempts (of 3) instead of 2",
		holds: func(s *story) {
			s.submit(job1)
			rolledBack(rolledBack(s)).dispatched(s1, job1, w1)
		},
	},
	"attempts-never-past-ceiling": {
		cfg:    config.Config{MaxSchedulingRetries: 2},
		breaks: func(s *story) { rolledBack(s.submit(job1)).begins(s1, job1) },
		says:   "attempts reached 3 at step 15 (scheduled_write); the ceiling is 2",
		holds:  func(s *story) { rolledBack(s.submit(job1)) },
	},
	"succeeded-implies-finished-execution": {
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).effect(w1, job1, "begin").completed(s1, job1, "SUCCEEDED")
		},
		says:  "no worker has finished the job (1 began it)",
		holds: calm,
	},
	"result-is-what-was-executed": {
		cfg: executions,
		breaks: func(s *story) {
			s.given(job1).effect(w1, job1, "begin").effect(w1, job1, "finish").answersWith(job1, `"status":"FAILED"`)
		},
		says: "worker-1 answered at step 16, in message 2 of CORDUM_SYS, FAILED; it should be SUCCEEDED",
		holds: func(s *story) {
			s.given(job1).effect(w1, job1, "begin").effect(w1, job1, "finish").answersWith(job1, `"status":"SUCCEEDED"`)
		},
	},
	"job-ends-as-its-result-says": {
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(2).completed(s1, job1, "TIMEOUT")
		},
		says: "scheduler-1 wrote TIMEOUT at step 20, but its result, message 2 of CORDUM_SYS, says SUCCEEDED, and not TIMEOUT",
		holds: func(s *story) {
			calm(s)
			s.submit(job2).dispatched(s1, job2, w1).replies(w1, job2, `{"status":"TIMEOUT"}`).completed(s1, job2, "TIMEOUT")
		},
	},
	"unconfirmed-ack-is-sent-again": {
		cfg: config.Config{ConfirmAcks: true},
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).message(w1, job1, "job_deliver", sim.KindDeliver, 1).of(1).executed(w1, job1)
			s.ack(w1, job1, "job_ack").of(1).fails().wait(8*time.Second).beat(w1, s1)
		},
		says: "the ack that worker-1 sent at step 17 has failed, and was not sent again within 7s",
		holds: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).message(w1, job1, "job_deliver", sim.KindDeliver, 1).of(1).executed(w1, job1)
			s.ack(w1, job1, "job_ack").of(1).fails().wait(6*time.Second).ack(w1, job1, "job_ack").of(1)
		},
	},
	"one-execution-per-dispatch": {
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).effect(w1, job1, "begin").message(w1, job1, "job_deliver", sim.KindDeliver, 2).of(1).effect(w1, job1, "begin")
		},
		says:  "worker-1 began it at step 15, the second time that it was begun, though only 1 dispatch was stored; at step 14 it was given seq 1 again, which had been begun at step 13",
		holds: calm,
	},
	"one-execution-at-a-time": {
		breaks: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).effect(w1, job1, "begin").effect(w1, job1, "begin")
		},
		says: "worker-1 began it at step 14, and executes it 2 times at once, but the stream has stored 1 dispatch for it",
		holds: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1).executed(w1, job1) // one after the other: its ack was lost
		},
	},
	"lock-released-by-owner-or-expiry": {
		breaks: func(s *story) { s.submit(job1).begins(s1, job1).deleteLock(s2, job1) },
		says:   "scheduler-2 deleted the lock at step 6 that scheduler-1 had held since step 3",
		holds: func(s *story) {
			s.submit(job1).lock(s1, job1).renew(s1, job1, time.Minute).unlock(s1, job1)
			s.lock(s1, job1).wait(time.Minute).lock(s2, job1)
		},
	},
	"lock-mutual-exclusion": {
		breaks: func(s *story) {
			s.submit(job1).lock(s1, job1).read(s2, job1).scheduled(s2, job1, "scheduled_write")
		},
		says: "scheduler-2 wrote the state at step 5 while scheduler-1 held the job's lock (since step 3)",
		holds: func(s *story) {
			calm(s)
			s.submit("job-2").begins(s1, "job-2").minted(s1, "job-2", w1, 1).voids(s1, "job-2", w1, 1).unlock(s1, "job-2")
			s.submit("job-3").begins(s1, "job-3").minted(s1, "job-3", w1, 1).wait(time.Minute).voids(s1, "job-3", w1, 1) // it was on its way
		},
	},
	"acked-only-when-durable": {
		breaks: func(s *story) { s.submit(job1).begins(s1, job1).unlock(s1, job1).ack(s1, job1, "submit_ack") },
		says:   "while the record said SCHEDULED",
		holds:  calm,
	},
	"times-are-those-of-their-writes": {
		breaks: func(s *story) {
			s.wait(time.Minute).submit(job1)
			s.events[0].Changes[1].Value = "57"
		},
		says:  "submitter dated its record 57ms at step 1; it is 1m0.001s",
		holds: calm,
	},
	"record-names-its-worker": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1).write(s1, job1, "rollback_write", "SCHEDULED", "attempts", "2")
		},
		says:  "scheduler-1 took its dispatch back at step 8, and the record still names worker-1",
		holds: func(s *story) { rolledBack(s.submit(job1)) },
	},
	"intent-is-safe-before-dispatch": {
		cfg: config.Config{WaitReplica: true},
		breaks: func(s *story) {
			s.submit(job1).submit(job2).begins(s1, job2).op(s1, job2, "replica_wait").begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1)
		},
		says: "scheduler-1 published to worker.worker-1.jobs at step 13, and was not told that a replica of Redis has what was written for that",
		holds: func(s *story) {
			s.submit(job1).submit(job2).begins(s1, job2).op(s1, job2, "replica_wait").begins(s1, job1).intended(s1, job1, w1)
			s.op(s1, job1, "replica_wait").publish(s1, job1, w1)
		},
	},
	"keys-last-as-stated": {
		breaks: func(s *story) { s.submit(job1).noted(s1, job1, 1, 0) },
		says:   "scheduler-1 wrote cordum:bus:inflight:CORDUM_SYS:1 at step 3, and it never expires; it is to last for 2m0s at most",
		holds:  func(s *story) { s.submit(job1).noted(s1, job1, 1, 2*time.Minute) },
	},
	"redis-index-agrees-with-record": {
		breaks: func(s *story) { calm(s); s.set("job:index:RUNNING", job1, "1") },
		says:   "job:index:RUNNING lists it, but the record says SUCCEEDED",
		holds:  calm,
	},
	"counters-equal-trace": {
		breaks: func(s *story) {
			calm(s)
			s.counted(map[string]float64{"jobs_dispatched": 2, `jobs_completed{status="SUCCEEDED"}`: 1})
		},
		says: "jobs_dispatched is 2, but the events show 1: publishes of dispatches that were confirmed, and stored",
		holds: func(s *story) {
			rolledBack(s.submit(job1)).dispatched(s1, job1, w1).executed(w1, job1).completed(s1, job1, "SUCCEEDED")
			s.counted(map[string]float64{
				"jobs_dispatched": 1, `jobs_completed{status="SUCCEEDED"}`: 1, "scheduler_dispatch_rollback_total": 1,
			})
		},
	},
	"failed-job-has-dlq-entry": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).write(s1, job1, "failed_write", "FAILED", "reason_code", "no_pool_mapping").unlock(s1, job1)
		},
		says:  "but dlq:entry:job-1 does not exist",
		holds: func(s *story) { s.submit(job1).rejected(s1, job1) },
	},
	"hanging-operation-is-given-up": {
		breaks: func(s *story) { s.submit(job1).lock(s1, job1).read(s1, job1).hangs(20 * time.Second) },
		says:   "job-1: scheduler-1 waited for 20.001s for the answer to step 4 (state_read); it was to give up after 2s",
		holds:  func(s *story) { s.submit(job1).lock(s1, job1).read(s1, job1).hangs(2 * time.Second) },
	},
	"dead-letter-tells-its-failure": {
		breaks: func(s *story) {
			s.dies(job1, "no_pool_mapping").letter(s1, job1, "no_pool_mapping", "quarantined", map[string]any{"tenant": "t"})
		},
		says: "job-1: scheduler-1 changed dlq:entry:job-1 at step 13, and with what is decided its tenant",
		holds: func(s *story) {
			s.dies(job1, "no_pool_mapping").letter(s1, job1, "no_pool_mapping", "quarantined", map[string]any{"run": "run-1"})
		},
	},
	"audit-event-tells-its-change": {
		breaks: func(s *story) { s.submit(job1).buries(s1, job1, "result_write") },
		says:   `job-1: scheduler-1 noted output_quarantined in the audit trail at step 3, by "", and that was by "output policy"`,
		holds:  func(s *story) { quarantined(s, 3, "output policy", "output_quarantined", "rule 7") },
	},
	"workload-is-submitted": {
		cfg:    config.Config{Jobs: 2},
		breaks: func(s *story) { s.submit(job1) },
		says:   "clients could store 1 of 2 jobs",
		holds:  func(s *story) { s.submit(job1).submit("job-2") },
	},
	"nothing-is-published-twice": {
		breaks: func(s *story) { s.submit(job1).submit(job1) },
		says:   "job-1: submitter was told at step 4 for the second time that the stream has what it published (submit_publish), which it was to publish 1 time",
		holds:  func(s *story) { s.submit(job1).fails().submit(job1) },
	},
	"what-is-asked-is-stored": {
		cfg:    config.Config{Asked: config.AskedConfig{Request: func(_, job string) *history.Request { return &history.Request{JobID: job, Tenant: "tenant-1"} }}},
		breaks: func(s *story) { s.submits(`{"job_id":"job-1"}`) },
		says:   "job-1: the request of it that submitter stored at step 1 is not what was to be asked: its tenant is another",
		holds:  func(s *story) { s.submits(`{"job_id":"job-1","tenant":"tenant-1"}`) },
	},
	"requests-can-be-read": {
		breaks: func(s *story) { garbled(s, "approver") },
		says:   "job-1: approver published a request of it that nobody can read, CORDUM_SYS seq 1",
		holds:  func(s *story) { garbled(s.submit("job-2"), "stranger") },
	},
	"every-job-settles": {
		breaks: func(s *story) { s.submit(job1).dispatched(s1, job1, w1).executed(w1, job1) },
		says:   "is still RUNNING, since step 8: it was executed, but the result was not accepted",
		holds:  calm,
	},
	"no-lock-outlives-its-holder": {
		breaks: func(s *story) { s.submit(job1).begins(s1, job1).control("crash", s1).wait(61 * time.Second) },
		says:   "the lock that scheduler-1 took at step 3 is still there, 1m1s after its holder was gone",
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).control("crash", s1).wait(61 * time.Second)
			delete(s.redis, history.LockPrefix+job1)
		},
	},

	"ambiguous-publish-stored": {
		breaks: calm,
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).fails()
		},
	},
	"publish-failed-clean":     {breaks: calm, holds: func(s *story) { rolledBack(s.submit(job1)) }},
	"ambiguous-write-applied":  {breaks: calm, holds: func(s *story) { s.submit(job1).begins(s1, job1).fails() }},
	"state-write-failed-clean": {breaks: calm, holds: func(s *story) { s.submit(job1).lock(s1, job1).op(s1, job1, "scheduled_write").fails() }},
	"rollback-failed": {
		breaks: func(s *story) { rolledBack(s.submit(job1)) },
		holds: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1).op(s1, job1, "rollback_write").fails()
		},
	},
	"state-read-failed-closed": {
		breaks: func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).fails().scheduled(s1, job1, "scheduled_write").unlock(s1, job1)
		},
		holds: func(s *story) { s.submit(job1).lock(s1, job1).read(s1, job1).fails().unlock(s1, job1) },
	},
	"redelivery-of-dispatched-job": {
		breaks: func(s *story) { rolledBack(s.submit(job1)).message(s1, job1, "submit_deliver", sim.KindDeliver, 2) },
		holds: func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).message(s2, job1, "submit_deliver", sim.KindDeliver, 2)
		},
	},
	"replicas-contend-for-one-job": {
		breaks: func(s *story) { s.submit(job1).lock(s1, job1).busy(s1, job1) },
		holds:  func(s *story) { s.submit(job1).lock(s1, job1).busy(s2, job1) },
	},
	"lock-left-to-expire": {
		breaks: func(s *story) { calm(s); s.control("crash", s1) },
		holds:  func(s *story) { s.submit(job1).lock(s1, job1).releases(s1, job1).fails() },
	},
	"lock-overstayed": {
		breaks: func(s *story) {
			s.submit(job1).lock(s1, job1).renew(s1, job1, 2*time.Minute).wait(61*time.Second).scheduled(s1, job1, "scheduled_write")
		},
		holds: func(s *story) {
			s.submit(job1).lock(s1, job1).wait(61*time.Second).scheduled(s1, job1, "scheduled_write")
		},
	},
	"dispatch-to-dead-worker": {
		breaks: func(s *story) {
			s.submit(job1).control("crash", w1).control("restart", w1).dispatched(s1, job1, w1)
		},
		holds: func(s *story) { s.submit(job1).control("crash", w1).dispatched(s1, job1, w1) },
	},
	"dispatch-to-silent-worker": {
		breaks: func(s *story) {
			s.submit(job1).control("partition", w1).control("heal", w1).dispatched(s1, job1, w1)
		},
		holds: func(s *story) { s.submit(job1).control("partition", w1).dispatched(s1, job1, w1) },
	},
	"dispatch-to-a-topic": {
		breaks: func(s *story) { s.submit(job1).dispatched(s1, job1, w1) },
		holds: func(s *story) {
			s.submit(job1)
			s.add(s1, sim.KindPublish, "", "job.default", job1, "publish", s.store(history.StreamJobs, "job.default", job1))
		},
	},
	"no-worker-took-a-job": {breaks: calm, holds: func(s *story) { s.submit(job1).begins(s1, job1).unlock(s1, job1) }},
	"stale-worker-exhausted-the-picks": {
		breaks: func(s *story) { s.submit(job1).beat(w1, s1).begins(s1, job1).unlock(s1, job1) },
		holds: func(s *story) {
			s.submit(job1).beat(w1, s1).wait(31*time.Second).begins(s1, job1).unlock(s1, job1)
		},
	},
	"late-heartbeat": {
		breaks: func(s *story) { s.beat(w1, s1).wait(29*time.Second).beat(w1, s1).beat(w1, s2) },
		holds:  func(s *story) { s.beat(w1, s1).wait(31*time.Second).beat(w1, s1) },
	},
	"retry-ceiling-reached": {
		cfg:    config.Config{MaxSchedulingRetries: 2},
		breaks: calm,
		holds:  func(s *story) { rolledBack(s.submit(job1)) },
	},
	"crash-between-intent-and-publish": {
		breaks: func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).unseen().control("crash", s1)
		},
		holds: func(s *story) { s.submit(job1).begins(s1, job1).intended(s1, job1, w1).unseen().control("crash", s1) },
	},
	"ack-lost": {
		breaks: calm,
		holds:  func(s *story) { s.submit(job1).dispatched(s1, job1, w1).lost() },
	},
	"dispatch-delivered-twice": {
		breaks: func(s *story) { s.submit(job1).message(w1, job1, "job_deliver", sim.KindDeliver, 1) },
		holds:  func(s *story) { s.submit(job1).message(w1, job1, "job_deliver", sim.KindDeliver, 2) },
	},
	"result-ahead-of-state": {
		breaks: calm,
		holds:  func(s *story) { rolledBack(s.submit(job1)).message(s1, job1, "result_deliver", sim.KindDeliver, 1) },
	},
	"result-for-ended-job": {
		breaks: calm,
		holds:  func(s *story) { calm(s); s.message(s1, job1, "result_deliver", sim.KindDeliver, 2) },
	},
	"deliveries-exhausted": {
		breaks: func(s *story) { s.submit(job1).message(s1, job1, "submit_nak", sim.KindNak, 99) },
		holds:  func(s *story) { s.submit(job1).message(s1, job1, "submit_nak", sim.KindNak, 100) },
	},
}
