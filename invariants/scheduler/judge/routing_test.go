package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// says is a heartbeat of a worker of a pool, with what it has.
func (s *story) says(worker, pool, labels, capabilities string, schedulers ...string) *story {
	for _, scheduler := range schedulers {
		s.add(scheduler, sim.KindReceive, "", history.SubjectBeat, worker, "heartbeat")
		s.last().Data = fmt.Sprintf(`{"worker_id":%q,"pool":%q,"active_jobs":0,"max_parallel_jobs":10,"labels":%s,"capabilities":%s}`, worker, pool, labels, capabilities)
	}
	return s
}

// asksFor is a submission whose request has more to it.
func (s *story) asksFor(job, topic, more string) *story {
	s.write("submitter", job, "submit_write", "PENDING", "attempts", "0", "request", fmt.Sprintf(`{"job_id":%q,"topic":%q%s}`, job, topic, more))
	return s.add("submitter", sim.KindPublish, "", history.SubjectSubmit, job, "submit_publish", s.store(history.StreamSys, history.SubjectSubmit, job))
}

var pooled = config.Config{Routing: config.RoutingConfig{
	Topics: map[string][]string{"job.default": {"default", "gpu"}, "job.gpu": {"gpu"}},
	Offers: map[string][]string{"gpu": {"gpu"}},
}}

// prefersStale is a job whose preferred worker is past its TTL, and not evicted yet.
func prefersStale(s *story) *story {
	return s.beats(w2, 0, s1).wait(25*time.Second).beats(w1, 0, s1).wait(8*time.Second).asksFor(job1, "job.default", `,"labels":{"preferred_worker_id":"worker-2"}`)
}

var routingTrials = map[string]trial{
	"no-dispatch-to-overloaded-worker": {
		breaks: func(s *story) { s.beats(w1, 9, s1).submit(job1).dispatched(s1, job1, w1) },
		says:   "scheduler-1 dispatched it to worker-1 at step 7, whose last heartbeat said that it was overloaded",
		holds:  func(s *story) { s.beats(w1, 9, s1).beats(w2, 0, s1).submit(job1).dispatched(s1, job1, w2) },
	},
	"stale-preference-is-passed-over": {
		breaks: func(s *story) {
			prefersStale(s).begins(s1, job1).unlock(s1, job1)
		},
		says:  "its preferred worker-2 was past its TTL, but worker-1 was alive and free",
		holds: func(s *story) { prefersStale(s).dispatched(s1, job1, w1) },
	},
	"dispatch-respects-placement": {
		cfg: pooled,
		breaks: func(s *story) {
			s.says(w1, "default", `{"zone":"zone-1"}`, `[]`, s1).asksFor(job1, "job.default", `,"labels":{"placement.zone":"zone-2"}`).dispatched(s1, job1, w1)
		},
		says: "although the job asks for placement.zone=zone-2; worker-1 says that it is of the pool default, with the labels map[zone:zone-1]",
		holds: func(s *story) {
			s.says(w1, "default", `{"zone":"zone-2"}`, `[]`, s1).asksFor(job1, "job.default", `,"labels":{"placement.zone":"zone-2"}`).dispatched(s1, job1, w1)
		},
	},
}

func TestEveryHintIsJudged(t *testing.T) {
	for asked, want := range map[string]string{
		`,"labels":{"placement.zone":"zone-1","node.arch":"arm64","constraint.cuda":"12","constraint.fast":"true","preferred_pool":"default"}`: "",
		`,"labels":{"preferred_worker_id":"worker-9","team":"mail"}`:                                                                           "",
		`,"labels":{"placement.zone":"zone-3"}`:                                                                                                "placement.zone=zone-3",
		`,"labels":{"placement.rack":""}`:                                                                                                      "placement.rack=",
		`,"labels":{"node.os":""}`:                                                                                                             "node.os=",
		`,"labels":{"node.arch":"amd64"}`:                                                                                                      "node.arch=amd64",
		`,"labels":{"constraint.cuda":"true"}`:                                                                                                 "constraint.cuda=true",
		`,"labels":{"constraint.fast":"yes"}`:                                                                                                  "constraint.fast=yes",
		`,"labels":{"preferred_pool":"gpu"}`:                                                                                                   "preferred_pool=gpu",
		`,"requires":["gpu"]`:                                                                                                                  "a pool that offers gpu",
		`,"labels":{"a":"b"},"topic":"job.gpu"`:                                                                                                "a pool of job.gpu",
		`,"topic":"job.elsewhere","requires":[]`:                                                                                               "",
	} {
		s := newStory()
		s.says(w1, "default", `{"zone":"zone-1","node.arch":"arm64"}`, `["cuda=12","fast"]`, s1).asksFor(job1, "job.default", asked).dispatched(s1, job1, w1)
		o := outcomeOf(s.judge(pooled), "dispatch-respects-placement")
		if want == "" {
			assert.Empty(t, o.Violations, asked)
		} else if assert.Len(t, o.Violations, 1, asked) {
			assert.Contains(t, o.Violations[0].Message, "asks for "+want+";", asked)
		}
	}
}

// A job goes to the worker that it prefers, if that is alive, free and fit.
func TestThePreferredWorkerIsJudged(t *testing.T) {
	said := func(labels string, heard func(*story)) (list []string) {
		s := newStory().says(w1, "default", `{"zone":"zone-1"}`, `[]`, s1)
		heard(s)
		s.asksFor(job1, "job.default", `,"labels":{"preferred_worker_id":"worker-2"`+labels+`}`).dispatched(s1, job1, w1)
		for _, v := range outcomeOf(s.judge(pooled), "dispatch-respects-placement").Violations {
			list = append(list, v.Message)
		}
		return list
	}
	fit := func(s *story) { s.says(w2, "gpu", `{}`, `[]`, s1) }
	if is := said("", fit); assert.Len(t, is, 1) {
		assert.Contains(t, is[0], "scheduler-1 dispatched it to worker-1 at step 8; it prefers worker-2, which was alive and free")
	}
	assert.Empty(t, said(`,"placement.zone":"zone-1"`, fit), "it is of no zone")
	for why, heard := range map[string]func(*story){
		"nobody has heard of it": func(*story) {},
		"another replica has":    func(s *story) { s.says(w2, "gpu", `{}`, `[]`, s2) },
		"it may be past its TTL": func(s *story) { fit(s); s.wait(30*time.Second).says(w1, "default", `{}`, `[]`, s1) },
		"it is overloaded":       func(s *story) { s.beats(w2, 9, s1) },
		"its pool is another":    func(s *story) { s.says(w2, "other", `{}`, `[]`, s1) },
		"the replica was away":   func(s *story) { s.control("pause", s1).wait(time.Minute).control("resume", s1); fit(s) },
	} {
		assert.Empty(t, said("", heard), why)
	}
}

// A job of which no worker has reported a failure is filed under what kept it from a worker for good: its attempts are used
// up, or no pool serves it.
func TestWhatJobsAreFiledUnder(t *testing.T) {
	cfg := pooled
	cfg.MaxSchedulingRetries = 2
	said := func(asks, code string, attempts int) (list []string) {
		s := newStory().asksFor(job1, "job.default", asks)
		for range attempts {
			s.begins(s1, job1).unlock(s1, job1)
		}
		s.lock(s1, job1).read(s1, job1).write(s1, job1, "failed_write", "FAILED", "reason_code", code).dlq(s1, job1, code, attempts)
		for _, v := range outcomeOf(s.judge(cfg), "given-up-only-at-the-ceiling").Violations {
			list = append(list, v.Message)
		}
		return list
	}
	const gpu, both, preferred, other = `,"requires":["gpu"]`, `,"requires":["gpu","tpu"]`, `,"labels":{"preferred_pool":"gpu"},"requires":["gpu"]`, `,"labels":{"preferred_pool":"default"},"requires":["gpu"]`
	for _, asks := range []string{"", gpu, preferred} { // a pool serves it
		assert.Empty(t, said(asks, "max_scheduling_retries", 2), asks)
		if is := said(asks, "no_pool_mapping", 1); assert.Len(t, is, 1, asks) {
			assert.Contains(t, is[0], "although it had used 1 of its 2 attempts", asks)
		}
		if is := said(asks, "no_pool_mapping", 2); assert.Len(t, is, 1, asks) {
			assert.Contains(t, is[0], `with the reason code "no_pool_mapping", although no worker had reported a failure`, asks)
		}
		assert.Len(t, said(asks, "dispatch_failed", 2), 1, asks)
	}
	for _, asks := range []string{both, other} { // none does
		assert.Empty(t, said(asks, "no_pool_mapping", 1), asks)
		assert.Len(t, said(asks, "no_workers", 1), 1, asks)
	}
}

// What the safety kernel has denied is filed under that.
func TestDenialsAreFiledAsSuch(t *testing.T) {
	for code, says := range map[string]string{"safety_denied": "", "no_workers": `its DLQ entry has reason_code "no_workers", although the safety kernel has denied it`} {
		s := newStory().submit(job1).lock(s1, job1).read(s1, job1).write(s1, job1, "denied_write", "DENIED", "decision", "DENY", "reason_code", code).dlq(s1, job1, code, 0).unlock(s1, job1)
		list := outcomeOf(s.judge(config.Config{}), "failed-job-has-dlq-entry").Violations
		assertSays(t, list, says)
	}
}

// What the safety kernel lays upon a job binds as the job's own labels do.
func TestConstraintsAreJudgedToo(t *testing.T) {
	s := newStory()
	s.says(w1, "default", `{"zone":"zone-1"}`, `[]`, s1).submit(job1).lock(s1, job1).read(s1, job1).
		write(s1, job1, "scheduled_write", "SCHEDULED", "attempts", "1", "constraints", `{"placement.zone":"zone-2"}`).intended(s1, job1, w1).publish(s1, job1, w1)
	o := outcomeOf(s.judge(pooled), "dispatch-respects-placement")
	if assert.Len(t, o.Violations, 1) {
		assert.Contains(t, o.Violations[0].Message, "asks for placement.zone=zone-2")
	}
}

// Where workers are of several pools, and a pool may have no name, nothing is sure, whoever was heard of first.
func TestPoolsAreToldApart(t *testing.T) {
	for _, pools := range [][2]string{{"", "gpu"}, {"gpu", ""}} {
		s := newStory().says(w2, pools[1], `{}`, `[]`, s1).says(w1, pools[0], `{}`, `[]`, s1)
		judge := NewJudge(config.Config{})
		for i := range s.events {
			judge.Observe(&s.events[i])
		}
		step := &model.Step{Event: &s.events[len(s.events)-1], About: &model.Job{}}
		assert.Empty(t, judge.Facts.Candidates(step), pools)
		assert.Empty(t, judge.Facts.Free(step), pools)
		assert.Equal(t, w1, judge.Facts.Alive(step)[0].Worker, "by their names")
	}
}
