package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/workflow"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

const runForTests = `run_id: nightly-17
workflow_id: nightly
steps:
  - {id: extract, topic: job.default, payload: {table: orders}}
  - {id: load, topic: job.flaky, depends_on: [extract], delay_sec: 1, retry: {max: 10, backoff_ms: 2000}}
  - {id: report, topic: job.default, depends_on: [load]}
`

// A run over real servers: it is waited for, one of its steps is tried again, and to start it again changes nothing.
func TestWorkflow(t *testing.T) {
	at := []string{"--redis", startRedis(t), "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	s := start(t, append(append([]string{"serve", "--id", "scheduler-1", "--listen", "127.0.0.1:0",
		"--topic", "job.default=default", "--topic", "job.flaky=flaky", "--topic", "job.idle=idle",
		"--set", "engine.workflow.delay_poll=200ms"}, at...), fast...)...)
	s.is(200, `"status":"ok"`)
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", "--ledger", ledger, at[2], at[3])
	flaky := func(failRate string) *process {
		return start(t, "worker", "--id", "worker-2", "--pool", "flaky", "--fail-rate", failRate, "--heartbeat", "200ms", at[2], at[3])
	}
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "run.yaml")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	shown := func(id string) (run workflow.Run) {
		text := client(t, cli.ExitHeld, at, "workflow", "show", id, "--json").output()
		into := struct{ Run *workflow.Run }{&run}
		require.NoError(t, json.Unmarshal([]byte(text), &into), text)
		return run
	}
	client(t, cli.ExitHeld, at, "workflow", "list").says(`^No runs.\n$`)
	client(t, cli.ExitUsage, at, "workflow", "show", "nightly-17").says("holds no run \"nightly-17\"; `scheduler workflow list` names those that it holds\n$")

	w := flaky("1")
	client(t, cli.ExitViolated, at, "workflow", "start", file(`{"run_id": "bad", "workflow_id": "nightly", "steps": [{"id": "load", "topic": "job.flaky"}]}`), "--wait").
		says(`^Started bad, a run of nightly with 1 step\nFAILED  bad: step load: bad-load-1 is FAILED.*\nSee its steps: scheduler workflow show bad\n$`)
	nightly := file(runForTests)
	run := start(t, append([]string{"workflow", "start", nightly, "--wait"}, at...)...)
	run.eventually("try a step again", func() bool { return len(executions(t, ledger)) > 0 && shown("nightly-17").Steps[1].Attempt > 1 })
	client(t, cli.ExitHeld, at, "workflow", "show", "nightly-17").says(`(?s)RUNNING, 1 of 3 steps done\n.*\nreport +PENDING +- +- +after load\n.*\nTried before\n  load: nightly-17-load-\d is FAILED`)
	w.stops()
	flaky("0") // of the same name, so that it is given what the other one was
	run.says(`^Started nightly-17, a run of nightly with 3 steps\nSUCCEEDED  nightly-17: 3 of 3 steps done\n$`)
	run.ends(cli.ExitHeld)

	before := shown("nightly-17")
	assert.Equal(t, workflow.Succeeded, before.State)
	assert.GreaterOrEqual(t, before.Steps[1].NextAttemptAt-before.Steps[0].EndedAt, int64(2000), "a delay of a second, or a back-off of two after it")
	client(t, cli.ExitHeld, at, "workflow", "show", "nightly-17").says(`\nload +SUCCEEDED +\d of 11 +nightly-17-load-\d +ended 20\S+Z\n`)
	client(t, cli.ExitHeld, at, "workflow", "list").says(`STEPS DONE\n.* bad +nightly +FAILED +0 of 1\n.* nightly-17 +nightly +SUCCEEDED +3 of 3\n2 runs; `)
	client(t, cli.ExitHeld, at, "workflow", "list", "--state", "FAILED").says(`\n1 run; `)
	client(t, cli.ExitHeld, at, "workflow", "list", "--json").says(`(?s)"version": 1.*"run_id": "nightly-17".*"steps_done": 3,`)
	client(t, cli.ExitHeld, at, "workflow", "start", nightly, "--wait").says(`^The run nightly-17 exists already; it stays as it was first started\nSUCCEEDED `)
	assert.Equal(t, before, shown("nightly-17"))
	assert.Len(t, executions(t, ledger), 2, "of extract and report")

	idle := file(strings.NewReplacer("nightly-17", "idle", "job.default", "job.idle").Replace(runForTests))
	client(t, cli.ExitInconclusive, at, "workflow", "start", idle, "--wait", "--timeout", "1ms").says(`\nRUNNING  idle: 0 of 3 steps done`)
	waits := start(t, append([]string{"workflow", "start", idle, "--wait"}, at...)...)
	waits.says(`The run idle exists already`)
	require.NoError(t, waits.cmd.Process.Signal(os.Interrupt))
	waits.ends(cli.ExitInterrupted)
	waits.says(`\nscheduler: interrupted; the run goes on, 0 of 3 steps done.*: scheduler workflow show idle\n$`)

	opt, err := redis.ParseURL(at[1])
	require.NoError(t, err)
	c := redis.NewClient(opt)
	defer func() { assert.NoError(t, c.Close()) }()
	require.NoError(t, c.LPush(t.Context(), workflow.RunKey("odd"), "text").Err())
	client(t, cli.ExitInconclusive, at, "workflow", "show", "odd").says(`^scheduler: read cordum:wf:run:odd: WRONGTYPE .*; try again\n$`)
	require.NoError(t, c.Set(t.Context(), workflow.RunKey("broken"), "{", 0).Err())
	waitFor := func(id string) *process {
		return client(t, cli.ExitInconclusive, at, "workflow", "start", file(`{run_id: `+id+`, workflow_id: nightly, steps: [{id: a, topic: job.default}]}`), "--wait")
	}
	waitFor("odd").says(`\nscheduler: read cordum:wf:run:odd: WRONGTYPE .*; this is not a record of a run\n$`)
	waitFor("broken").says(`\nscheduler: read cordum:wf:run:broken: unexpected end of JSON input; this is not a record of a run\n$`)
	client(t, cli.ExitInconclusive, at, "workflow", "start", file(`{run_id: new, workflow_id: nightly, steps: [{id: a, topic: job.default}]}`), "--wait", "--timeout", "1ms")
	s.stops()
}

// What a file says comes through as it is written.
func TestRunFile(t *testing.T) {
	var step workflow.Step
	steps := func(text string) {
		t.Helper()
		run, err := parseRun("run.yaml", []byte(text))
		require.NoError(t, err, text)
		require.Len(t, run.Steps, 1)
		step = run.Steps[0]
	}
	const payload = `{"n":1e3,"big":123456789012345678901234567890,"d":1.10,"t":"a\tb<c>😀","l":[1,[],{},null,true],"m":{"a-b":"true"}}`
	steps("{\n\t\"run_id\": \"r\",\n\t\"workflow_id\": \"w\", \"tenant\": \"acme\",\n\t\"steps\": [{\"id\": \"a\", \"topic\": \"job.x\",\n\t\t\"payload\": " + payload + "}]}")
	assert.Equal(t, payload, string(step.Payload))
	steps(`
run_id: r
workflow_id: w
steps:
  - id: a
    topic: job.x
    delay_sec: 3
    delay_until: 2030-01-01T00:00:00Z
    retry: {max: 2, backoff_ms: 500}
    capability: load
    labels: {team: data, n: "1"}
    payload:
      text: |
        one
        two
      rate: 1e3
      when: 2030-01-01
      same: '1e3'
    compensation:
      topic: job.undo
      env: {A: b}
      budget: {deadline_ms: 1000}
      idempotency_key: key
`)
	assert.Equal(t, workflow.Step{
		ID: "a", Topic: "job.x", DelaySec: 3, DelayUntil: 1893456000000, Retry: workflow.Retry{Max: 2, BackoffMS: 500}, Capability: "load",
		Labels:       map[string]string{"team": "data", "n": "1"},
		Payload:      json.RawMessage(`{"text":"one\ntwo\n","rate":1e3,"when":"2030-01-01","same":"1e3"}`),
		Compensation: &job.Compensation{Topic: "job.undo", Env: map[string]string{"A": "b"}, Budget: &job.Budget{DeadlineMS: 1000}, IdempotencyKey: "key"},
	}, step)
}

// The file that the help shows is one.
func TestRunFileOfTheHelp(t *testing.T) {
	long := newWorkflowStart().Long
	from, to := strings.Index(long, "  run_id:"), strings.Index(long, "\nOther exit codes")
	run, err := parseRun("help", []byte(long[from:to]))
	require.NoError(t, err)
	assert.Len(t, run.Steps, 2)
}

// Whatever is read, it is a run that can be started or an error that says where the fault is.
func FuzzRunFile(f *testing.F) {
	for _, text := range []string{runForTests, `{"run_id":"r","steps":[{"id":1}]}`, "a: &x [*x]\n", "? a\n: b\n", "steps: !!x {<<: 1}\n", "- |\n a\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := parseRun("run.yaml", data)
		if err == nil {
			require.NoError(t, run.Validate())
			_, err = json.Marshal(run)
			require.NoError(t, err)
			return
		}
		var pe *strictyaml.Error
		require.ErrorAs(t, err, &pe)
		assert.True(t, strings.HasPrefix(pe.Error(), "run.yaml:"), pe)
	})
}

// What a run is called comes from a file, and steers no terminal.
func TestRunsArePrintedAsTheyAreCalled(t *testing.T) {
	const evil, written = "a\u202eb\x1b[31mred", `a\u202eb\x1b[31mred`
	var out bytes.Buffer
	p := cli.NewPrinter(&out)
	require.NoError(t, printRuns(p, []runSummary{{RunID: evil, WorkflowID: evil, State: workflow.Running}}))
	require.NoError(t, printSteps(p, &workflow.Run{RunID: evil, WorkflowID: evil, Steps: []workflow.Step{{ID: evil, JobID: evil, State: workflow.StepSubmitted}}}))
	assert.Equal(t, 6, strings.Count(out.String(), written), out.String())
	assert.NotRegexp(t, `[\x{202e}\x1b]`, out.String())
}
