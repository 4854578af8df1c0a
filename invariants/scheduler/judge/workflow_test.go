package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

const run1 = "run-1"

// twoSteps is a run as the stories write it: step b depends on a and comes half a minute after it.
func twoSteps(version int64, a, b history.RunStep) history.RunRecord {
	a.ID, b.ID = "a", "b"
	b.DependsOn, b.DelaySec = []string{"a"}, 30
	return history.RunRecord{RunID: run1, State: "RUNNING", Version: version, Steps: []history.RunStep{a, b}}
}

var (
	pendingStep   = history.RunStep{State: "PENDING"}
	submittedStep = history.RunStep{State: "SUBMITTED", Attempt: 1, JobID: "run-1-a-1"}
	succeededStep = history.RunStep{State: "SUCCEEDED", Attempt: 1, JobID: "run-1-a-1"}
	submittedB    = history.RunStep{State: "SUBMITTED", Attempt: 1, JobID: "run-1-b-1"}
)

// waitingStep waits for its n-th attempt until a time since the story's start.
func waitingStep(n int, until time.Duration) history.RunStep {
	return history.RunStep{State: "WAITING", Attempt: n, NextAttemptAt: until.Milliseconds()}
}

// run writes a run's record, and its place in the index.
func (s *story) run(node, phase string, r history.RunRecord) *story {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	changes := []sim.Change{s.set(history.RunPrefix+r.RunID, "", string(data))}
	if r.Over() {
		changes[0].Expires = s.at + time.Millisecond + 30*24*time.Hour
		changes = append(changes, s.unset(history.LiveRunsKey, r.RunID)...)
		changes = append(changes, s.unset(history.TimersKey, "wf:"+r.RunID)...)
	} else {
		changes = append(changes, s.set(history.LiveRunsKey, r.RunID, strconv.FormatInt(r.CreatedAt, 10)))
	}
	return s.add(node, sim.KindRedis, "multi", history.RunPrefix+r.RunID, "", phase, changes...)
}

// unset takes a member out of a sorted set.
func (s *story) unset(key, member string) []sim.Change {
	if _, holds := s.redis[key][member]; !holds {
		return nil
	}
	delete(s.redis[key], member)
	return []sim.Change{{Key: key, Field: member, Gone: true}}
}

// readsRun is a read of a run's record.
func (s *story) readsRun(node string) *story {
	return s.add(node, sim.KindRedis, "get", history.RunPrefix+run1, "", "run_read")
}

func (s *story) locksRun(node string) *story {
	s.tokens++
	c := s.set(history.RunLockPrefix+run1, "", node+string(rune('a'+s.tokens)))
	c.Expires = s.at + time.Millisecond + 30*time.Second
	return s.add(node, sim.KindRedis, "set", c.Key, "", "run_lock", c)
}

// findsRunLocked is an attempt to take the lock that another holds.
func (s *story) findsRunLocked(node string) *story {
	return s.add(node, sim.KindRedis, "set", history.RunLockPrefix+run1, "", "run_lock")
}

func (s *story) unlocksRun(node string) *story {
	delete(s.redis, history.RunLockPrefix+run1)
	return s.add(node, sim.KindRedis, "multi", history.RunLockPrefix+run1, "", "run_unlock", sim.Change{Key: history.RunLockPrefix + run1, Gone: true})
}

// advances is one write of a run under its lock.
func (s *story) advances(node string, r history.RunRecord) *story {
	return s.locksRun(node).run(node, "run_write", r).unlocksRun(node)
}

// keeps has a replica keep a delay of the run in Redis.
func (s *story) keeps(node string) *story {
	return s.add(node, sim.KindRedis, "zadd", history.TimersKey, "", "timer_write", s.set(history.TimersKey, "wf:"+run1, "30"))
}

// popsDelays is a look for delays that are over, which finds the last there is.
func (s *story) popsDelays(node string) *story {
	delete(s.redis, history.TimersKey)
	return s.add(node, sim.KindRedis, "evalsha", history.TimersKey, "", "timer_pop", sim.Change{Key: history.TimersKey, Gone: true})
}

// stepJob submits a step's job, as a scheduler does.
func (s *story) stepJob(node, job string) *story {
	s.write(node, job, "submit_write", "PENDING", "attempts", "0", "request", fmt.Sprintf(`{"job_id":%q,"workflow_id":%q}`, job, run1))
	return s.add(node, sim.KindPublish, "", history.SubjectSubmit, job, "submit_publish", s.store(history.StreamSys, history.SubjectSubmit, job))
}

// stepDone is a job from its dispatch to its end.
func (s *story) stepDone(job, state string) *story {
	return s.dispatched(s1, job, w1).executed(w1, job).completed(s1, job, state)
}

// aDone is a run whose first step has succeeded, and whose second waits for so long from the story's start.
func (s *story) aDone(until time.Duration) *story {
	s.run("starter", "run_create", twoSteps(1, pendingStep, pendingStep)).advances(s1, twoSteps(2, submittedStep, pendingStep))
	return s.stepJob(s1, "run-1-a-1").stepDone("run-1-a-1", "SUCCEEDED").advances(s1, twoSteps(3, succeededStep, waitingStep(1, until)))
}

// retried is a run whose first step may be tried twice, and whose first job has ended in that state.
func (s *story) retried(state string) *story {
	r := twoSteps(1, pendingStep, pendingStep)
	r.Steps[0].Retry.Max = 1
	s.run("starter", "run_create", r).advances(s1, twoSteps(2, submittedStep, pendingStep))
	return s.stepJob(s1, "run-1-a-1").stepDone("run-1-a-1", state)
}

// failedRun is that run as it has failed.
func failedRun(version int64) history.RunRecord {
	n := int(version) - 3
	r := twoSteps(version, history.RunStep{State: "FAILED", Attempt: n, JobID: history.StepJobID(run1, "a", n)}, pendingStep)
	r.Steps[0].Reason, r.Steps[0].Retry.Max = r.Steps[0].JobID+" is FAILED", 1
	r.State, r.Reason = "FAILED", "step a: "+r.Steps[0].Reason
	return r
}

// succeededRun is a run as it has succeeded, whatever became of its steps.
func succeededRun() history.RunRecord {
	r := twoSteps(4, succeededStep, succeededStep)
	r.State, r.Steps[1].JobID = "SUCCEEDED", "run-1-b-1"
	return r
}

var hardenedRuns = config.Config{Workflow: config.WorkflowConfig{
	DurableFrom: 10 * time.Second, DelayPoll: 5 * time.Second,
	StrictRunLock: true, FenceRuns: true, DurableTimers: true, DelayPoller: true, RunReconciler: true,
}}

var workflowTrials = map[string]trial{
	"steps-in-order": {
		breaks: func(s *story) {
			s.run("starter", "run_create", twoSteps(1, pendingStep, pendingStep)).advances(s1, twoSteps(2, submittedStep, pendingStep))
			s.stepJob(s1, "run-1-a-1").wait(time.Minute).stepJob(s1, "run-1-b-1").stepDone("run-1-a-1", "SUCCEEDED")
		},
		says: "scheduler-1 submitted run-1-b-1 at step 7, although step a had not succeeded (the run's record was last written at step 3)",
		holds: func(s *story) {
			s.aDone(31*time.Second).wait(31*time.Second).advances(s1, twoSteps(4, succeededStep, submittedB)).stepJob(s1, "run-1-b-1")
		},
	},
	"step-waits-as-asked": {
		breaks: func(s *story) { s.aDone(31 * time.Second) },
		says:   "scheduler-1 wrote at step 29 that run-1-b-1 waits until 31s; it is to wait until 30.023s",
		holds:  func(s *story) { s.aDone(30*time.Second + 23*time.Millisecond) },
	},
	"no-delay-fires-early": {
		breaks: func(s *story) { s.aDone(time.Second).wait(29*time.Second).stepJob(s1, "run-1-b-1") },
		says:   "scheduler-1 submitted run-1-b-1 at step 31, 992ms before its time (the run's record was last written at step 29)",
		holds:  func(s *story) { s.aDone(31*time.Second).wait(30*time.Second).stepJob(s1, "run-1-b-1") },
	},
	"delay-fires-on-time": {
		cfg:    hardenedRuns,
		breaks: func(s *story) { s.aDone(time.Minute).wait(53*time.Second).stepJob(s1, "run-1-b-1") }, // whatever the record says
		says:   "scheduler-1 submitted run-1-b-1 at step 31, 23.008s after its time",
		holds: func(s *story) {
			s.aDone(31*time.Second).keeps(s1).control("crash", s1).wait(45*time.Second).popsDelays(s2).stepJob(s2, "run-1-b-1")
		},
	},
	"delay-waits-for-no-poll": {
		cfg:    hardenedRuns,
		breaks: func(s *story) { s.aDone(31*time.Second).wait(35*time.Second).stepJob(s1, "run-1-b-1") },
		says:   "scheduler-1 submitted run-1-b-1 at step 31, 5.008s after a timer for it was due",
		holds:  func(s *story) { s.aDone(31*time.Second).wait(32*time.Second).stepJob(s1, "run-1-b-1") },
	},
	"no-delay-fires-twice": {
		breaks: func(s *story) {
			s.aDone(31*time.Second).wait(31*time.Second).stepJob(s1, "run-1-b-1")
			s.add(s2, sim.KindPublish, "", history.SubjectSubmit, "run-1-b-1", "submit_publish", s.store(history.StreamSys, history.SubjectSubmit, "run-1-b-1"))
		},
		says: "run-1-b-1 was stored a second time at step 33 by scheduler-2, CORDUM_SYS seq 4; the first was seq 3",
		holds: func(s *story) {
			s.aDone(31*time.Second).wait(31*time.Second).stepJob(s1, "run-1-b-1").fails()
			s.add(s1, sim.KindPublish, "", history.SubjectSubmit, "run-1-b-1", "submit_publish", s.store(history.StreamSys, history.SubjectSubmit, "run-1-b-1"))
		},
	},
	"retries-are-used-up": {
		breaks: func(s *story) { s.retried("FAILED").advances(s1, failedRun(4)) },
		says:   "scheduler-1 wrote FAILED at step 29, although no step of it has used up its retries, or ended for good",
		holds: func(s *story) {
			s.retried("FAILED").advances(s1, twoSteps(4, waitingStep(2, time.Minute), pendingStep)).wait(time.Minute).stepJob(s1, "run-1-a-2").stepDone("run-1-a-2", "FAILED").advances(s1, failedRun(5))
		},
	},
	"run-succeeds-by-its-steps": {
		breaks: func(s *story) { s.retried("FAILED").advances(s1, succeededRun()) },
		says:   "scheduler-1 wrote SUCCEEDED at step 29, although step a had not succeeded",
		holds: func(s *story) {
			s.aDone(31*time.Second).wait(time.Minute).stepJob(s1, "run-1-b-1").stepDone("run-1-b-1", "SUCCEEDED").advances(s1, succeededRun())
		},
	},
	"run-tells-of-its-steps": {
		breaks: func(s *story) {
			r := failedRun(5)
			r.Reason = "step b: run-1-b-1 is DENIED"
			s.retried("FAILED").stepJob(s1, "run-1-a-2").stepDone("run-1-a-2", "FAILED").advances(s1, r)
		},
		says: `scheduler-1 wrote FAILED at step 52 for the reason "step b: run-1-b-1 is DENIED", which names the end of no step that says FAILED`,
		holds: func(s *story) {
			s.retried("FAILED").stepJob(s1, "run-1-a-2").stepDone("run-1-a-2", "FAILED").advances(s1, failedRun(5))
		},
	},
	"run-that-is-over-rests": {
		breaks: func(s *story) { s.retried("FAILED").advances(s1, failedRun(4)).stepJob(s1, "run-1-a-2") },
		says:   "scheduler-1 submitted run-1-a-2 at step 31, although it knew the run to be FAILED, as was written at step 29",
		holds:  func(s *story) { s.aDone(31*time.Second).wait(32*time.Second).stepJob(s1, "run-1-b-1") },
	},
	"run-index-agrees-with-record": {
		breaks: func(s *story) {
			s.aDone(31 * time.Second)
			s.events[0].Changes = s.events[0].Changes[:1]
		},
		says:  "starter wrote RUNNING at step 1, and cordum:wf:runs has the run at no place",
		holds: func(s *story) { s.retried("FAILED").advances(s1, failedRun(4)) },
	},
	"run-writes-not-lost": {
		cfg: hardenedRuns,
		breaks: func(s *story) {
			s.aDone(31*time.Second).advances(s2, twoSteps(3, succeededStep, pendingStep))
		},
		says:  "scheduler-2 wrote version 3 at step 32 over version 3, which scheduler-1 had written at step 29",
		holds: func(s *story) { s.aDone(31 * time.Second) },
	},
	"run-written-by-lock-holder": {
		cfg: hardenedRuns,
		breaks: func(s *story) {
			s.aDone(31*time.Second).locksRun(s1).run(s2, "run_write", twoSteps(4, succeededStep, pendingStep))
		},
		says:  "scheduler-2 wrote the run at step 32 while scheduler-1 held its lock (since step 31)",
		holds: func(s *story) { s.aDone(31 * time.Second) },
	},
	"every-run-settles": {
		cfg:    hardenedRuns,
		breaks: func(s *story) { s.aDone(31 * time.Second).wait(time.Minute) },
		says:   "is still RUNNING: step b waits for its time",
		holds: func(s *story) {
			s.aDone(31 * time.Second) // its time is to come
		},
	},
	"replicas-contend-for-one-run": {
		breaks: func(s *story) { s.aDone(31 * time.Second) },
		holds:  func(s *story) { s.aDone(31 * time.Second).locksRun(s1).findsRunLocked(s2) },
	},
	"delay-fired-by-another": {
		breaks: func(s *story) { s.aDone(31 * time.Second).keeps(s1).wait(time.Minute).popsDelays(s1) },
		holds:  func(s *story) { s.aDone(31 * time.Second).keeps(s1).wait(time.Minute).popsDelays(s2) },
	},
	"step-tried-again": {
		breaks: func(s *story) { s.aDone(31 * time.Second) },
		holds: func(s *story) {
			s.aDone(31*time.Second).advances(s1, twoSteps(4, succeededStep, waitingStep(2, time.Minute)))
		},
	},
}

// A step is tried again only once its last attempt has failed, not before its time, and no more often than it says.
func TestRetriesOfAStep(t *testing.T) {
	retried := func(version int64, a history.RunStep) history.RunRecord {
		r := twoSteps(version, a, pendingStep)
		r.Steps[0].Retry.Max, r.Steps[0].Retry.BackoffMS = 1, 10_000
		return r
	}
	for name, c := range map[string]struct {
		invariant, says string
		tell            func(*story)
	}{
		"while the first is under way": {"no-delay-fires-twice", "although the attempt before it had not failed", func(s *story) { s.stepJob(s1, "run-1-a-2") }},
		"after a success": {"no-delay-fires-twice", "although the attempt before it had not failed", func(s *story) {
			s.stepDone("run-1-a-1", "SUCCEEDED").wait(time.Minute).stepJob(s1, "run-1-a-2")
		}},
		"after a denial": {"no-delay-fires-twice", "although the attempt before it had not failed, or for good", func(s *story) {
			s.write(s1, "run-1-a-1", "denied_write", "DENIED").wait(time.Minute).stepJob(s1, "run-1-a-2")
		}},
		"after a quarantine": {"no-delay-fires-twice", "although the attempt before it had not failed, or for good", func(s *story) {
			s.stepDone("run-1-a-1", "SUCCEEDED").write(s1, "run-1-a-1", "output_write", "OUTPUT_QUARANTINED").wait(time.Minute).stepJob(s1, "run-1-a-2")
		}},
		"too soon": {"no-delay-fires-early", "before its time", func(s *story) { s.stepDone("run-1-a-1", "FAILED").wait(9*time.Second).stepJob(s1, "run-1-a-2") }},
		"too often": {"no-delay-fires-twice", "the step is to be tried again 1 times", func(s *story) {
			s.stepDone("run-1-a-1", "FAILED").wait(time.Minute).stepJob(s1, "run-1-a-2").stepDone("run-1-a-2", "FAILED").wait(time.Minute).stepJob(s1, "run-1-a-3")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory().run("starter", "run_create", retried(1, pendingStep)).advances(s1, retried(2, submittedStep)).stepJob(s1, "run-1-a-1")
			c.tell(s)
			o := outcomeOf(s.judge(hardenedRuns), c.invariant)
			require.Len(t, o.Violations, 1)
			assert.Contains(t, o.Violations[0].Message, c.says)
		})
	}
}

// What a step may be tried again after, and what stands.
func TestWhatEndsAStepForGood(t *testing.T) {
	for state, ends := range map[string]bool{"FAILED": false, "TIMEOUT": false, "DENIED": true, "CANCELLED": true, "OUTPUT_QUARANTINED": true} {
		o := outcomeOf(newStory().retried(state).advances(s1, failedRun(4)).judge(config.Config{}), "retries-are-used-up")
		assert.Equal(t, ends, len(o.Violations) == 0, state)
	}
	refused := newStory().retried("FAILED").op(s1, "run-1-a-2", "submit_write").fails().injected().advances(s1, failedRun(4))
	assert.Len(t, outcomeOf(refused.judge(config.Config{}), "retries-are-used-up").Violations, 1, "a job that was never written has ended nothing")
}

// A delay counts from when a job has ended, whatever its writer's clock says.
func TestADelayGoesByTheWorldsTime(t *testing.T) {
	tell := func(ended, fired time.Duration) *story {
		asked := twoSteps(1, pendingStep, pendingStep)
		asked.Steps[1].DelaySec = 600
		s := newStory().run("starter", "run_create", asked).advances(s1, twoSteps(2, submittedStep, pendingStep))
		s.stepJob(s1, "run-1-a-1").wait(10*time.Minute).dispatched(s1, "run-1-a-1", w1).executed(w1, "run-1-a-1").completed(s1, "run-1-a-1", "SUCCEEDED")
		for i := range s.events {
			for k := range s.events[i].Changes {
				if c := &s.events[i].Changes[k]; c.Field == "state" && c.Value == "SUCCEEDED" {
					c2 := s.set(c.Key, "updated_at", strconv.FormatInt((s.at+ended).Milliseconds(), 10))
					s.events[i].Changes = append(s.events[i].Changes, c2)
				}
			}
		}
		return s.advances(s1, twoSteps(3, succeededStep, waitingStep(1, s.at+ended+10*time.Minute))).wait(fired).stepJob(s1, "run-1-b-1")
	}
	for name, c := range map[string]struct {
		s       *story
		breaks  string
		message string
	}{
		"a clock that is behind": {tell(-9*time.Minute, 2*time.Minute), "no-delay-fires-early", "though not by what the records say"},
		"a clock that is ahead":  {tell(9*time.Minute, 19*time.Minute), "delay-fires-on-time", "after its time"},
	} {
		o := outcomeOf(c.s.judge(hardenedRuns), c.breaks)
		require.Len(t, o.Violations, 1, name)
		assert.Contains(t, o.Violations[0].Message, c.message, name)
	}
}

// A delay may be late where the replica that had the run in hand has died, or the last one.
func TestWhatADelayMayBeLateFor(t *testing.T) {
	for name, c := range map[string]struct {
		promised bool
		tell     func(*story)
	}{
		"nothing":                       {true, func(*story) {}},
		"a crash of who kept it":        {true, func(s *story) { s.keeps(s1).control("crash", s1) }},
		"a crash with the run's lock":   {false, func(s *story) { s.locksRun(s1).control("crash", s1) }},
		"a crash after the lock":        {true, func(s *story) { s.locksRun(s1).unlocksRun(s1).control("crash", s1) }},
		"a crash of who waits for it":   {false, func(s *story) { s.findsRunLocked(s2).control("crash", s2) }},
		"a crash of who has popped it":  {false, func(s *story) { s.keeps(s1).popsDelays(s2).control("crash", s2) }},
		"it could not be kept":          {true, func(s *story) { s.keeps(s1).fails() }},
		"a poller that did not get far": {false, func(s *story) { s.popsDelays(s2).fails() }},
		"a crash of all":                {false, func(s *story) { s.keeps(s1).control("crash", s1).control("crash", s2) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory().aDone(31 * time.Second)
			s.starts(s2)
			c.tell(s)
			s.wait(2*time.Minute).stepJob(s2, "run-1-b-1")
			s.injected()
			o := outcomeOf(s.judge(hardenedRuns), "delay-fires-on-time")
			require.Len(t, o.Violations, 1)
			assert.Equal(t, c.promised, o.Violations[0].Promised)
		})
	}
}

// A poll that failed leaves the delay to the next ones.
func TestADelayWaitsForPollsThatFail(t *testing.T) {
	for after, late := range map[time.Duration]bool{15 * time.Second: false, 17 * time.Second: true} {
		s := newStory().aDone(31*time.Second).wait(42*time.Second).popsDelays(s2).fails().injected().wait(after).stepJob(s1, "run-1-b-1")
		assert.Equal(t, late, len(outcomeOf(s.judge(hardenedRuns), "delay-fires-on-time").Violations) > 0, after)
	}
}

// A poll that goes by a wrong clock finds no run, and nobody else polls. To jobs that is nothing.
func TestAPollByAWrongClockReachesRuns(t *testing.T) {
	s := newStory().pull(s1).pull(s2).control("skew", s2).ticks(s2, history.PollerKey, "poll_lock", 10*time.Second).pull(s2).submit(job1)
	s.run("starter", "run_create", twoSteps(1, pendingStep, pendingStep)).wait(20*time.Second).advances(s1, twoSteps(2, submittedStep, pendingStep))
	j := NewJudge(hardenedRuns)
	for i := range s.events {
		j.Observe(&s.events[i])
	}
	o := outcomeOf(j.Finish(s.end()), "delay-fires-on-time")
	if assert.Len(t, o.Violations, 1) {
		assert.False(t, o.Violations[0].Promised)
	}
	assert.Zero(t, j.Facts.Jobs[job1].Struck)
}

// What a strike does to one run holds up no other, and an error without a strike excuses nothing.
func TestADelayWaitsForItsOwnRun(t *testing.T) {
	fails := map[string]func(*story) *story{
		"a write of its run is struck": func(s *story) *story {
			return s.add(s2, sim.KindRedis, "", history.RunPrefix+"run-1", "", "run_write").fails().injected()
		},
		"a write of another's is": func(s *story) *story {
			return s.add(s2, sim.KindRedis, "", history.RunPrefix+"run-2", "", "run_write").fails().injected()
		},
		"a poll ends with its process": func(s *story) *story { return s.popsDelays(s2).fails() },
	}
	for name, f := range fails {
		s := f(newStory().aDone(31*time.Second).wait(42*time.Second)).wait(15*time.Second).stepJob(s1, "run-1-b-1")
		late := len(outcomeOf(s.judge(hardenedRuns), "delay-fires-on-time").Violations) > 0
		assert.Equal(t, name != "a write of its run is struck", late, name)
	}
}

// What is to come of a run is said until it is over.
func TestOpenRuns(t *testing.T) {
	open := func(s *story) []string {
		j := NewJudge(hardenedRuns)
		for i := range s.events {
			j.Observe(&s.events[i])
		}
		return j.Open()
	}
	assert.Empty(t, open(newStory().submit(job1)))
	assert.Equal(t, []string{"run-1 is not over: no step of it has begun"}, open(newStory().run("starter", "run_create", twoSteps(1, pendingStep, pendingStep))))
	assert.Equal(t, []string{"run-1 is not over: step b waits for its time"}, open(newStory().aDone(31*time.Second)))
	over := twoSteps(4, succeededStep, succeededStep)
	over.State = "SUCCEEDED"
	assert.Empty(t, open(newStory().aDone(31*time.Second).advances(s1, over)))
}

// As the engine's own: it doubles up to a year.
func TestTheBackoffOfAStep(t *testing.T) {
	assert.EqualValues(t, 100, model.Backoff(100, 1))
	assert.EqualValues(t, 400, model.Backoff(100, 3))
	assert.EqualValues(t, 365*24*time.Hour/time.Millisecond, model.Backoff(100, 1000))
	assert.Zero(t, model.Backoff(0, 1000))
}

// The record of a run that is over may expire.
func TestARunThatIsOverMayExpire(t *testing.T) {
	over := twoSteps(4, succeededStep, succeededStep)
	over.State = "SUCCEEDED"
	s := newStory().aDone(31*time.Second).advances(s1, over)
	gone := sim.Change{Key: history.RunPrefix + run1, Gone: true}
	s.add(s1, sim.KindRedis, "multi", gone.Key, "", "run_write", gone)
	for _, name := range []string{"run-writes-not-lost", "every-run-settles"} {
		assert.Empty(t, outcomeOf(s.judge(hardenedRuns), name).Violations, name)
	}
}

// What a starter was told is stored a failover does not lose; what it was not told it starts again.
func TestALostRunIsStartedAgain(t *testing.T) {
	lost := func(verb string) *story {
		s := newStory().run("starter", "run_create", twoSteps(1, pendingStep, pendingStep))
		delete(s.redis, history.RunPrefix+run1)
		delete(s.redis, history.LiveRunsKey)
		return s.add("", sim.KindControl, verb, sim.Redis, "", "", sim.Change{Key: history.RunPrefix + run1, Gone: true}, sim.Change{Key: history.LiveRunsKey, Gone: true})
	}
	safe := hardenedRuns
	safe.WaitReplica, safe.Fence = true, true
	synced := hardenedRuns
	synced.RedisSynced = true
	for name, c := range map[string]struct {
		s              *story
		cfg            config.Config
		lost, promised bool
	}{
		"lost":                         {lost("failover"), safe, true, true},
		"lost, where it may be":        {lost("failover"), hardenedRuns, true, false},
		"lost with what Redis had not": {lost("kill"), safe, true, false},
		"lost although it was synced":  {lost("kill"), synced, true, true},
		"whose starter is gone":        {lost("failover").control("crash", "starter"), safe, false, false},
		"started again, and over":      {lost("failover").run("starter", "run_create", history.RunRecord{RunID: run1, State: "SUCCEEDED"}), safe, false, false},
	} {
		o := outcomeOf(c.s.judge(c.cfg), "every-run-settles")
		if !c.lost {
			assert.Empty(t, o.Violations, name)
		} else if assert.Len(t, o.Violations, 1, name) {
			assert.Contains(t, o.Violations[0].Message, "run-1: is not stored any more", name)
			assert.Equal(t, c.promised, o.Violations[0].Promised, name)
		}
	}
}

// With durable rollbacks a run that has failed is to be rolled back, whatever a worker said of its steps.
func TestAFailedRunIsToBeRolledBack(t *testing.T) {
	failed := history.RunRecord{RunID: "wf-1", State: "FAILED"}
	const name = "every-compensation-accounted-for"
	left := newStory().succeeds(job1).run(s1, "run_write", failed)
	require.Len(t, outcomeOf(left.judge(durable), name).Violations, 1)
	assert.Empty(t, outcomeOf(left.judge(config.Config{}), name).Violations)
	undone := newStory().succeeds(job1).run(s1, "run_write", failed).compensates(s1, job1, "comp-1")
	assert.Empty(t, outcomeOf(undone.judge(durable), name).Violations)
	assert.Empty(t, outcomeOf(undone.judge(durable), "compensation-only-of-succeeded-job").Violations)
}

// A failover writes no run: who writes over what it has brought back is told of Redis, and not of a writer without a name.
func TestAWriteOverWhatRedisHasGoneBackTo(t *testing.T) {
	s := newStory().aDone(31 * time.Second)
	back := s.run("", "", twoSteps(2, submittedStep, pendingStep)).last().Changes
	s.events = s.events[:len(s.events)-1]
	s.control("failover", sim.Redis).last().Changes = back
	s.advances(s2, twoSteps(4, succeededStep, pendingStep))
	violations := outcomeOf(s.judge(hardenedRuns), "run-writes-not-lost").Violations
	require.NotEmpty(t, violations)
	assert.Regexp(t, "scheduler-2 wrote version 4 at step [0-9]+ over version 2, which Redis had gone back to at step [0-9]+", violations[len(violations)-1].Message)
}

// Who knows that a run is over submits nothing more of it, and does not write it.
func TestARunThatIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		breaks bool
		tell   func(*story)
	}{
		"by who has written the end": {true, func(s *story) { s.stepJob(s1, "run-1-a-2") }},
		"by who has read of it":      {true, func(s *story) { s.readsRun(s2).stepJob(s2, "run-1-a-2") }},
		"by who does not know":       {false, func(s *story) { s.stepJob(s2, "run-1-a-2") }},
		"by who could not read it":   {false, func(s *story) { s.readsRun(s2).fails().stepJob(s2, "run-1-a-2") }},
		"by who has given it up before": {false, func(s *story) {
			s.stepJob(s1, "run-1-a-2")
			s.events[len(s.events)-2].Kind = sim.KindLate
		}},
		"by who goes on with it": {true, func(s *story) { s.advances(s1, twoSteps(5, submittedStep, pendingStep)) }},
		"as another goes on": {false, func(s *story) {
			s.advances(s2, twoSteps(5, submittedStep, pendingStep)).stepJob(s1, "run-1-a-2")
		}},
	} {
		s := newStory().retried("FAILED").advances(s1, failedRun(4))
		c.tell(s)
		assert.Equal(t, c.breaks, len(outcomeOf(s.judge(hardenedRuns), "run-that-is-over-rests").Violations) > 0, name)
	}
}

// A delay has a timer in memory: where its run was written, or at a start that finds it in Redis.
func TestWhatHasATimer(t *testing.T) {
	short := func(s *story) {
		asked := twoSteps(1, pendingStep, pendingStep)
		asked.Steps[1].DelaySec = 5
		s.run("starter", "run_create", asked).advances(s1, twoSteps(2, submittedStep, pendingStep))
		s.stepJob(s1, "run-1-a-1").stepDone("run-1-a-1", "SUCCEEDED").advances(s1, twoSteps(3, succeededStep, waitingStep(1, 6*time.Second)))
	}
	long := func(s *story) { s.aDone(31 * time.Second).keeps(s1) }
	restart := func(s *story) { s.control("crash", s1).wait(40*time.Second).control("restart", s1).starts(s1) }
	for name, c := range map[string]struct {
		breaks bool
		tell   func(*story)
	}{
		"a short delay in time":           {false, func(s *story) { short(s); s.wait(6*time.Second).stepJob(s1, "run-1-b-1") }},
		"a short delay that a poll finds": {true, func(s *story) { short(s); s.wait(9*time.Second).stepJob(s2, "run-1-b-1") }},
		"a short delay that nobody finds": {true, func(s *story) { short(s); s.wait(9 * time.Second) }},
		"a long one that a poll finds":    {true, func(s *story) { long(s); s.wait(34*time.Second).popsDelays(s2).stepJob(s2, "run-1-b-1") }},
		"at a start":                      {false, func(s *story) { long(s); restart(s); s.popsDelays(s1).stepJob(s1, "run-1-b-1") }},
		"after a start":                   {true, func(s *story) { long(s); restart(s); s.wait(5*time.Second).popsDelays(s1).stepJob(s1, "run-1-b-1") }},
		"a short one after a start":       {false, func(s *story) { short(s); restart(s); s.wait(5*time.Second).stepJob(s1, "run-1-b-1") }},
		"a write that was not answered": {false, func(s *story) {
			short(s)
			s.events[len(s.events)-2].Outcome = "connection reset"
			s.wait(9*time.Second).stepJob(s1, "run-1-b-1")
		}},
		"its process crashes": {false, func(s *story) { short(s); s.control("crash", s1).wait(9*time.Second).stepJob(s2, "run-1-b-1") }},
		"another has the run meanwhile": {false, func(s *story) {
			short(s)
			s.wait(4*time.Second).locksRun(s2).wait(5*time.Second).unlocksRun(s2).stepJob(s1, "run-1-b-1")
		}},
	} {
		s := newStory()
		c.tell(s)
		assert.Equal(t, c.breaks, len(outcomeOf(s.judge(hardenedRuns), "delay-waits-for-no-poll").Violations) > 0, name)
	}
}

// What a run's record says of its steps is so by their jobs' records.
func TestWhatARunTellsOfItsSteps(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		write func(*history.RunRecord)
	}{
		"as it is":  {"", func(*history.RunRecord) {}},
		"no reason": {"for the reason \"\"", func(r *history.RunRecord) { r.Reason = "" }},
		"no reason of a step": {"that step a is FAILED for the reason \"\", which is not how its last job has ended", func(r *history.RunRecord) {
			r.Steps[0].Reason = ""
		}},
		"a reason of another job": {"for the reason \"run-1-b-1 is FAILED\", which is not how", func(r *history.RunRecord) {
			r.Steps[0].Reason = "run-1-b-1 is FAILED"
		}},
		"a reason and more": {"for the reason \"run-1-a-2 is FAILED (no_workers)\", which is not how", func(r *history.RunRecord) {
			r.Steps[0].Reason += " (no_workers)"
		}},
		"left as submitted": {"names the end of no step", func(r *history.RunRecord) { r.Steps[0].State = "SUBMITTED" }},
		"another has failed": {"that step b is FAILED, although its job run-1-b-1 is not", func(r *history.RunRecord) {
			r.Steps[1].State, r.Steps[1].Attempt, r.Steps[1].JobID = "FAILED", 1, "run-1-b-1"
		}},
		"another has succeeded": {"that step b is SUCCEEDED, although its job run-1-b-1 is not", func(r *history.RunRecord) {
			r.Steps[1].State, r.Steps[1].Attempt, r.Steps[1].JobID = "SUCCEEDED", 1, "run-1-b-1"
		}},
	} {
		r := failedRun(5)
		c.write(&r)
		o := outcomeOf(newStory().retried("FAILED").stepJob(s1, "run-1-a-2").stepDone("run-1-a-2", "FAILED").advances(s1, r).judge(config.Config{}), "run-tells-of-its-steps")
		if c.says == "" {
			assert.Empty(t, o.Violations, name)
		} else if assert.Len(t, o.Violations, 1, name) {
			assert.Contains(t, o.Violations[0].Message, c.says, name)
		}
	}
}

// A reason is of a failure, and goes with it.
func TestTheReasonsOfARun(t *testing.T) {
	says := func(s *story) (list []string) {
		for _, v := range outcomeOf(s.judge(config.Config{}), "run-tells-of-its-steps").Violations {
			list = append(list, v.Message)
		}
		return list
	}
	again := waitingStep(2, time.Minute)
	again.Reason = "run-1-a-1 is FAILED"
	assert.Empty(t, says(newStory().retried("FAILED").advances(s1, twoSteps(4, again, pendingStep))))
	assert.Len(t, says(newStory().retried("FAILED").advances(s1, twoSteps(4, waitingStep(2, time.Minute), pendingStep))), 1, "the step has no reason to wait again")
	coded := newStory().retried("PENDING").write(s1, "run-1-a-1", "failed_write", "FAILED", "reason_code", "no_workers")
	assert.Len(t, says(coded.advances(s1, twoSteps(4, again, pendingStep))), 1, "its job has a reason code")
	again.Reason += " (no_workers)"
	coded = newStory().retried("PENDING").write(s1, "run-1-a-1", "failed_write", "FAILED", "reason_code", "no_workers")
	assert.Empty(t, says(coded.advances(s1, twoSteps(4, again, pendingStep))))

	left := succeededStep
	left.Reason = again.Reason
	assert.Len(t, says(newStory().aDone(31*time.Second).advances(s1, twoSteps(4, left, submittedB))), 1, "it has succeeded")
	r := twoSteps(4, succeededStep, submittedB)
	r.Reason = again.Reason
	assert.Len(t, says(newStory().aDone(31*time.Second).advances(s1, r)), 1, "the run has not failed")
}

// A step's job comes after the record of the run that names it, whatever became of that record's answer.
func TestAStepsJobIsNamedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		breaks bool
		tell   func(*story)
	}{
		"named":     {false, func(s *story) { s.advances(s1, twoSteps(4, succeededStep, submittedB)) }},
		"not named": {true, func(*story) {}},
		"another attempt": {true, func(s *story) {
			s.advances(s1, twoSteps(4, succeededStep, history.RunStep{State: "SUBMITTED", Attempt: 2, JobID: "run-1-b-2"}))
		}},
		"named, and undone": {false, func(s *story) {
			s.advances(s1, twoSteps(4, succeededStep, submittedB)).advances(s2, twoSteps(4, succeededStep, waitingStep(1, 31*time.Second)))
		}},
		"somebody else's": {false, func(s *story) {
			s.write("submitter", "run-1-b-1", "submit_write", "PENDING", "attempts", "0", "request", "{}")
		}},
	} {
		s := newStory().aDone(31 * time.Second).wait(31 * time.Second)
		c.tell(s)
		s.stepJob(s1, "run-1-b-1")
		assert.Equal(t, c.breaks, len(outcomeOf(s.judge(config.Config{}), "steps-in-order").Violations) > 0, name)
	}
}

// A run's keys are as its record says.
func TestTheKeysOfARun(t *testing.T) {
	over := func(s *story) []sim.Change { // what goes with its end: its record, the index, the delays
		return s.retried("FAILED").keeps(s1).advances(s1, failedRun(4)).events[len(s.events)-2].Changes
	}
	for says, tell := range map[string]func(*story){
		"wrote RUNNING at step 3, and the record expires":                  func(s *story) { s.retried("FAILED").events[2].Changes[0].Expires = s.at + time.Hour },
		"and cordum:wf:runs has the run at 7":                              func(s *story) { s.retried("FAILED").events[2].Changes[1].Value = "7" },
		"wrote FAILED at step 30, and the record never expires":            func(s *story) { over(s)[0].Expires = 0 },
		"wrote FAILED at step 30, and the record expires 1m0s later":       func(s *story) { over(s)[0].Expires = s.at + time.Minute },
		"wrote FAILED at step 30, and cordum:wf:runs still has it":         func(s *story) { over(s)[1].Key = "another" },
		"wrote FAILED at step 30, and cordum:wf:delay:timers still has it": func(s *story) { over(s)[2].Key = "another" },
	} {
		s := newStory()
		tell(s)
		o := outcomeOf(s.judge(config.Config{}), "run-index-agrees-with-record")
		if assert.Len(t, o.Violations, 1, says) {
			assert.Contains(t, o.Violations[0].Message, says)
		}
	}
	s := newStory()
	over(s)
	assert.Empty(t, outcomeOf(s.judge(config.Config{}), "run-index-agrees-with-record").Violations)
}
