package judge

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
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
	s.write(node, job, "submit_write", "PENDING", "attempts", "0")
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
	r.State, r.Reason, r.Steps[0].Retry.Max = "FAILED", "step a: "+r.Steps[0].JobID+" is FAILED", 1
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
