package job_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
)

func TestStatesAreTheDocumentedOnes(t *testing.T) {
	// Scheduler internals, section 1.
	assert.Equal(t, []job.State{
		"PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING",
		"SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED", "DENIED", "OUTPUT_QUARANTINED",
	}, job.States)

	terminal := map[job.State]bool{
		"SUCCEEDED": true, "FAILED": true, "TIMEOUT": true, "CANCELLED": true, "DENIED": true, "OUTPUT_QUARANTINED": true,
	}
	for _, s := range job.States {
		assert.True(t, s.Valid(), s)
		assert.Equal(t, terminal[s], s.Terminal(), s)
		assert.Equal(t, s == "DISPATCHED" || s == "RUNNING", s.InFlight(), s)
	}
	assert.False(t, job.Absent.Valid())
	assert.False(t, job.State("DONE").Valid())
}

func TestTransitionsAreTheDocumentedOnes(t *testing.T) {
	want := map[job.State]string{
		"":                   "PENDING",
		"PENDING":            "SCHEDULED APPROVAL_REQUIRED DENIED FAILED TIMEOUT CANCELLED",
		"APPROVAL_REQUIRED":  "PENDING TIMEOUT CANCELLED",
		"SCHEDULED":          "SCHEDULED DISPATCHED FAILED TIMEOUT CANCELLED",
		"DISPATCHED":         "SCHEDULED RUNNING SUCCEEDED FAILED TIMEOUT CANCELLED OUTPUT_QUARANTINED",
		"RUNNING":            "SUCCEEDED FAILED TIMEOUT CANCELLED OUTPUT_QUARANTINED",
		"SUCCEEDED":          "OUTPUT_QUARANTINED",
		"FAILED":             "",
		"TIMEOUT":            "",
		"CANCELLED":          "",
		"DENIED":             "",
		"OUTPUT_QUARANTINED": "",
	}
	rows := 0
	for from, to := range want {
		moves := strings.Fields(to)
		rows += len(moves)
		for _, s := range append([]job.State{job.Absent}, job.States...) {
			assert.Equal(t, contains(moves, string(s)), job.CanMove(from, s), "%s to %s", from, s)
		}
	}
	assert.Len(t, job.Transitions, rows, "no row twice")
	specification, err := os.ReadFile("../SPECIFICATION.md")
	require.NoError(t, err)
	for _, row := range job.Transitions {
		assert.NotEmpty(t, row.Why)
		title, _, _ := strings.Cut(row.Source, ", ")
		assert.Contains(t, string(specification), "\n## "+title+"\n", "%s to %s names its document", row.From, row.To)
	}
}

func contains(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}

func TestRequestValidate(t *testing.T) {
	for id, problem := range map[string]string{
		"job-1":                  "",
		"job_74c2":               "",
		"":                       "job_id is empty",
		"a.b":                    "one token",
		"a b":                    "one token",
		"a\r\nEvil: header":      "one token",
		"job.>":                  "one token",
		"job-\xff":               "one token",
		"index:PENDING":          "keeps for itself",
		"deadlines":              "keeps for itself",
		strings.Repeat("x", 257): "257 bytes",
	} {
		req := job.Request{JobID: id, Topic: "job.default"}
		if problem == "" {
			assert.NoError(t, req.Validate(), id)
		} else {
			assert.ErrorContains(t, req.Validate(), problem, id)
		}
	}
	for topic, ok := range map[string]bool{
		"job.default": true, "tool.github.pr.create": true,
		"": false, "job.": false, ".job": false, "job.*": false, "job.>": false, "job default": false,
	} {
		req := job.Request{JobID: "job-1", Topic: topic}
		assert.Equal(t, ok, req.Validate() == nil, topic)
	}
}

// What JSON would replace, and a label without a name, no request may hold.
func TestRequestTextIsUTF8(t *testing.T) {
	bad := "acme\xff"
	for problem, spoil := range map[string]func(r *job.Request){
		"is not a subject":        func(r *job.Request) { r.Topic = "job." + bad },
		`"acme\xff" is not valid`: func(r *job.Request) { r.Tenant = bad },
		"requires, ":              func(r *job.Request) { r.Requires = []string{"gpu", bad} },
		"labels has an empty":     func(r *job.Request) { r.Labels = map[string]string{"": "x"} },
		"labels holds text":       func(r *job.Request) { r.Labels = map[string]string{"zone": bad} },
		"env holds text":          func(r *job.Request) { r.Env = map[string]string{bad: "x"} },
		"payload is not":          func(r *job.Request) { r.Payload = json.RawMessage(`"` + bad + `"`) },
		"compensation: payload":   func(r *job.Request) { r.Compensation = &job.Compensation{Payload: json.RawMessage(`"` + bad + `"`)} },
		"compensation: idempot":   func(r *job.Request) { r.Compensation = &job.Compensation{IdempotencyKey: bad} },
	} {
		req := job.Request{JobID: "job-1", Topic: "job.default"}
		spoil(&req)
		assert.ErrorContains(t, req.Validate(), problem)
	}
	req := job.Request{JobID: "arbeit-\u00e4", Topic: "job.default", Tenant: "\u65e5\u672c", Labels: map[string]string{"zone": ""}}
	assert.NoError(t, req.Validate())
}

func TestResultStatusLeadsToState(t *testing.T) {
	for status, state := range map[job.Status]job.State{
		"SUCCEEDED": job.Succeeded, "FAILED": job.Failed, "FAILED_FATAL": job.Failed,
		"CANCELLED": job.Cancelled, "TIMEOUT": job.Timeout, "": job.Absent, "RUNNING": job.Absent,
	} {
		assert.Equal(t, state, status.State(), status)
		res := job.Result{JobID: "job-1", Status: status}
		assert.Equal(t, state != job.Absent, res.Validate() == nil, status)
	}
	assert.Error(t, (&job.Result{Status: job.StatusSucceeded}).Validate())
}

func TestHeartbeatValidate(t *testing.T) {
	assert.NoError(t, (&job.Heartbeat{WorkerID: "worker-1"}).Validate())
	assert.Error(t, (&job.Heartbeat{}).Validate())
	assert.Error(t, (&job.Heartbeat{WorkerID: "worker-1", ActiveJobs: -1}).Validate())
}

func TestPacketsOnTheWire(t *testing.T) {
	req, err := json.Marshal(job.Request{
		JobID: "job-1", Topic: "job.default", Tenant: "acme", Priority: "CRITICAL", Labels: map[string]string{"k": "v"},
		IdempotencyKey: "run:1", Payload: json.RawMessage(`{"n":1}`), TraceID: "t",
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"job_id":"job-1","topic":"job.default","tenant":"acme","priority":"CRITICAL","labels":{"k":"v"},
		"idempotency_key":"run:1","payload":{"n":1},"trace_id":"t"}`, string(req))

	d, err := json.Marshal(job.Dispatch{JobID: "job-1", Topic: "job.default", WorkerID: "worker-1", Attempt: 5, IdempotencyKey: "run:1"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"job_id":"job-1","topic":"job.default","worker_id":"worker-1","attempt":5,"idempotency_key":"run:1"}`, string(d))

	var h job.Heartbeat
	require.NoError(t, json.Unmarshal([]byte(`{"worker_id":"w","pool":"default","topics":["job.default"],"active_jobs":1,
		"max_parallel_jobs":4,"cpu_load":12.5,"gpu_utilization":3,"labels":{"a":"b"},"capabilities":["x"]}`), &h))
	assert.Equal(t, job.Heartbeat{WorkerID: "w", Pool: "default", Topics: []string{"job.default"}, ActiveJobs: 1, MaxParallelJobs: 4,
		CPULoad: 12.5, GPUUtilization: 3, Labels: map[string]string{"a": "b"}, Capabilities: []string{"x"}}, h)
}

// A job that could not be undone is not begun.
func TestACompensationIsValidatedWithItsJob(t *testing.T) {
	req := job.Request{JobID: "job-1", Topic: "job.default", Compensation: &job.Compensation{}}
	assert.NoError(t, req.Validate())
	req.Compensation.Topic = "job..cancel"
	assert.ErrorContains(t, req.Validate(), `compensation: topic "job..cancel" is not a subject`)
	req.Compensation = &job.Compensation{Topic: "job.cancel", Budget: &job.Budget{DeadlineMS: -1}}
	assert.ErrorContains(t, req.Validate(), "compensation: budget.deadline_ms is -1")
}
