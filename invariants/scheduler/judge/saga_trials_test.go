package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

const wf1Stack, wf1Lock = "saga:wf-1:stack", "saga:wf-1:lock"

var durable = config.Config{
	Fence: true, Epochs: true, ResumeIntents: true, VoidIntents: true, Reconciler: true,
	Saga: config.SagaConfig{AtomicRecord: true, Peek: true, DurableRollback: true},
}

// joins submits a job of wf-1 that can be undone, and has it dispatched.
func (s *story) joins(job string) *story { return s.joinsWith(job, "{}") }

func (s *story) joinsWith(job, compensation string) *story {
	return s.joinsOf("", job, compensation)
}

func (s *story) joinsOf(tenant, job, compensation string) *story {
	s.write("submitter", job, "submit_write", "PENDING", "attempts", "0", "request", fmt.Sprintf(`{"workflow_id":"wf-1","tenant":%q}`, tenant))
	c := s.store(history.StreamSys, history.SubjectSubmit, job)
	c.Value = fmt.Sprintf(`{"job_id":%q,"workflow_id":"wf-1","compensation":%s}`, job, compensation)
	return s.add("submitter", sim.KindPublish, "", history.SubjectSubmit, job, "submit_publish", c).dispatched(s1, job, w1)
}

func entryOf(job string) string {
	return fmt.Sprintf(`{"topic":"job.default","idempotency_key":"undo-%s","labels":{"saga_job_id":%q}}`, job, job)
}

// pushes puts an entry onto the stack of wf-1.
func (s *story) pushes(node, job, entry string) *story {
	c := s.set(wf1Stack, strconv.Itoa(len(s.redis[wf1Stack])), entry)
	c.Expires = s.at + time.Millisecond + 30*24*time.Hour
	return s.add(node, sim.KindRedis, "rpush", wf1Stack, job, "saga_record", c)
}

// pops takes the top off the stack of wf-1.
func (s *story) pops(node string) *story {
	top := strconv.Itoa(len(s.redis[wf1Stack]) - 1)
	delete(s.redis[wf1Stack], top)
	return s.add(node, sim.KindRedis, "rpop", wf1Stack, "", "saga_pop", sim.Change{Key: wf1Stack, Field: top, Gone: true})
}

// succeeds is a job of wf-1 that leaves its compensation behind.
func (s *story) succeeds(job string) *story {
	return s.joins(job).executed(w1, job).pushes(s1, job, entryOf(job)).completed(s1, job, "SUCCEEDED")
}

// failsForGood is a job of wf-1 after which that is to be rolled back.
func (s *story) failsForGood(job string) *story { return s.joins(job).answersForGood(job) }

// answersForGood is a worker's word that a job has failed for good.
func (s *story) answersForGood(job string) *story {
	c := s.store(history.StreamSys, history.SubjectResult, job)
	c.Value = `{"status":"FAILED_FATAL"}`
	return s.add(w1, sim.KindPublish, "", history.SubjectResult, job, "result_publish", c).completed(s1, job, "FAILED")
}

// compensates submits the compensation of a job.
func (s *story) compensates(node, job, id string) *story { return s.compensatesOf("", node, job, id) }

func (s *story) compensatesOf(tenant, node, job, id string) *story {
	c := s.store(history.StreamSys, history.SubjectSubmit, id)
	c.Value = fmt.Sprintf(`{"job_id":%q,"tenant":%q,"idempotency_key":"undo-%s","labels":{"saga_compensation":"true","saga_workflow_id":"wf-1","saga_job_id":%q}}`, id, tenant, job, job)
	return s.add(node, sim.KindPublish, "", history.SubjectSubmit, job, "saga_publish", c)
}

// undoes submits a job that undoes another, and has it dispatched.
func (s *story) undoes(id, job string) *story {
	request := fmt.Sprintf(`{"job_id":%q,"idempotency_key":%q,"labels":{"saga_job_id":%q}}`, id, id, job)
	return s.write("submitter", id, "submit_write", "PENDING", "attempts", "0", "request", request).dispatched(s1, id, w1)
}

// asksKernel asks the safety kernel about the job of a compensation.
func (s *story) asksKernel(node, id string, decision int) *story {
	s.add(node, sim.KindCall, history.MethodCheck, "kernel", id, "safety_check")
	s.last().Data = fmt.Sprintf(`{"decision":%d}`, decision)
	return s
}

// denies notes in the audit trail that the compensation of a job is denied.
func (s *story) denies(node, job, id string) *story {
	c := s.set(history.AuditKey, "0", fmt.Sprintf(`{"kind":"saga_compensation_denied","job_id":%q,"reason":"compensation undo-%s of saga wf-1: no"}`, id, job))
	return s.add(node, sim.KindRedis, "multi", c.Key, "", "saga_pop", c)
}

// sagaLock takes the lock of wf-1.
func (s *story) sagaLock(node string) *story {
	return s.ticks(node, wf1Lock, "saga_lock", 2*time.Minute)
}

func (s *story) sagaUnlock(node string) *story {
	delete(s.redis, wf1Lock)
	return s.add(node, sim.KindRedis, "multi", wf1Lock, "", "saga_unlock", sim.Change{Key: wf1Lock, Gone: true})
}

// sagaDue notes when wf-1 is to be rolled back.
func (s *story) sagaDue(node, phase string, in time.Duration) *story {
	c := s.set(history.RollbacksKey, "wf-1", strconv.FormatInt((s.at+in).Milliseconds(), 10))
	return s.add(node, sim.KindRedis, "multi", c.Key, "", phase, c)
}

// findsNothing is a look at the stack of wf-1, which is empty.
func (s *story) findsNothing(node string) *story {
	s.add(node, sim.KindRedis, "lindex", wf1Stack, "", "saga_read")
	s.last().Outcome = sim.OutcomeNil
	return s
}

// closes takes wf-1 out of sight.
func (s *story) closes(node string) *story {
	return s.sagaDue(node, "saga_close", 100*365*24*time.Hour)
}

// sagaUnlocks gives the lock of wf-1 back.
func (s *story) sagaUnlocks(node string) *story {
	return s.add(node, sim.KindRedis, "watch", wf1Lock, "", "saga_unlock").sagaUnlock(node)
}

// undone is a saga of two that is rolled back.
func undone(s *story) {
	s.succeeds(job1).succeeds(job2).failsForGood(job3).sagaLock(s1).
		pops(s1).compensates(s1, job2, "comp-2").pops(s1).compensates(s1, job1, "comp-1").sagaUnlock(s1)
}

const job2, job3 = "job-2", "job-3"

var sagaTrials = map[string]trial{
	"compensation-recorded-once": {
		cfg:    durable,
		breaks: func(s *story) { s.joins(job1).pushes(s1, job1, entryOf(job1)).pushes(s2, job1, entryOf(job1)) },
		says:   "put its compensation onto saga:wf-1:stack at step 14, where it had been put at step 13",
		holds:  undone,
	},
	"only-lock-holder-compensates": {
		cfg: config.Config{Saga: config.SagaConfig{LockTTL: 2 * time.Minute}},
		breaks: func(s *story) {
			s.succeeds(job1).failsForGood(job2).sagaLock(s1).compensates(s2, job1, "comp-1")
		},
		says:  "while scheduler-1 held the lock of wf-1",
		holds: undone,
	},
	"one-compensation-per-key": {
		cfg: durable,
		breaks: func(s *story) {
			s.succeeds(job1).failsForGood(job2).compensates(s1, job1, "comp-1").compensates(s2, job1, "comp-2")
		},
		says: "as comp-1 and comp-2, under one idempotency key",
		holds: func(s *story) {
			undone(s)
			s.compensates(s2, job1, "comp-1") // once more, as the same job
		},
	},
	"one-undo-per-effect": {
		cfg: config.Config{Deduplicate: true, Replay: config.ReplayConfig{KeepKey: true}},
		breaks: func(s *story) {
			s.underKey(job1, "tenant-1").dispatched(s1, job1, w1).executed(w1, job1)
			s.undoes("comp-1", job1).executed(w1, "comp-1").undoes("comp-2", job1).executed(w2, "comp-2")
		},
		says: "undid the effect of idempotency key tenant-1:key-1 at step 42 on worker-2, for the second time; it had happened 1 time",
		holds: func(s *story) {
			s.underKey(job1, "tenant-1").dispatched(s1, job1, w1).executed(w1, job1)
			s.undoes("comp-1", job1).executed(w1, "comp-1").undoes("comp-2", job1).effect(w2, "comp-2", "finish")
			s.last().Outcome = history.EffectHad
		},
	},
	"compensations-in-lifo-order": {
		cfg: durable,
		breaks: func(s *story) {
			s.succeeds(job1).succeeds(job2).failsForGood(job3).compensates(s1, job1, "comp-1").compensates(s1, job2, "comp-2")
		},
		says: "that of job-1, recorded before it at step ",
		holds: func(s *story) {
			s.succeeds(job1).failsForGood(job2).succeeds(job3).compensates(s1, job1, "comp-1").compensates(s1, job3, "comp-3") // that came later
		},
	},
	"compensation-only-of-succeeded-job": {
		cfg:    durable,
		breaks: func(s *story) { s.succeeds(job1).compensates(s1, job1, "comp-1") },
		says:   "no job of wf-1 has failed for good",
		holds: func(s *story) {
			undone(s)
			s.joins("job-4").completed(s1, "job-4", "TIMEOUT")
			c := s.store(history.StreamSys, history.SubjectResult, "job-4")
			c.Value = `{"status":"SUCCEEDED"}`
			s.add(w1, sim.KindPublish, "", history.SubjectResult, "job-4", "result_publish", c).
				pushes(s1, "job-4", entryOf("job-4")).compensates(s1, "job-4", "comp-4")
		},
	},
	"denied-compensation-is-skipped": {
		cfg: durable,
		breaks: func(s *story) {
			s.succeeds(job1).failsForGood(job2).sagaLock(s1).asksKernel(s1, "comp-1", 4).compensates(s1, job1, "comp-1")
		},
		says: "scheduler-1 submitted its compensation at step 48 as comp-1, although the safety kernel had denied that at step 47",
		holds: func(s *story) {
			s.succeeds(job1).failsForGood(job2).sagaLock(s1).asksKernel(s1, "comp-1", 4).asksKernel(s1, "comp-1", 1).compensates(s1, job1, "comp-1")
		},
	},
	"finished-saga-leaves-nothing": {
		cfg: durable,
		breaks: func(s *story) {
			s.failsForGood(job1).sagaDue(s1, "result_write", 30*time.Second).sagaLock(s1).findsNothing(s1).sagaUnlocks(s1)
		},
		says: "scheduler-1 had seen the stack of wf-1 empty at step 24 and ends its rollback at step 25, but saga:rollbacks has it still to be taken up, as of step 22",
		holds: func(s *story) {
			s.failsForGood(job1).sagaDue(s1, "result_write", 30*time.Second).sagaLock(s1).findsNothing(s1).closes(s1).sagaUnlocks(s1)
		},
	},
	"saga-lock-released-by-owner-or-expiry": {
		breaks: func(s *story) { s.sagaLock(s1).sagaUnlock(s2) },
		says:   "scheduler-2 took away the lock of wf-1 at step 2 that scheduler-1 had held since step 1",
		holds: func(s *story) {
			s.sagaLock(s1).wait(3 * time.Minute).sagaLock(s2).sagaUnlock(s2)
		},
	},
	"every-compensation-accounted-for": {
		cfg:    durable,
		breaks: func(s *story) { s.succeeds(job1).failsForGood(job2).sagaLock(s1).pops(s1).sagaUnlock(s1) },
		says:   "was neither submitted nor denied by the safety kernel, and is not in the DLQ",
		holds: func(s *story) {
			s.succeeds(job1).pushes("stranger", "", `{"topic": 1,`).failsForGood(job2).sagaLock(s1).pops(s1)
			c := s.set("dlq:entry:saga-1", "", `{"topic":"saga:wf-1:stack","reason_code":"saga_unmarshal_failed","reason":"no JSON: {\"topic\": 1,"}`)
			c.Expires = s.at + 30*24*time.Hour
			s.add(s1, sim.KindRedis, "multi", c.Key, "", "saga_pop", c, s.set(history.DlqIndex, "saga-1", "1")).pops(s1)
			s.asksKernel(s1, "comp-1", 4).denies(s1, job1, "comp-1").sagaUnlock(s1)
		},
	},
	"saga-rolled-back": {breaks: func(s *story) { s.succeeds(job1) }, holds: undone},
	"saga-rollback-resumed": {
		breaks: undone,
		holds:  func(s *story) { s.succeeds(job1).failsForGood(job2).sagaLock(s1).wait(3 * time.Minute).sagaLock(s2) },
	},
	"saga-joined-late": {breaks: undone, holds: func(s *story) { s.failsForGood(job1).succeeds(job2) }},
	"saga-compensation-denied": {
		breaks: undone,
		holds: func(s *story) {
			s.succeeds(job1).failsForGood(job2).pops(s1).asksKernel(s1, "comp-1", 4).denies(s1, job1, "comp-1")
		},
	},
	"saga-entry-unreadable": {
		breaks: undone,
		holds: func(s *story) {
			s.pushes("stranger", "", `{"topic": 1,`)
			c := s.set("dlq:entry:saga-1", "", `{"topic":"saga:wf-1:stack","reason_code":"saga_unmarshal_failed","reason":"no JSON: {\"topic\": 1,"}`)
			s.add(s1, sim.KindRedis, "multi", c.Key, "", "saga_pop", c)
		},
	},
}

// A job that fails for good undoes what its own tenant has done, though another tenant calls a workflow the same.
func TestARollbackIsOfOneTenant(t *testing.T) {
	for tenant, says := range map[string]string{"tenant-1": "", "tenant-2": "no job of tenant-2:wf-1 has failed for good", "default": "no job of wf-1 has failed for good"} {
		s := newStory().joinsOf(tenant, job1, "{}").executed(w1, job1).completed(s1, job1, "SUCCEEDED").
			joinsOf("tenant-1", job2, "{}").answersForGood(job2).compensatesOf(tenant, s1, job1, "comp-1")
		found := outcomeOf(s.judge(durable), "compensation-only-of-succeeded-job").Violations
		assertSays(t, found, says, tenant)
	}
}

// What a job has done is to be undone from when its success is in its record; or from when that is acknowledged, should
// the job have ended otherwise before.
func TestACompensationIsRecorded(t *testing.T) {
	reports := func(s *story) *story { // the stream's second message
		c := s.store(history.StreamSys, history.SubjectResult, job1)
		c.Value = `{"status":"SUCCEEDED"}`
		return s.add(w1, sim.KindPublish, "", history.SubjectResult, job1, "result_publish", c)
	}
	given := func(s *story, node string) *story {
		return s.message(node, job1, "result_deliver", sim.KindDeliver, 1).of(2)
	}
	acked := func(s *story, node string) *story { return s.ack(node, job1, "result_ack").of(2) }
	over := func() *story { return reports(newStory().joins(job1).write(s1, job1, "timeout_write", "TIMEOUT")) }
	for _, c := range []struct {
		name string
		cfg  config.Config
		s    *story
		says string // "" if it holds
	}{
		{"succeeded", durable, newStory().joins(job1).executed(w1, job1).completed(s1, job1, "SUCCEEDED"),
			"its success was taken note of at step 19, but its compensation was never put onto saga:wf-1:stack"},
		{"and in the documented design", config.Config{}, newStory().joins(job1).executed(w1, job1).completed(s1, job1, "SUCCEEDED"), "was never put onto"},
		{"its output is kept back", durable, newStory().joins(job1).executed(w1, job1).completed(s1, job1, "OUTPUT_QUARANTINED"), "was never put onto"},
		{"it has none", durable, newStory().joinsWith(job1, "null").executed(w1, job1).completed(s1, job1, "SUCCEEDED"), ""},
		{"it failed", durable, newStory().joins(job1).executed(w1, job1).completed(s1, job1, "FAILED"), ""},
		{"that of another", durable, newStory().joins(job1).executed(w1, job1).pushes(s1, job1, entryOf(job2)).completed(s1, job1, "SUCCEEDED"), "was never put onto"},
		{"done after its timeout", durable, acked(given(over(), s1), s1), "was never put onto"},
		{"which the documented design ignores", config.Config{}, acked(given(over(), s1), s1), ""},
		{"recorded after all", durable, acked(given(over(), s1).pushes(s1, job1, entryOf(job1)), s1), ""},
		{"not handled yet", durable, given(over(), s1), ""},
		{"a stale result", durable, acked(given(reports(newStory().joins(job1)), s1).write(s2, job1, "timeout_write", "TIMEOUT"), s1), ""},
		{"a stale result that another has got again", durable, acked(given(given(reports(newStory().joins(job1)), s1).write(s2, job1, "timeout_write", "TIMEOUT"), s2), s1), ""},
	} {
		found := outcomeOf(c.s.judge(c.cfg), "compensation-recorded-once").Violations
		assertSays(t, found, c.says, c.name)
	}
}

// A compensation that a failover took off the stack is recorded anew: who rolled back before then did not see it.
func TestACompensationThatAFailoverTookComesLater(t *testing.T) {
	s := newStory().succeeds(job1).succeeds(job2)
	delete(s.redis[wf1Stack], "1")
	s.control("failover", sim.Redis).last().Changes = []sim.Change{{Key: wf1Stack, Field: "1", Gone: true}}
	s.failsForGood(job3).compensates(s1, job1, "comp-1").pushes(s1, job2, entryOf(job2)).compensates(s1, job2, "comp-2")
	o := outcomeOf(s.judge(durable), "compensations-in-lifo-order")
	assert.Empty(t, o.Violations)
	assert.Equal(t, 1, o.Exercised)
}

// That a compensation was denied is the safety kernel's to say, whatever the audit trail says of that.
func TestACompensationIsDeniedByTheKernel(t *testing.T) {
	popped := func() *story { return newStory().succeeds(job1).failsForGood(job2).sagaLock(s1).pops(s1) }
	for name, s := range map[string]*story{
		"nobody was asked":  popped(),
		"allowed":           popped().asksKernel(s1, "comp-1", 1),
		"constrained":       popped().asksKernel(s1, "comp-1", 2),
		"no answer":         popped().asksKernel(s1, "comp-1", 4).fails(),
		"another is denied": popped().asksKernel(s1, "comp-2", 4),
	} {
		r := s.denies(s1, job1, "comp-1").judge(durable)
		assert.Len(t, outcomeOf(r, "every-compensation-accounted-for").Violations, 1, name)
		assert.Zero(t, outcomeOf(r, "saga-compensation-denied").Exercised, name)
	}
	for _, decision := range []int{4, 99} { // one that nobody knows denies
		s := popped().asksKernel(s1, "comp-1", decision).denies(s1, job1, "comp-1")
		assert.Empty(t, outcomeOf(s.judge(durable), "every-compensation-accounted-for").Violations)
	}
}

// A compensation that arrives late, when nobody holds the lock any more, was sent under it.
func TestALateCompensationIsNotJudgedByWhoHoldsTheLock(t *testing.T) {
	cfg := config.Config{Saga: config.SagaConfig{LockTTL: 2 * time.Minute}}
	for late, held := range map[bool]bool{true: true, false: false} {
		s := newStory().succeeds(job1).failsForGood(job2).sagaLock(s1).compensates(s2, job1, "comp-1")
		if late {
			s.late()
		}
		assert.Equal(t, held, len(outcomeOf(s.judge(cfg), "only-lock-holder-compensates").Violations) == 0)
	}
}

// A compensation has no record until a scheduler gets its message, unless the rollback makes one.
func TestASubmissionWithoutARecordIsNeeded(t *testing.T) {
	s := newStory()
	s.submit(job1).compensates(s1, job1, "comp-1")
	s.message(s1, "comp-1", "submit_deliver", sim.KindDeliver, 100).of(2).message(s1, "comp-1", "submit_nak", sim.KindNak, 100).of(2)
	r := s.judge(hardened)
	assert.Contains(t, outcomeOf(r, "no-message-given-up").Violations[0].Message, "given up after 100 deliveries, while the job had no record")
	assert.Contains(t, outcomeOf(r, "every-job-settles").Violations[1].Message, "has no record: a message of it was given up")
}

// The key of a compensation that names none is the hash of what it undoes; of jobs that have one effect between them, it is
// that of the first.
func TestTheKeyOfACompensation(t *testing.T) {
	key := func(of string) string {
		sum := sha256.Sum256([]byte("wf-1|" + of + "|undo.it|book|2"))
		return hex.EncodeToString(sum[:])
	}
	const replay = `"idempotency_key":"job-1:key","labels":{"replay_of":"job-1","replay_count":"1"},`
	for name, c := range map[string]struct {
		of, more, names, key string
		held                 bool
	}{
		"of its job":              {of: job1, key: key(job1), held: true},
		"of another job":          {of: job1, key: key(job2)},
		"any":                     {of: job1, key: "any"},
		"one that it names":       {of: job1, names: `"idempotency_key":"named",`, key: "named", held: true},
		"not the one it names":    {of: job1, names: `"idempotency_key":"named",`, key: key(job1)},
		"of the original":         {of: "job-1-replay-1", more: replay, key: key(job1), held: true},
		"of a replay of its own":  {of: "job-1-replay-1", more: replay, key: key("job-1-replay-1")},
		"of a replay, by its own": {of: "job-1-replay-1", more: strings.Replace(replay, "job-1:key", "job-1-replay-1", 1), key: key("job-1-replay-1"), held: true},
	} {
		asked := fmt.Sprintf(`{"job_id":%q,%s"topic":"job.default","workflow_id":"wf-1","step_index":2,"capability":"book","compensation":{%s"topic":"undo.it"}}`, c.of, c.more, c.names)
		undo := fmt.Sprintf(`{"job_id":"comp-1","topic":"undo.it","priority":"CRITICAL","step_index":2,"capability":"book","idempotency_key":%q,
			"env":{"saga_compensation":"true","saga_workflow_id":"wf-1"},
			"labels":{"saga_compensation":"true","saga_workflow_id":"wf-1","is_compensation":"true","saga_job_id":%q}}`, c.key, c.of)
		s := newStory().write("submitter", c.of, "submit_write", "PENDING", "attempts", "0", "request", asked)
		s.write(s1, "comp-1", "pending_write", "PENDING", "attempts", "0", "request", undo)
		var found []string
		for _, v := range outcomeOf(s.judge(durable), "derived-request-matches-its-source").Violations {
			if v.Job == "comp-1" {
				found = append(found, v.Message)
			}
		}
		if c.held {
			assert.Empty(t, found, name)
		} else if assert.Len(t, found, 1, name) {
			assert.Contains(t, found[0], "but its idempotency_key is another", name)
		}
	}
}

// A job's compensation is put onto the stack once, whatever its key.
func TestACompensationIsRecordedOnceWhateverItsKey(t *testing.T) {
	s := newStory().joins(job1).executed(w1, job1).pushes(s1, job1, entryOf(job1)).pushes(s2, job1, strings.Replace(entryOf(job1), "undo-", "again-", 1))
	assert.Len(t, outcomeOf(s.judge(durable), "compensation-recorded-once").Violations, 1)
}

// A stack is kept for thirty days from its last push on.
func TestAStackIsKeptForLongEnough(t *testing.T) {
	for ttl, says := range map[time.Duration]string{
		30 * 24 * time.Hour: "",
		24 * time.Hour:      "put its compensation onto saga:wf-1:stack at step 13, which is kept for 24h0m0s from then on, and not for 720h0m0s",
		0:                   "which Redis never forgets",
	} {
		s := newStory().joins(job1).pushes(s1, job1, entryOf(job1))
		if s.last().Changes[0].Expires = 0; ttl != 0 {
			s.last().Changes[0].Expires = s.at + ttl
		}
		found := outcomeOf(s.judge(durable), "compensation-recorded-once").Violations
		assertSays(t, found, says, ttl)
	}
}

// A denial holds for whom it was told to, and until that asks again; it holds for none who has the job itself in hand, or
// has its circuit open since.
func TestADenialIsOfTheRollback(t *testing.T) {
	held := func() *story { return newStory().succeeds(job1).failsForGood(job2).sagaLock(s1) }
	opened := func(s *story) *story {
		for range 3 {
			s.asksKernel(s1, "job-9", 1).fails()
		}
		return s
	}
	for name, c := range map[string]struct {
		s     *story
		holds bool
	}{
		"denied":                    {s: held().asksKernel(s1, "comp-1", 4)},
		"by nobody knows what":      {s: held().asksKernel(s1, "comp-1", 99)},
		"allowed before":            {s: held().asksKernel(s1, "comp-1", 1).asksKernel(s1, "comp-1", 4)},
		"another":                   {held().asksKernel(s1, "comp-2", 4), true},
		"another scheduler is told": {held().asksKernel(s2, "comp-1", 4), true},
		"then no answer":            {held().asksKernel(s1, "comp-1", 4).asksKernel(s1, "comp-1", 4).fails(), true},
		"then its circuit is open":  {opened(held().asksKernel(s1, "comp-1", 4)), true},
		"its own job in hand":       {held().lock(s1, "comp-1").asksKernel(s1, "comp-1", 4), true},
	} {
		cfg := durable
		cfg.Policy = config.PolicyConfig{FailBudget: 3, OpenFor: 30 * time.Second}
		o := outcomeOf(c.s.compensates(s1, job1, "comp-1").judge(cfg), "denied-compensation-is-skipped")
		assert.Equal(t, c.holds, len(o.Violations) == 0, name)
	}
	late := held().asksKernel(s1, "comp-1", 4).compensates(s1, job1, "comp-1").late()
	assert.Empty(t, outcomeOf(late.judge(durable), "denied-compensation-is-skipped").Violations, "it was on its way")
}

// A rollback is over when its stack was seen empty, and only then, and unless something keeps its process from saying so.
func TestAFinishedRollbackIsClosed(t *testing.T) {
	begun := func() *story {
		return newStory().failsForGood(job1).sagaDue(s1, "result_write", 30*time.Second).sagaLock(s1)
	}
	const due, ranOut = "has it still to be taken up", "ran out: it was not given back"
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"not closed":                   {begun().findsNothing(s1).sagaUnlocks(s1), due},
		"closed":                       {begun().findsNothing(s1).closes(s1).sagaUnlocks(s1), ""},
		"not finished":                 {begun().sagaUnlocks(s1), ""},
		"due again":                    {begun().findsNothing(s1).closes(s1).sagaDue(s2, "result_write", 30*time.Second).sagaUnlocks(s1), ""},
		"closing fails":                {begun().findsNothing(s1).add(s1, sim.KindRedis, "watch", wf1Stack, "", "saga_close").fails().sagaUnlocks(s1), ""},
		"not given back":               {begun().findsNothing(s1).closes(s1).wait(3 * time.Minute).reconciles(s2), ranOut},
		"nor before the next":          {begun().findsNothing(s1).closes(s1).wait(3 * time.Minute).sagaLock(s2).sagaUnlocks(s2), ranOut},
		"not given back, not finished": {begun().wait(3 * time.Minute).reconciles(s2), ""},
		"its holder has crashed":       {begun().findsNothing(s1).control("crash", s1).wait(3 * time.Minute).reconciles(s2), ""},
		"its holder was paused":        {begun().findsNothing(s1).stalls(s1).wait(3 * time.Minute).reconciles(s2), ""},
		"it cannot give it back":       {begun().findsNothing(s1).closes(s1).add(s1, sim.KindRedis, "watch", wf1Lock, "", "saga_unlock").fails().wait(3 * time.Minute).reconciles(s2), ""},
		"it goes on":                   {begun().findsNothing(s1).closes(s1).wait(time.Minute), ""},
	} {
		found := outcomeOf(c.s.judge(durable), "finished-saga-leaves-nothing").Violations
		assertSays(t, found, c.says, name)
	}
	documented := begun().findsNothing(s1).sagaUnlocks(s1).judge(config.Config{})
	assert.Empty(t, outcomeOf(documented, "finished-saga-leaves-nothing").Violations, "nobody reads saga:rollbacks")
}

// A run that has succeeded needs nothing undone of what it had done by then.
func TestARunThatHasSucceededTakesItsStackAlong(t *testing.T) {
	const stack = "saga:run-1:stack"
	push := func(s *story) *story {
		c := s.set(stack, "0", entryOf("run-1-a-1"))
		c.Expires = s.at + time.Millisecond + 30*24*time.Hour
		return s.add(s1, sim.KindRedis, "multi", stack, "run-1-a-1", "saga_record", c)
	}
	succeeded := func(s *story, drops bool) *story {
		if s.run(s1, "run_write", succeededRun()); drops {
			s.last().Changes = append(s.last().Changes, sim.Change{Key: stack, Gone: true})
		}
		return s
	}
	for name, c := range map[string]struct {
		s    *story
		kept bool
	}{
		"kept":         {succeeded(push(newStory()), false), true},
		"taken along":  {succeeded(push(newStory()), true), false},
		"pushed later": {push(succeeded(newStory(), false)), false},
	} {
		found := outcomeOf(c.s.judge(durable), "finished-saga-leaves-nothing").Violations
		if assert.Equal(t, c.kept, len(found) == 1, name) && c.kept {
			assert.Contains(t, found[0].Message, "is SUCCEEDED since step 2, but saga:run-1:stack still holds the compensation that was recorded at step 1")
		}
	}
}

// The schedulers count what sagas do as the events show it.
func TestTheCountersOfSagas(t *testing.T) {
	counted := func() map[string]float64 {
		return map[string]float64{history.CounterRecorded: 2, history.CounterRolledBack: 1, history.CounterCompensated: 2, history.CounterUncompensated: 1}
	}
	about := func(m map[string]float64) (said []string) {
		s := newStory()
		undone(s)
		s.sagaLock(s2).fails().add(s1, sim.KindPublish, "", history.SubjectSubmit, job1, "saga_publish").fails()
		for _, v := range outcomeOf(s.counted(m).judge(durable), "counters-equal-trace").Violations {
			if strings.Contains(v.Message, "saga_") {
				said = append(said, v.Message)
			}
		}
		return said
	}
	assert.Empty(t, about(counted()))
	for _, name := range []string{history.CounterRecorded, history.CounterRolledBack, history.CounterCompensated, history.CounterUncompensated} {
		m := counted()
		m[name]--
		if said := about(m); assert.Len(t, said, 1) {
			assert.Contains(t, said[0], name+" is ")
		}
	}
}
