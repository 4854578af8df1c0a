package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/sim"
)

// What a path of rescue does is told by what it does, and excused by what has struck the job or the run and by nothing
// else.
func TestRescues(t *testing.T) {
	lost := func(s *story) *story { return s.begins(s1, job1).intended(s1, job1, w1).unlock(s1, job1) }
	for name, c := range map[string]struct {
		by    string // "" for nobody
		story func(*story)
	}{
		"a request": {"", func(s *story) {
			s.message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1().dispatched(s1, job1, w1)
		}},
		"a job that waits":       {"replayer", func(s *story) { s.op(s1, job1, "replay_read").dispatched(s1, job1, w1) }},
		"one that is just asked": {"", func(s *story) { s.op(s1, job1, "replay_read").lock(s1, job1).read(s1, job1).unlock(s1, job1) }},
		"one of whom it has news": {"", func(s *story) {
			s.op(s1, job1, "replay_read").message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1().dispatched(s1, job1, w1)
		}},
		"an intent": {"replayer", func(s *story) {
			lost(s).op(s1, job1, "replay_read").lock(s1, job1).read(s1, job1).publish(s1, job1, w1).write(s1, job1, "running_write", "RUNNING")
		}},
		"a dispatch that was never made": {"reconciler", func(s *story) { lost(s).wait(5*time.Minute).timesOut(s2, job1) }},
		"one that is taken back": {"reconciler", func(s *story) {
			lost(s).wait(5*time.Minute).lock(s2, job1).read(s2, job1)
			s.last().Phase = "timeout_read"
			s.scheduled(s2, job1, "rollback_write")
		}},
		"a worker that is slow": {"", func(s *story) {
			s.dispatched(s1, job1, w1).effect(w1, job1, "begin").wait(time.Hour).timesOut(s1, job1)
		}},
		"a result that nobody took": {"reconciler", func(s *story) {
			s.dispatched(s1, job1, w1).effect(w1, job1, "begin").effect(w1, job1, "finish").wait(time.Hour).timesOut(s1, job1)
		}},
		"a result that waits": {"", func(s *story) {
			s.dispatched(s1, job1, w1).executed(w1, job1).answers(w1, job1, 0).wait(time.Hour).timesOut(s1, job1)
		}},
		"a result that was terminated": {"reconciler", func(s *story) {
			s.dispatched(s1, job1, w1).executed(w1, job1).message(s1, job1, "result_term", sim.KindTerm, 1).of(2).wait(time.Hour).timesOut(s1, job1)
		}},
		"an illegal one that was": {"", func(s *story) {
			s.dispatched(s1, job1, w1).effect(w1, job1, "begin").effect(w1, job1, "finish").answersNonsense(w1, job1)
			s.message(s1, job1, "result_term", sim.KindTerm, 1).of(2).wait(time.Hour).timesOut(s1, job1)
		}},
		"a run that is brought on": {"", func(s *story) { runThatEnds(s, 0) }},
		"a run that was left":      {"run reconciler", func(s *story) { runThatEnds(s, 30*time.Second) }},
	} {
		for verb, struck := range map[string]bool{"": false, "crash": false, "pause": true} {
			s := newStory()
			switch {
			case struck:
				s.control(verb, "scheduler-9") // which could have handled it
			case verb != "":
				s.control(verb, "worker-9").control("failover", sim.Redis).wait(time.Hour) // which has nothing to do with it
			}
			c.story(s.submit(job1))
			r := s.judge(hardened)
			o := outcomeOf(r, "nobody-is-rescued")
			assert.Equal(t, c.by != "", outcomeOf(r, "job-rescued").Exercised > 0, name)
			if c.by == "" {
				assert.Empty(t, o.Violations, name)
				continue
			}
			if assert.NotEmpty(t, o.Violations, name) {
				assert.Contains(t, o.Violations[0].Message, "the "+c.by+" of ", name)
				assert.Equal(t, !struck, o.Violations[0].Promised, name)
			}
		}
	}
}

// runThatEnds is a run whose first step's job has ended, which somebody takes in after a while.
func runThatEnds(s *story, after time.Duration) {
	const job = "run-1-a-1"
	s.run(s1, "run_create", twoSteps(1, submittedStep, pendingStep)).stepJob(s1, job).dispatched(s1, job, w1).executed(w1, job).
		completed(s1, job, "SUCCEEDED").wait(after).advances(s1, twoSteps(2, succeededStep, pendingStep))
}
