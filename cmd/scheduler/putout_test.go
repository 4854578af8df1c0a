package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/job"
)

const outputPolicyForTests = `output:
  - {sync: true, job_id: redact-*, decision: REDACT, redacted_ptr: "{result_ptr}:redacted", reason: it may hold a password}
  - {content: password, decision: QUARANTINE, reason: a password}
`

// What workers put out is scanned: a secret is blocked, or its redacted copy takes its place.
func TestOutputsAreScanned(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte(outputPolicyForTests), 0o600))
	k := start(t, "kernel", "--policy", policy, "--listen", "127.0.0.1:0")
	t.Setenv(servers.EnvKernelInsecure, "true")
	t.Setenv(envOutputPolicy, "true")
	s, at := alone(t, "--safety-kernel", k.says(`Safety kernel at ([^\s,]+)`))
	w := start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", "--redact", "password", at[0], at[1], at[2], at[3])
	w.says(`Outputs are in Redis at ` + at[1])
	submit := func(id, payload string) {
		client(t, cli.ExitHeld, at, "submit", "--id", id, "--payload", payload, "--wait")
	}
	shows := func(id, pattern string) {
		t.Helper()
		client(t, cli.ExitHeld, at, "show", id).says(pattern)
	}

	submit("clean", `{"to":"you"}`)
	shows("clean", `(?s)^clean is SUCCEEDED .*output in Redis under res:clean:1\n`)
	submit("redact-1", `{"password":"hunter2"}`)
	shows("redact-1", `(?s)^redact-1 is SUCCEEDED .*output in Redis under res:redact-1:1:redacted\n`)
	start(t, append([]string{"submit", "--id", "leak", "--payload", `{"password":"hunter2"}`, "--wait"}, at...)...)
	s.says(`msg="output quarantined" .*job_id=leak .*from=SUCCEEDED reason_code=output_quarantined`)
	shows("leak", `^leak is OUTPUT_QUARANTINED since .*\n  output_quarantined: a password\n`)
	client(t, cli.ExitHeld, at, "dlq", "show", "leak").says(`class blocked_output; triage: manual_review`)
	client(t, cli.ExitHeld, at, "audit", "--set", "engine.output.enabled=true")

	client(t, cli.ExitHeld, at, "submit", "--id", "empty", "--wait")
	shows("empty", `^empty is SUCCEEDED `)
	w.stops()
	start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", "--output", "the password", at[0], at[1], at[2], at[3])
	client(t, cli.ExitHeld, at, "submit", "--id", "told")
	s.says(`msg="output quarantined" .*job_id=told `)
	start(t, append([]string{"submit", "--id", "redact-2", "--wait"}, at...)...).ends(cli.ExitViolated) // there is no copy
	shows("redact-2", `(?m)^  output_quarantined: there is no redacted output: it may hold a password$`)
}

// A second execution does not overwrite an output that may have been scanned, whether or not there are epochs.
func TestEachDispatchHasAnOutputOfItsOwn(t *testing.T) {
	server := miniredis.RunT(t)
	o := &outputKeeper{redis: redis.NewClient(&redis.Options{Addr: server.Addr()})}
	defer o.close()
	for want, d := range map[string]struct {
		job.Dispatch
		seq uint64
	}{
		"res:job-1:seq-7": {job.Dispatch{JobID: "job-1"}, 7},
		"res:job-1:seq-9": {job.Dispatch{JobID: "job-1"}, 9},
		"res:job-1:2":     {job.Dispatch{JobID: "job-1", Epoch: 2}, 11},
	} {
		key, err := o.put(t.Context(), d.Dispatch, d.seq, want)
		require.NoError(t, err)
		assert.Equal(t, want, key)
	}
	for _, key := range server.Keys() {
		stored, err := server.Get(key)
		require.NoError(t, err)
		assert.Equal(t, key, stored)
	}
}
