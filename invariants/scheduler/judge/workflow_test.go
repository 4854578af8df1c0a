package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

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

// What a run's record says of its steps is so by their jobs' records.
func TestWhatARunTellsOfItsSteps(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		write func(*history.RunRecord)
	}{
		"as it is":          {"", func(*history.RunRecord) {}},
		"no reason":         {"for the reason \"\"", func(r *history.RunRecord) { r.Reason = "" }},
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
		assertSays(t, o.Violations, c.says, name)
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

func TestIsStep(t *testing.T) {
	for id, want := range map[string]bool{"run-1-a-1": true, "run-1-a-12": true, "run-1-a-0": false, "run-1-a": false, "run-1-a-1-replay-1": false, "comp-0123456789abcdef": false} {
		j := &model.Job{ID: id}
		j.Saga.Workflow = "run-1"
		assert.Equal(t, want, model.IsStep(j), id)
	}
}
