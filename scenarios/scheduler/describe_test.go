package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/sim"
)

func TestStepsAreSaidInWords(t *testing.T) {
	scheduled := []sim.Change{{Key: "job:job-3", Field: "state", Value: "SCHEDULED"}, {Key: "job:job-3", Field: "attempts", Value: "2"}}
	dispatched := []sim.Change{{Key: "job:job-3", Field: "state", Value: "DISPATCHED"}, {Key: "job:job-3", Field: "worker", Value: "worker-2"}}
	locked := []sim.Change{{Key: "cordum:scheduler:job:job-3", Value: "token", Expires: time.Minute}}
	denied := []sim.Change{{Key: "job:job-3", Field: "state", Value: "DENIED"}, {Key: "job:job-3", Field: "reason", Value: "tenant-2 has not paid"}}
	waits := []sim.Change{{Key: "job:job-3", Field: "state", Value: "APPROVAL_REQUIRED"}}
	run := []sim.Change{{Key: "cordum:wf:run:run-1", Value: `{"run_id":"run-1","state":"RUNNING","steps":[{"id":"s1","state":"SUCCEEDED"},{"id":"s2","state":"WAITING"}]}`}}
	kept := []sim.Change{{Stream: "CORDUM_JOBS", Seq: 4, Subject: "worker.worker-2.jobs"}}
	for _, c := range []struct {
		e    sim.Event
		want string
	}{
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "scheduled_write", Changes: scheduled}, "SCHEDULED, attempts 2"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "rollback_write", Changes: scheduled}, "rolls back to SCHEDULED, attempts 2"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "dispatched_write", Changes: dispatched}, "DISPATCHED to worker-2"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "running_write", Outcome: "i/o timeout"}, "RUNNING is not written"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "running_write"}, "writes RUNNING, which changes nothing"},
		{sim.Event{Kind: sim.KindRedis, Name: "hgetall", Phase: "state_read"}, "reads PENDING"},
		{sim.Event{Kind: sim.KindRedis, Name: "hgetall", Phase: "state_read", Outcome: "connection refused"}, "cannot read the state"},
		{sim.Event{Kind: sim.KindRedis, Name: "hgetall", Phase: "state_read", Outcome: sim.OutcomeNil}, "reads no record"},
		{sim.Event{Kind: sim.KindRedis, Name: "watch", Phase: "submit_write"}, "looks before it writes PENDING"},
		{sim.Event{Kind: sim.KindRedis, Name: "exists", Phase: "submit_write", Outcome: "i/o timeout"}, "cannot look before it writes PENDING"},
		{sim.Event{Kind: sim.KindRedis, Name: "set", Phase: "lock_acquire", Changes: locked}, "takes the lock"},
		{sim.Event{Kind: sim.KindRedis, Name: "set", Phase: "lock_acquire"}, "finds the lock busy"},
		{sim.Event{Kind: sim.KindRedis, Name: "set", Phase: "lock_acquire", Outcome: "i/o timeout"}, "asks for the lock"},
		{sim.Event{Kind: sim.KindRedis, Name: "get", Phase: "lock_release"}, "checks who owns the lock"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "lock_release"}, "releases the lock"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "dlq_write"}, "the DLQ entry is not written"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "denied_write", Changes: denied}, "DENIED: tenant-2 has not paid"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "denied_write", Outcome: "i/o timeout"}, "DENIED is not written"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "approval_write", Changes: waits}, "APPROVAL_REQUIRED"},
		{sim.Event{Kind: sim.KindRedis, Name: "watch", Phase: "output_write"}, "looks before it writes OUTPUT_QUARANTINED"},
		{sim.Event{Kind: sim.KindRedis, Name: "pipeline", Phase: "scheduled_write"}, "looks before it writes SCHEDULED"},
		{sim.Event{Kind: sim.KindCall, Name: "Check", Target: "kernel", Phase: "safety_check", Data: `{"decision":4,"reason":"tenant-2 has not paid"}`}, "asks the kernel: DENY, tenant-2 has not paid"},
		{sim.Event{Kind: sim.KindCall, Name: "Check", Target: "kernel", Phase: "safety_check", Outcome: "DeadlineExceeded"}, "asks the kernel, and gets no answer"},
		{sim.Event{Kind: sim.KindCall, Name: "CheckOutput", Target: "kernel", Phase: "output_check", Data: `{"decision":4,"reason":"it holds a secret"}`}, "asks the output policy about the result: REDACT, it holds a secret"},
		{sim.Event{Kind: sim.KindCall, Name: "CheckOutput", Target: "kernel", Phase: "output_scan", Data: `{"decision":1}`}, "asks the output policy about the output: ALLOW"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "breaker_read", Outcome: sim.OutcomeNil}, "looks at the circuit"},
		{sim.Event{Kind: sim.KindRedis, Name: "multi", Phase: "run_write", Changes: run}, "run-1 RUNNING: s1 SUCCEEDED, s2 WAITING"},
		{sim.Event{Kind: sim.KindRedis, Name: "zcard", Target: "dlq:index"}, "ZCARD dlq:index"},
		{sim.Event{Kind: sim.KindPublish, Target: "worker.worker-2.jobs", Changes: kept}, "publishes worker.worker-2.jobs"},
		{sim.Event{Kind: sim.KindPublish, Target: "worker.worker-2.jobs", Changes: kept, Outcome: "timeout"}, "publishes worker.worker-2.jobs, which is stored all the same"},
		{sim.Event{Kind: sim.KindPublish, Target: "worker.worker-2.jobs", Outcome: "timeout"}, "publishes worker.worker-2.jobs, which is not stored"},
		{sim.Event{Kind: sim.KindDeliver, Phase: "submit_deliver", Delivered: 2}, "receives the submission, delivery 2"},
		{sim.Event{Kind: sim.KindDeliver, Phase: "job_deliver", Delivered: 1}, "receives the dispatch"},
		{sim.Event{Kind: sim.KindNak, Phase: "result_nak"}, "naks the result"},
		{sim.Event{Kind: sim.KindAck, Target: "orders", Seq: 7}, "acks message 7 of orders"},
		{sim.Event{Kind: sim.KindDeliver, Name: "S/bills", Target: "orders", Seq: 7, Delivered: 2}, "receives message 7 of orders, which S/bills has handed out, delivery 2"},
		{sim.Event{Kind: sim.KindControl, Name: "crash", Target: "worker-1"}, "crashes"},
		{sim.Event{Kind: sim.KindControl, Name: "pause", Target: "worker-1"}, "stands still"},
		{sim.Event{Kind: sim.KindControl, Name: "partition redis", Target: "scheduler-1"}, "is cut off from Redis"},
		{sim.Event{Kind: sim.KindControl, Name: "drain", Target: "worker-1"}, "drain"},
		{sim.Event{Kind: sim.KindReturn, Name: "multi", Outcome: sim.OutcomeOK}, "learns what came of it"},
		{sim.Event{Kind: sim.KindLate, Name: "publish", Target: "worker.w.jobs", Outcome: sim.OutcomeOK, Changes: []sim.Change{{Stream: "CORDUM_JOBS"}}}, "late: publishes worker.w.jobs"},
		{sim.Event{Kind: sim.KindLate, Name: "multi", Phase: "running_write", Outcome: sim.OutcomeNil}, "late: writes RUNNING, which changes nothing"},
		{sim.Event{Kind: sim.KindStart, Incarnation: 2}, "starts again, incarnation 2"},
		{sim.Event{Kind: sim.KindTimer, Name: "sleep 50ms #1"}, "wakes from sleep 50ms #1"},
		{sim.Event{Kind: "effect", Name: "begin", Target: "key"}, "begins the work"},
		{sim.Event{Kind: "http", Name: "POST", Target: "/x"}, "http POST /x"},
	} {
		if c.e.Outcome == "" {
			c.e.Outcome = sim.OutcomeOK
		}
		records := Records{"job-3": {state: "PENDING", attempts: "0"}}
		c.e.Job = "job-3"
		now, changed := records.Apply(&c.e)
		assert.Equal(t, c.want, Describe(c.e, now, changed))
	}
}

// What a step changes may be the records of other jobs, or of several.
func TestRecordsFollowEveryJob(t *testing.T) {
	r := Records{"job-3": {state: "RUNNING", attempts: "1"}}
	now, changed := r.Apply(&sim.Event{Job: "job-3", Changes: []sim.Change{{Key: "job:job-30", Field: "state", Value: "FAILED"}, {Stream: "S", Seq: 1}}})
	assert.False(t, changed)
	assert.Equal(t, "RUNNING, attempts 1", now.String())
	assert.Equal(t, "FAILED", r["job-30"].String())
	r.Apply(&sim.Event{Kind: sim.KindControl, Name: "failover", Changes: []sim.Change{
		{Key: "job:job-3", Field: "state", Value: "PENDING"}, {Key: "job:job-3", Field: "attempts", Gone: true}, {Key: "job:job-30", Gone: true}}})
	now, changed = r.Apply(&sim.Event{Kind: sim.KindRedis, Target: "job:job-3", Phase: "reconcile_read"})
	assert.False(t, changed)
	assert.Equal(t, "PENDING", now.String(), "its attempts are gone")
	assert.Equal(t, "no record", r["job-30"].String())
}
