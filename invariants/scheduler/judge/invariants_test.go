package judge

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
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

const (
	job1 = "job-1"
	s1   = "scheduler-1"
	s2   = "scheduler-2"
	w1   = "worker-1"
	w2   = "worker-2"
)

// Every invariant can fail, says why when it does, and is seen to hold where it does.
func TestEveryInvariantCanFail(t *testing.T) {
	seen := 0
	trials := maps.Clone(trials)
	maps.Copy(trials, recoveryTrials)
	maps.Copy(trials, sagaTrials)
	maps.Copy(trials, outputTrials)
	maps.Copy(trials, workflowTrials)
	maps.Copy(trials, routingTrials)
	maps.Copy(trials, tenantTrials)
	maps.Copy(trials, policyTrials)
	maps.Copy(trials, replayTrials)
	maps.Copy(trials, approvalTrials)
	for _, inv := range All() {
		tr, ok := trials[inv.Name]
		require.True(t, ok && tr.breaks != nil && tr.holds != nil, "%s has no trial", inv.Name)
		seen++
		t.Run(inv.Name, func(t *testing.T) {
			bad, good := newStory(), newStory()
			tr.breaks(bad)
			tr.holds(good)
			broken := outcomeOf(bad.judge(tr.cfg), inv.Name)
			held := outcomeOf(good.judge(tr.cfg), inv.Name)
			assert.Positive(t, held.Exercised, "the story in which it holds does not exercise it")
			assert.Empty(t, held.Violations)
			if inv.Kind == invariants.Sometimes {
				assert.Zero(t, broken.Exercised, "reached where it should not be")
				return
			}
			require.NotEmpty(t, broken.Violations)
			v := broken.Violations[0]
			assert.True(t, v.Promised, v.Message)
			assert.Equal(t, inv.Name, v.Invariant)
			assert.Contains(t, v.Message, tr.says)
			assert.Positive(t, v.Step)
			assert.Positive(t, v.At)
			for _, named := range namedStep.FindAllStringSubmatch(v.Message, -1) {
				assert.Contains(t, fmt.Sprint(v.Steps), named[1], "%s: hand this step over as a stepNo", v.Message)
			}
		})
	}
	assert.Len(t, trials, seen, "a trial of an invariant that does not exist")
}

var namedStep = regexp.MustCompile(`\bstep (\d+)`)

// The strikes that release a promise release it.
func TestPromises(t *testing.T) {
	for name, tr := range map[string]struct {
		invariant string
		cfg       config.Config
		story     func(*story)
		by        invariants.StrikeKind
	}{
		"a publish that was stored although it failed": {"one-dispatch-per-job", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).fails().
				scheduled(s1, job1, "rollback_write").unlock(s1, job1).dispatched(s1, job1, w2)
		}, history.PublishUnanswered},
		"a list that failed": {"overdue-job-found-within-a-poll", hardened, func(s *story) {
			s.submit(job1).dispatchedAt(s1, job1, w1, 1).wait(30 * time.Minute).reconciles(s1)
			s.add(s1, sim.KindRedis, "multi", "", "", "reconcile_read").fails().wait(90*time.Second).reconciles(s1).timesOut(s1, job1)
		}, history.TickFails},
		"a handler that outlived its lock": {"one-dispatch-per-job", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).stalls(s1).wait(61*time.Second).dispatched(s2, job1, w2)
			s.publish(s1, job1, w1)
		}, history.SchedulerAway},
		"a write after the lock": {"lock-mutual-exclusion", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).stalls(s1).wait(61*time.Second).lock(s2, job1).intended(s1, job1, w1)
		}, history.SchedulerAway},
		"a rollback that failed": {"every-job-settles", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1).
				op(s1, job1, "rollback_write").fails().unlock(s1, job1)
		}, history.WriteRefused},
		"a DISPATCHED write of unknown fate": {"every-job-settles", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).fails().unlock(s1, job1)
		}, history.WriteUnanswered},
		"a crash before the publish": {"every-job-settles", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).intended(s1, job1, w1).unseen().control("crash", s1)
		}, history.SchedulerCrash},
		"a dead worker": {"every-job-settles", config.Config{}, func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).control("crash", w1)
		}, history.WorkerCrash},
		"a result that was never sent": {"every-job-settles", config.Config{}, func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).effect(w1, job1, "begin").effect(w1, job1, "finish").
				op(w1, job1, "result_publish").fails().control("crash", w1)
		}, history.WorkerCrash},
		"a request that was given up": {"every-job-settles", config.Config{}, func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).fails().unlock(s1, job1).message(s1, job1, "submit_nak", sim.KindNak, 100)
		}, history.ReadFails},
		"the caveat of Dead letters": {"failed-job-has-dlq-entry", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).write(s1, job1, "failed_write", "FAILED").op(s1, job1, "dlq_write").fails()
		}, history.DLQFails},
		"a FAILED write of unknown fate": {"failed-job-has-dlq-entry", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).write(s1, job1, "failed_write", "FAILED").fails()
		}, history.WriteUnanswered},
		"a crash before the entry": {"failed-job-has-dlq-entry", config.Config{}, func(s *story) {
			s.submit(job1).begins(s1, job1).write(s1, job1, "failed_write", "FAILED").control("crash", s1)
		}, history.SchedulerCrash},
		"a dispatch that came twice": {"one-execution-per-dispatch", config.Config{}, func(s *story) {
			s.submit(job1).dispatched(s1, job1, w1).effect(w1, job1, "begin").ack(w1, job1, "job_ack").lost().
				message(w1, job1, "job_deliver", sim.KindDeliver, 2).effect(w1, job1, "begin")
		}, history.AckLost},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tr.story(s)
			alone := s.injected().judge(tr.cfg)
			o := outcomeOf(alone, tr.invariant)
			require.NotEmpty(t, o.Violations)
			assert.False(t, o.Violations[0].Promised, o.Violations[0].Message)
			assert.Zero(t, o.Promised)
			assert.True(t, s.struckBy(tr.by))
			assert.True(t, findRow(t, tr.invariant).Released(&tr.cfg)&history.StrikesOf(tr.by) != 0)
		})
	}
}

func TestPromiseOfAnotherJobStands(t *testing.T) {
	s := newStory().submit(job1).submit("job-2")
	s.begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).fails().scheduled(s1, job1, "rollback_write").unlock(s1, job1)
	s.begins(s1, "job-2").publish(s1, "job-2", w1).unlock(s1, "job-2").dispatched(s1, "job-2", w1).dispatched(s1, job1, w1)
	o := outcomeOf(s.injected().judge(config.Config{}), "one-dispatch-per-job")
	require.Len(t, o.Violations, 2)
	assert.Equal(t, "job-2", o.Violations[0].Job)
	assert.True(t, o.Violations[0].Promised)
	assert.Equal(t, job1, o.Violations[1].Job)
	assert.False(t, o.Violations[1].Promised)
}

// A second dispatch whose own answer is lost is no excuse for itself.
func TestAmbiguityReleasesOnlyWhatFollows(t *testing.T) {
	s := newStory().submit(job1)
	s.begins(s1, job1).publish(s1, job1, w1).unlock(s1, job1).begins(s1, job1).publish(s1, job1, w1).fails()
	assert.Equal(t, 1, outcomeOf(s.judge(config.Config{DispatchOrder: "publish-first"}), "one-dispatch-per-job").Promised)
}

func TestIntentIsNotJudgedInTheOtherOrder(t *testing.T) {
	s := newStory().submit(job1).begins(s1, job1).publish(s1, job1, w1)
	o := outcomeOf(s.judge(config.Config{DispatchOrder: "publish-first"}), "intent-before-dispatch")
	assert.Zero(t, o.Exercised)
	assert.Empty(t, o.Violations)
}

func TestHungOperationsAreJudgedByTheirReturn(t *testing.T) {
	s := newStory().submit(job1).begins(s1, job1).intended(s1, job1, w1).
		add(s1, sim.KindPublish, "", "worker.worker-1.jobs", job1, "publish").unseen().
		add(s1, sim.KindReturn, "publish", "worker.worker-1.jobs", job1, "publish").fails().
		add(s1, sim.KindRedis, "multi", history.RecordPrefix+job1, job1, "rollback_write").unseen().
		add(s1, sim.KindReturn, "multi", history.RecordPrefix+job1, job1, "rollback_write").fails().
		unlock(s1, job1)
	r := s.judge(config.Config{})
	assert.Equal(t, 1, outcomeOf(r, "publish-failed-clean").Exercised)
	assert.Equal(t, 1, outcomeOf(r, "rollback-failed").Exercised)
	assert.Equal(t, 0, outcomeOf(r, "ambiguous-publish-stored").Exercised)
}

// A message is given up after its last delivery, whoever failed to acknowledge it, and however.
func TestMessagesAreGivenUp(t *testing.T) {
	cfg := config.Config{MaxDeliver: 3}
	delivered := func(n uint64) *story {
		s := newStory().submit(job1)
		return s.message(s1, job1, "submit_deliver", sim.KindDeliver, n).at1()
	}
	givenUp := func(s *story) bool { return outcomeOf(s.judge(cfg), "deliveries-exhausted").Exercised > 0 }
	assert.True(t, givenUp(delivered(3)), "nobody acknowledged it")
	assert.False(t, givenUp(delivered(2)), "it will come again")
	assert.True(t, givenUp(delivered(3).ack(s1, job1, "submit_ack").at1().lost()), "the ack did not arrive")
	assert.False(t, givenUp(delivered(3).ack(s1, job1, "submit_ack").at1()))

	s := delivered(3)
	r := s.judge(cfg)
	require.Len(t, outcomeOf(r, "every-job-settles").Violations, 1)
	assert.False(t, outcomeOf(r, "every-job-settles").Violations[0].Promised, "three deliveries are too few for fifty attempts")
}

// A crash may have swallowed a delivery that nobody saw, but only one to a pull of the process that
// crashed, of a message that the stream held, and that no later delivery has counted.
func TestACrashSwallowsWhatItsPullMayHold(t *testing.T) {
	for name, c := range map[string]struct {
		swallowed  bool
		deliveries int
		tell       func(*story)
	}{
		"a pull that waits":           {true, 1, func(s *story) { s.pull(s1).submit(job1).control("crash", s1) }},
		"a pull after the submission": {true, 1, func(s *story) { s.submit(job1).pull(s1).control("crash", s1) }},
		"no pull":                     {false, 1, func(s *story) { s.submit(job1).control("crash", s1) }},
		"a pull that has ended":       {false, 1, func(s *story) { s.submit(job1).pull(s1).pullEnds(s1).control("crash", s1) }},
		"a pull that failed":          {false, 1, func(s *story) { s.submit(job1).pull(s1).fails().control("crash", s1) }},
		"a pull of another":           {false, 1, func(s *story) { s.pull(s1).submit(job1).control("crash", s2) }},
		"a pull of the process before": {false, 1, func(s *story) {
			s.pull(s1).control("crash", s1).control("restart", s1).submit(job1).control("crash", s1)
		}},
		"a message that came too late":    {false, 1, func(s *story) { s.pull(s1).control("crash", s1).submit(job1) }},
		"one crash, of two that it takes": {false, 2, func(s *story) { s.pull(s1).submit(job1).control("crash", s1) }},
		"the second delivery": {true, 2, func(s *story) {
			s.submit(job1).pull(s2).message(s2, job1, "submit_deliver", sim.KindDeliver, 1).at1().pull(s1).control("crash", s1)
		}},
		"a delivery that counts it": {false, 3, func(s *story) {
			s.submit(job1).pull(s1).control("crash", s1).pull(s2).message(s2, job1, "submit_deliver", sim.KindDeliver, 2).at1()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			o := outcomeOf(s.judge(config.Config{MaxDeliver: c.deliveries}), "deliveries-exhausted")
			assert.Equal(t, c.swallowed, o.Exercised > 0)
		})
	}
}

func TestWhatABrokenInvariantStops(t *testing.T) {
	s := newStory()
	calm(s)
	s.lock(s1, job1).write(s1, job1, "result_write", "RUNNING")
	r := s.judge(config.Config{})
	assert.Len(t, outcomeOf(r, "terminal-states-final").Violations, 1)
	assert.Empty(t, outcomeOf(r, "documented-transitions-only").Violations)
	assert.Equal(t, 1, outcomeOf(r, "documented-transitions-only").Stopped)

	s = newStory()
	s.submit(job1).dispatched(s1, job1, w1)
	s.redis[history.RecordPrefix+job1]["state"] = "FAILED"
	r = s.judge(config.Config{})
	assert.NotEmpty(t, outcomeOf(r, "events-agree-with-servers").Violations)
	assert.Zero(t, outcomeOf(r, "every-job-settles").Exercised)
}

func TestACutRunIsNotJudgedOnItsEnd(t *testing.T) {
	s := newStory().submit(job1).dispatched(s1, job1, w1)
	j := NewJudge(config.Config{})
	for i := range s.events {
		j.Observe(&s.events[i])
	}
	end := s.end()
	end.InTime = false
	r := j.Finish(end)
	assert.False(t, r.InTime)
	assert.Zero(t, outcomeOf(r, "every-job-settles").Exercised)
	assert.Empty(t, outcomeOf(r, "every-job-settles").Violations)
	assert.Positive(t, outcomeOf(r, "redis-index-agrees-with-record").Exercised)
}

func TestViolationsAreCapped(t *testing.T) {
	s := newStory().submit(job1)
	for range invariants.ViolationsMax + 20 {
		s.publish(s1, job1, w1)
	}
	o := outcomeOf(s.judge(config.Config{}), "one-dispatch-per-job")
	assert.Len(t, o.Violations, invariants.ViolationsMax)
	assert.Equal(t, invariants.ViolationsMax+19, o.Promised)
}

// Violations outside the promise must not crowd out one within it.
func TestPromisedViolationsAreNotCrowdedOut(t *testing.T) {
	s := newStory().submit(job1).submit("job-2").publish(s1, job1, w1).fails()
	for range invariants.ViolationsMax + 20 {
		s.publish(s1, job1, w1)
	}
	s.publish(s1, "job-2", w1).publish(s1, "job-2", w1)
	o := outcomeOf(s.injected().judge(config.Config{}), "one-dispatch-per-job")
	assert.Equal(t, invariants.ViolationsMax+20, o.Unpromised)
	assert.Equal(t, 1, o.Promised)
	assert.True(t, o.Violations[len(o.Violations)-1].Promised)
}

func TestAll(t *testing.T) {
	before, needs := map[string]bool{}, map[string][]string{}
	for _, inv := range All() {
		assert.False(t, before[inv.Name], "%s is there twice", inv.Name)
		assert.Regexp(t, `^[a-z]+(-[a-z]+)*$`, inv.Name)
		assert.True(t, strings.HasSuffix(inv.Says, "."), "%s: Says is a sentence", inv.Name)
		assert.NotEmpty(t, inv.Source, inv.Name)
		assert.Equal(t, inv.Kind == invariants.Sometimes, inv.Promise == "", inv.Name)
		for _, need := range inv.Needs {
			assert.True(t, before[need], "%s needs %s, which must come before it", inv.Name, need)
			assert.Subset(t, inv.Needs, needs[need], "%s needs what %s needs: once that is not judged any more, nobody knows that it holds", inv.Name, need)
		}
		needs[inv.Name] = inv.Needs
		before[inv.Name] = true
	}
	assert.LessOrEqual(t, len(before), invariants.PlacesMax, "each has a place")
}

func TestExplain(t *testing.T) {
	text, ok := Explain("one-dispatch-per-job")
	require.True(t, ok)
	assert.Contains(t, text, "  publish-unanswered: a dispatch is stored, and its publisher sees an error\n")
	assert.Contains(t, text, "Promised with epochs, or with resume_intents=false, and then under every fault but those below; otherwise nothing is promised.\n")
	assert.Contains(t, text, "\nPromised only with epochs (the stream refuses a second dispatch of an epoch), under:\n  publish-unanswered: ", "each group has a heading")
	assert.Contains(t, text, "), or with a dispatch_order other than outbox, under:\n  write-refused: a state write fails, and nothing is applied\n  scheduler-crash: ")
	assert.Contains(t, text, "Dispatch ordering")
	text, ok = Explain("nobody-is-rescued")
	require.True(t, ok)
	assert.Contains(t, text, "\n\nNever promised, as another process has to take up work that a strike has cut short, under:\n  publish-refused: ")
	_, ok = Explain("one-dispatch")
	assert.False(t, ok)
}

// The table covers the documented diagram, and nothing leaves a terminal state but the one row.
func TestTransitionTable(t *testing.T) {
	for _, row := range documented {
		assert.NotEmpty(t, row.source)
		if row.from.Terminal() {
			assert.Equal(t, transition{model.Succeeded, model.Quarantined, row.source}, row)
		}
	}
	for s := model.Pending; s < model.Unknown; s++ {
		assert.Equal(t, s, model.ParseState(s.String()))
	}
	assert.Equal(t, model.Unknown, model.ParseState("LOST"))
}

// What the worker was given tells a message that came again from a worker that begins once more by itself.
func TestAnExecutionTooManySaysWhatItsWorkerWasGiven(t *testing.T) {
	s := newStory()
	s.submit(job1).dispatched(s1, job1, w1).message(w1, job1, "job_deliver", sim.KindDeliver, 1).of(1).
		effect(w1, job1, "begin").effect(w1, job1, "finish").effect(w1, job1, "begin")
	o := outcomeOf(s.judge(config.Config{}), "one-execution-per-dispatch")
	require.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, "though only 1 dispatch was stored; it had begun seq 1, at step 14, and was not given it again")
}

// Each hook but the two for the judge has its list, under its name.
func TestHooksAreTheCheckers(t *testing.T) {
	hooks, checker := reflect.TypeFor[model.Hooks](), reflect.TypeFor[model.Checker]()
	require.Equal(t, checker.NumField()-2, hooks.NumField())
	for i := range hooks.NumField() {
		hook := hooks.Field(i)
		its, ok := checker.FieldByName(hook.Name)
		require.True(t, ok, hook.Name)
		assert.Equal(t, its.Type, hook.Type.Elem(), hook.Name)
	}
}
