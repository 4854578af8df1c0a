package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// executions is a plan of which job 1 fails, job 2 fails after its effect, job 3 fails and succeeds later, and job 4 answers
// that it has failed for good.
var executions = config.Config{Epochs: true, Executions: map[string]config.Execution{
	job1:    {Fails: timedOut},
	"job-2": {Fails: timedOut, Committed: true},
	"job-3": {Fails: timedOut, Succeeds: true},
	"job-4": {Answer: "FAILED_FATAL"},
}}

var timedOut = config.Outcome{Status: "FAILED", ReasonCode: "timeout", Reason: "the worker says so"}

// given is a dispatch of epoch 1 that worker 1 has in hand.
func (s *story) given(job string) *story {
	return s.submit(job).dispatchedAt(s1, job, w1, 1).handed(w1, job, 1)
}

// answersWith is the result of epoch 1 that worker 1 gives: those fields, and the ones that every result has.
func (s *story) answersWith(job, fields string) *story {
	s.replies(w1, job, `{"job_id":"`+job+`","worker_id":"worker-1","epoch":1,`+fields+`}`)
	s.epoch(s.last().Changes[0], 1)
	return s
}

// puts stores an output of worker 1.
func (s *story) puts(job, ptr string) *story {
	return s.add(w1, sim.KindRedis, "mset", ptr, job, "output_store", s.set(ptr, "", "output"))
}

// A result is what its worker has executed, and nothing else.
func TestAResultIsWhatWasExecuted(t *testing.T) {
	const (
		succeeded = `"status":"SUCCEEDED"`
		failed    = `"status":"FAILED","reason_code":"timeout","reason":"the worker says so"`
		job2      = "job-2"
		replay    = "job-1-replay-1"
	)
	ended := func(job, how string) *story {
		return newStory().given(job).effect(w1, job, "begin").effect(w1, job, how)
	}
	whole := func(packet string) *story {
		s := ended(job1, "finish").replies(w1, job1, packet)
		s.epoch(s.last().Changes[0], 1)
		return s
	}
	asked := func(outcome string) *story {
		s := newStory().given(job1).add(w1, sim.KindCall, history.CallHad, "ledger", job1, "")
		s.last().Outcome = outcome
		return s.answersWith(job1, succeeded)
	}
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"succeeded":                         {ended(job1, "finish").answersWith(job1, succeeded), ""},
		"failed":                            {ended(job1, "fail").answersWith(job1, failed), ""},
		"a replay that failed":              {ended(replay, "fail").answersWith(replay, failed), ""},
		"failed after the effect":           {ended(job2, "finish").answersWith(job2, failed), ""},
		"succeeded at last":                 {ended(job2, "finish").answersWith(job2, succeeded), ""},
		"failed for good":                   {ended("job-4", "finish").answersWith("job-4", `"status":"FAILED_FATAL"`), ""},
		"it was had":                        {asked(sim.OutcomeOK), ""},
		"with its output":                   {ended(job1, "finish").puts(job1, "res:1").answersWith(job1, succeeded+`,"result_ptr":"res:1"`), ""},
		"a failure before its success":      {ended("job-3", "fail").puts("job-3", "res:1").answersWith("job-3", failed), ""},
		"success as failure":                {ended(job1, "finish").answersWith(job1, `"status":"FAILED"`), "FAILED; it should be SUCCEEDED"},
		"failure as success":                {ended(job1, "fail").answersWith(job1, succeeded), `SUCCEEDED; it should be FAILED (reason_code "timeout", reason "the worker says so")`},
		"failure after the effect as fatal": {ended(job2, "finish").answersWith(job2, `"status":"FAILED_FATAL","reason_code":"timeout","reason":"the worker says so"`), "FAILED_FATAL (reason_code"},
		"fatal as failure":                  {ended("job-4", "finish").answersWith("job-4", `"status":"FAILED"`), "FAILED; it should be FAILED_FATAL"},
		"without a reason code":             {ended(job1, "fail").answersWith(job1, `"status":"FAILED","reason":"the worker says so"`), `FAILED (reason_code "", reason "the worker says so"); it should be`},
		"without a reason":                  {ended(job1, "fail").answersWith(job1, `"status":"FAILED","reason_code":"timeout"`), `FAILED (reason_code "timeout", reason ""); it should be`},
		"without its output":                {ended(job1, "finish").puts(job1, "res:1").answersWith(job1, succeeded), `result_ptr ""; it should be "res:1"`},
		"with another output":               {ended(job1, "finish").puts(job1, "res:1").answersWith(job1, succeeded+`,"result_ptr":"res:2"`), `result_ptr "res:2"; it should be "res:1"`},
		"with an output of nobody":          {ended(job1, "finish").answersWith(job1, succeeded+`,"result_ptr":"res:2"`), `result_ptr "res:2"; it should be ""`},
		"before its end":                    {newStory().given(job1).effect(w1, job1, "begin").answersWith(job1, succeeded), "SUCCEEDED; it should be nothing"},
		"it was not had":                    {asked(sim.OutcomeNil), "SUCCEEDED; it should be nothing"},
		"of another's execution":            {newStory().given(job1).effect(w2, job1, "begin").effect(w2, job1, "finish").answersWith(job1, succeeded), "SUCCEEDED; it should be nothing"},
		"under another name":                {whole(`{"job_id":"job-1","worker_id":"somebody","epoch":1,"status":"SUCCEEDED"}`), `worker_id "somebody"; it should be "worker-1"`},
		"of another job":                    {whole(`{"job_id":"job-2","worker_id":"worker-1","epoch":1,"status":"SUCCEEDED"}`), `job_id "job-2"; it should be "job-1"`},
		"without an epoch":                  {whole(`{"job_id":"job-1","worker_id":"worker-1","status":"SUCCEEDED"}`), "epoch 0, and epoch 1 in its header; it should be"},
		"of a dispatch that it was not given": {newStory().submit(job1).dispatchedAt(s1, job1, w1, 1).effect(w1, job1, "begin").effect(w1, job1, "finish").answersWith(job1, succeeded),
			"epoch 1, and epoch 1 in its header; it should be that of a dispatch that the worker was given"},
	} {
		o := outcomeOf(c.s.judge(executions), "result-is-what-was-executed")
		assert.Positive(t, o.Exercised, name)
		assertSays(t, o.Violations, c.says, name)
		assert.Zero(t, outcomeOf(c.s.judge(config.Config{Epochs: true}), "result-is-what-was-executed").Exercised, "nobody knows what workers do")
	}
}

// A worker that shares a topic with others has a name of its own.
func TestAWorkersNameMayBeLongerThanItsNodes(t *testing.T) {
	s := newStory().given(job1).effect(w1, job1, "begin").effect(w1, job1, "finish")
	s.replies(w1, job1, `{"job_id":"job-1","worker_id":"worker-1.host","epoch":1,"status":"SUCCEEDED"}`)
	s.epoch(s.last().Changes[0], 1)
	cfg := executions
	assert.NotEmpty(t, outcomeOf(s.judge(cfg), "result-is-what-was-executed").Violations)
	cfg.FanOut = true
	assert.Empty(t, outcomeOf(s.judge(cfg), "result-is-what-was-executed").Violations)
}
