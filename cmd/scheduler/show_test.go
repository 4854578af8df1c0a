package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/registry"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// Of a job it is told where it is, what it waits for, why it failed, and how its replays ended.
func TestShow(t *testing.T) {
	_, at := alone(t, "--topic", "job.default=default", "--topic", "job.idle=idle")
	redisAlone := []string{at[0], at[1], "--nats", "nats://127.0.0.1:1"}
	client(t, cli.ExitUsage, redisAlone, "show", "job-1").says(`^scheduler: Redis at \S+ holds no job "job-1"\n$`)

	idle := client(t, cli.ExitInconclusive, at, "submit", "--id", "idle", "--topic", "job.idle", "--tenant", "a", "--wait", "--timeout", "1s")
	idle.says(`(?m)^scheduler: --timeout, 1s, came first: 0 of 1 job ended$`)
	idle.says("(?m)^  `scheduler show idle` says what it waits for.$")
	shows := client(t, cli.ExitHeld, redisAlone, "show", "idle")
	shows.says(`(?m)^idle is SCHEDULED since 20\S+Z, \d+s ago\n  It waits for a worker; the schedulers' logs say why it has none\.\n  The schedulers have heard of no worker\.\n  topic job.idle, \d attempts?, tenant a$`)

	start(t, "worker", "--id", "worker-1", "--fail-rate", "1", "--fail-reason", "timeout", "--heartbeat", "200ms", at[2], at[3])
	knows(t, at, "worker-1")
	client(t, cli.ExitHeld, redisAlone, "show", "idle").says(`(?m)^  The schedulers have heard of:\n    worker-1 of pool default, 0 of 4 jobs, \d+s ago$`)
	client(t, cli.ExitViolated, at, "submit", "--id", "bad", "--wait")
	client(t, cli.ExitHeld, at, "dlq", "replay", "bad")
	require.Eventually(t, func() bool {
		return strings.Contains(client(t, cli.ExitHeld, redisAlone, "show", "bad-replay-1").output(), "bad-replay-1 is FAILED")
	}, 2*time.Minute, 50*time.Millisecond)
	failed := client(t, cli.ExitHeld, redisAlone, "show", "bad")
	failed.says(`(?m)^bad is FAILED since \S+, \d+s ago\n  timeout: the worker was told to fail a share of its jobs\n  topic job.default, 1 attempt, worker worker-1$`)
	failed.says("(?m)^  dead letter: timeout; replay: replayed, as bad-replay-1\n    `scheduler dlq show bad` shows more about it\n  replay bad-replay-1 is FAILED: timeout: the worker was told")
	client(t, cli.ExitHeld, redisAlone, "show", "bad-replay-1").says(`(?m)^  submitted at \S+, replay of bad$`)

	client(t, cli.ExitViolated, at, "submit", "--id", "late", "--deadline", "1ms", "--wait")
	client(t, cli.ExitHeld, redisAlone, "show", "late").says(`(?m)^  submitted at \S+Z, deadline \S+Z, ended \d+m?s past it$`)

	var printed shown
	asJSON := client(t, cli.ExitHeld, redisAlone, "show", "bad", "--json")
	require.NoError(t, json.Unmarshal([]byte(asJSON.output()), &printed), asJSON.output())
	assert.Equal(t, "FAILED", string(printed.Job.State))
	assert.Equal(t, "timeout", printed.Letter.ReasonCode)
	assert.Len(t, printed.Replays, 1)
}

// Of a job that a worker has it is told whether that worker lives, as far as the schedulers' snapshot says.
func TestShowSaysThatAWorkerIsSilent(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000).UTC()
	snapshot := registry.Snapshot{WrittenAt: now.Add(-5 * time.Second).UnixMilli(), Workers: []registry.Seen{
		{Heartbeat: job.Heartbeat{WorkerID: "alive"}, LastSeen: now.Add(-9 * time.Second).UnixMilli()},
		{Heartbeat: job.Heartbeat{WorkerID: "dead"}, LastSeen: now.Add(-time.Minute).UnixMilli()},
	}}
	for _, c := range []struct {
		worker string
		since  time.Duration // the job runs for so long
		says   string
	}{
		{"alive", time.Minute, "  The schedulers heard of alive 9s ago.\n"},
		{"dead", time.Minute, "  dead has been silent since 2023-11-14T22:12:20Z, 1m0s ago, as far as the schedulers have heard.\n" +
			"  Start a worker with --id dead again; otherwise the jobs that it has not executed end TIMEOUT at a tick of the reconciler.\n"},
		{"gone", time.Minute, "  The schedulers' snapshot of 2023-11-14T22:13:15Z does not name gone.\n" +
			"  Start a worker with --id gone again; otherwise the jobs that it has not executed end TIMEOUT at a tick of the reconciler.\n"},
		{"new", time.Second, ""},
	} {
		var text bytes.Buffer
		printHeard(cli.NewPrinter(&text), heardOf(&snapshot, &store.Record{Worker: c.worker, UpdatedAt: now.Add(-c.since)}), c.worker, now)
		assert.Equal(t, c.says, text.String())
	}
	assert.Nil(t, heardOf(&registry.Snapshot{}, &store.Record{Worker: "w", UpdatedAt: now}), "there is no snapshot")
}

// A worker that has said that it stops is not one that is full.
func TestShowSaysThatAWorkerStops(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000).UTC()
	at := now.Add(-3 * time.Second).UnixMilli()
	var text bytes.Buffer
	printMates(cli.NewPrinter(&text), knownMates(&registry.Snapshot{Workers: []registry.Seen{
		{Heartbeat: job.Heartbeat{WorkerID: "full", Pool: "a", ActiveJobs: 4, MaxParallelJobs: 4}, LastSeen: at},
		{Heartbeat: job.Heartbeat{WorkerID: "stops", Pool: "a", ActiveJobs: 4, MaxParallelJobs: 4, Stopping: true}, LastSeen: at},
	}}), now)
	assert.Equal(t, "  The schedulers have heard of:\n    full of pool a, 4 of 4 jobs, 3s ago\n    stops of pool a, which reported 3s ago that it stops\n", text.String())
}
