package workflow

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/engine/job"
)

func valid() Run {
	return Run{RunID: "run-1", WorkflowID: "wf-1", Steps: []Step{
		{ID: "a", Topic: "job.default"},
		{ID: "b", Topic: "job.default", DependsOn: []string{"a"}},
	}}
}

func TestValidateSaysWhatIsWrong(t *testing.T) {
	ok := valid()
	assert.NoError(t, ok.Validate())
	for want, change := range map[string]func(*Run){
		"run_id is empty":      func(r *Run) { r.RunID = "" },
		"without a colon":      func(r *Run) { r.RunID = "lock:run-1" },
		"workflow_id is empty": func(r *Run) { r.WorkflowID = "" },
		"steps are 0":          func(r *Run) { r.Steps = nil },
		"nor hold a dash":      func(r *Run) { r.Steps[0].ID = "a-b" },
		"another step has":     func(r *Run) { r.Steps[1].ID = "a" },
		`depends on "c", which is no step before it`: func(r *Run) { r.Steps[1].DependsOn = []string{"c"} },
		"delay_sec is -1":       func(r *Run) { r.Steps[0].DelaySec = -1 },
		"retry.max is -1":       func(r *Run) { r.Steps[0].Retry.Max = -1 },
		"retry.backoff_ms is":   func(r *Run) { r.Steps[0].Retry.BackoffMS = -1 },
		"topic is empty":        func(r *Run) { r.Steps[0].Topic = "" },
		"it must have at most ": func(r *Run) { r.RunID = strings.Repeat("r", 300) },
		"compensation: topic":   func(r *Run) { r.Steps[0].Compensation = &job.Compensation{Topic: "job..x"} },
	} {
		bad := valid()
		change(&bad)
		assert.ErrorContains(t, bad.Validate(), want)
	}
}

func TestValidateSaysWhere(t *testing.T) {
	bad := valid()
	bad.Steps[0].Retry.Max = -1
	bad.Steps[1] = Step{ID: "b", Topic: "job..x", DependsOn: []string{"a"}}
	var paths []string
	for _, err := range bad.Validate().(interface{ Unwrap() []error }).Unwrap() {
		var fe *FieldError
		if assert.ErrorAs(t, err, &fe) {
			paths = append(paths, fe.Path)
		}
	}
	assert.Equal(t, []string{"steps[0].retry.max", "steps[1].topic"}, paths)
}

// Whatever a run and its steps are called, no two attempts share a job's id.
func TestJobIDsSayWhoseTheyAre(t *testing.T) {
	run := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,5}[a-z0-9])?`)
	step := rapid.StringMatching(`[a-z0-9]{1,3}`)
	rapid.Check(t, func(t *rapid.T) {
		r, s, n := run.Draw(t, "run"), step.Draw(t, "step"), rapid.IntRange(1, 12).Draw(t, "attempt")
		assert.Equal(t, r, RunOf(JobID(r, s, n)))
		req := (&Step{ID: s}).request(&Run{RunID: r}, 0, n)
		assert.Equal(t, s, StepOf(&req))
		req.IdempotencyKey = req.JobID
		assert.Empty(t, StepOf(&req), "a job of that name is none of a run's by that alone")
	})
	for _, id := range []string{"", "job", "job-1", "comp-0123", "run-a-0", "run-a-x", "--"} {
		assert.Empty(t, RunOf(id), id)
	}
}

func TestBackoffDoubles(t *testing.T) {
	r := Retry{Max: 100, BackoffMS: 5000}
	assert.Equal(t, "5s", r.backoff(1).String())
	assert.Equal(t, "20s", r.backoff(3).String())
	assert.Equal(t, delayMax, r.backoff(100))
}

func TestScoresAreRoundedUp(t *testing.T) {
	assert.InDelta(t, 12, score(12_000), 0)
	assert.InDelta(t, 13, score(12_001), 0)
}

// A step's job is asked for what the step says.
func TestTheJobOfAStep(t *testing.T) {
	s := Step{ID: "a", Topic: "job.a", Payload: json.RawMessage(`{"n":1}`), Labels: map[string]string{"zone": "a"}, Capability: "book", Compensation: &job.Compensation{Topic: "job.undo"}}
	assert.Equal(t, job.Request{
		JobID: "run-1-a-2", Topic: "job.a", Tenant: "acme", Labels: s.Labels, IdempotencyKey: "run-1:a", Payload: s.Payload,
		WorkflowID: "run-1", StepIndex: 3, Capability: "book", Compensation: s.Compensation,
	}, s.request(&Run{RunID: "run-1", Tenant: "acme"}, 3, 2))
}
