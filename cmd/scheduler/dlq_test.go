package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/dlq"
)

const triageForTests = `version: v1
dlq_rules:
  - match: {reason_code: dependency_unavailable}
    action: auto_replay
    max_replays: 1
  - match: {reason_code: partial_external_write}
    action: require_approval
    approver_group: platform-governance
`

// Dead letters over real servers: what may be is replayed by itself, what needs a person waits for one.
func TestDLQ(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "triage.yaml")
	require.NoError(t, os.WriteFile(policy, []byte(triageForTests), 0o600))
	at := []string{"--redis", startRedis(t), "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	s := start(t, append(append([]string{"serve", "--id", "scheduler-1", "--listen", "127.0.0.1:0", "--dlq-policy", policy,
		"--topic", "job.away=away", "--topic", "job.half=half", "--topic", "job.lost=lost",
		"--set", "engine.replay.backoff_base=100ms"}, at...), fast...)...)
	s.is(200, `"status":"ok"`)
	s.says(`Dead letters are triaged by ` + policy + `: \d rules\n`)
	worker := func(id, reason string) {
		start(t, "worker", "--id", id, "--pool", id, "--fail-rate", "1", "--fail-reason", reason, "--heartbeat", "200ms", at[2], at[3])
		client(t, cli.ExitViolated, at, "submit", "--id", id+"-job", "--topic", "job."+id, "--wait")
	}
	status := func(id string) string {
		var shown struct {
			Entry dlq.Entry `json:"entry"`
		}
		c := client(t, cli.ExitHeld, at, "dlq", "show", id, "--policy", policy, "--json")
		require.NoError(t, json.Unmarshal([]byte(c.output()), &shown))
		return shown.Entry.ReplayStatus
	}
	reaches := func(id, want string) {
		s.eventually(id+" "+want, func() bool { return status(id) == want })
	}

	worker("away", "dependency_unavailable")
	reaches("away-job", dlq.Replayed)
	s.eventually("list", func() bool {
		return strings.Contains(client(t, cli.ExitHeld, at, "dlq", "list").output(), "away-job-replay-1")
	})
	reaches("away-job-replay-1", dlq.Exhausted)
	client(t, cli.ExitViolated, at, "dlq", "replay", "away-job-replay-1").says(`^scheduler: the entry of away-job-replay-1 is exhausted: 1 of its 1 replays have been had; submit the job anew, under another id, if it is to be done all the same\n$`)
	client(t, cli.ExitHeld, at, "dlq", "show", "away-job", "--policy", policy).says(`(?s)away-job  FAILED, dependency_unavailable: .*class transient_infrastructure; triage: auto_replay.*replay: replayed, as away-job-replay-1.*Trail.*dlq_replayed by replay-worker`)

	worker("half", "partial_external_write")
	reaches("half-job", dlq.AwaitingApproval)
	client(t, cli.ExitViolated, at, "dlq", "replay", "half-job").says("waits for its approval; `scheduler dlq approve half-job` gives it")
	client(t, cli.ExitViolated, at, "dlq", "approve", "half-job", "--by", "ben").says(`half-job: only platform-governance may approve its replay, and ben is not of that group`)
	client(t, cli.ExitViolated, at, "dlq", "mend", "half-job", "--payload", "{}").says(`the entry of half-job is not quarantined: it is awaiting_approval`)
	client(t, cli.ExitHeld, at, "dlq", "approve", "half-job", "--by", "ana", "--group", "platform-governance").says(`^The replay of half-job is approved.\n$`)
	reaches("half-job", dlq.Replayed)

	worker("lost", "unknown_commit_state")
	s.eventually("triage", func() bool {
		return strings.Contains(client(t, cli.ExitHeld, at, "dlq", "show", "lost-job").output(), "dlq_triaged")
	})
	assert.Equal(t, dlq.PendingReview, status("lost-job"), "it is left to a person")
	client(t, cli.ExitHeld, at, "dlq", "replay", "lost-job", "--dry-run").says(`^lost-job would be replayed, after unknown_commit_state\n$`)
	client(t, cli.ExitViolated, at, "dlq", "replay", "half-job", "lost-job", "--dry-run").says(`^half-job has been replayed already, as half-job-replay-1\nlost-job would be replayed`)
	client(t, cli.ExitUsage, at, "dlq", "replay", "nosuch").says(`^scheduler: Redis at \S+ holds no dead letter of nosuch; `)
	client(t, cli.ExitUsage, at, "dlq", "replay", "nosuch", "none", "--dry-run").says(`^Redis at \S+ holds no dead letter of nosuch; [^\n]*\nRedis at \S+ holds no dead letter of none; [^\n]*\n$`)
	client(t, cli.ExitHeld, at, "dlq", "replay", "lost-job", "--by", "ana").says(`^lost-job is scheduled: as ana wants it\n$`)
	reaches("lost-job", dlq.Replayed)
	client(t, cli.ExitViolated, at, "dlq", "deny", "lost-job").says(`^scheduler: the entry of lost-job is replayed already\n$`)
	s.eventually("fail", func() bool {
		return strings.Contains(client(t, cli.ExitHeld, at, "dlq", "list", "--reason", "unknown_commit_state").output(), "lost-job-replay-1") &&
			strings.Contains(client(t, cli.ExitHeld, at, "dlq", "show", "lost-job-replay-1").output(), "dlq_triaged")
	})
	client(t, cli.ExitHeld, at, "dlq", "deny", "lost-job-replay-1", "--reason", "by hand").says(`is denied`)
	client(t, cli.ExitHeld, at, "dlq", "replay", "--all", "--policy", policy).says(`Nothing to replay`)
	client(t, cli.ExitUsage, at, "dlq", "show", "nobody").says("holds no dead letter of nobody; `scheduler dlq list` names those")
	client(t, cli.ExitHeld, at, "dlq", "list", "--reason", "unknown_comit_state").says(`^None of \d dead letters matches\. None has --reason unknown_comit_state \(did you mean "unknown_commit_state"\?\); there are dependency_unavailable, partial_external_write, unknown_commit_state\.\n$`)
	client(t, cli.ExitHeld, at, "dlq", "list", "--topic", "job.lost", "--status", "scheduled").says(`^None of \d dead letters matches\.\n$`)
	for _, reads := range [][]string{{"dlq", "list"}, {"dlq", "show", "half-job"}} { // and need no NATS for it
		client(t, cli.ExitHeld, []string{at[0], at[1], "--nats", "nats://127.0.0.1:1"}, reads...).says("half-job ")
	}
	s.stops()
}

// The list says in which zone its times are, and when a replay is due.
func TestTheListOfDeadLetters(t *testing.T) {
	var text strings.Builder
	require.NoError(t, printLetters(cli.NewPrinter(&text), []dlq.Entry{
		{JobID: "mail-17", ReasonCode: "timeout", ReplayStatus: dlq.Scheduled, CreatedAt: 1_700_000_000_000, NextReplayAt: 1_700_000_061_000},
		{JobID: "an-id-that-is-longer-than-this", ReasonCode: "policy_snapshot_mismatch", ReplayStatus: dlq.AwaitingApproval, CreatedAt: 1_700_000_001_000},
	}))
	assert.Equal(t, "CAME (UTC)      JOB                             REASON CODE               REPLAY\n"+
		"11-14 22:13:20  mail-17                         timeout                   due 22:14:21\n"+
		"11-14 22:13:21  an-id-that-is-longer-than-this  policy_snapshot_mismatch  awaiting_approval\n"+
		"2 dead letters; `scheduler dlq show JOB` shows one.\n", text.String())
}

// That another policy decides stands once above the trail.
func TestADeadLetterSaysItsMismatchOnce(t *testing.T) {
	at := []string{"--redis", startRedis(t), "--nats", "nats://127.0.0.1:1"}
	options, err := redis.ParseURL(at[1])
	require.NoError(t, err)
	r := redis.NewClient(options)
	defer func() { _ = r.Close() }()
	reason := "policy_snapshot_mismatch: sha256:2 decides, and sha256:1 did; require_approval: No rule matches."
	require.NoError(t, deadLetters(r).Add(t.Context(), dlq.Entry{
		JobID: "mail-17", Status: "FAILED", ReasonCode: "unknown_commit_state", Action: dlq.RequireApproval, ReplayStatus: dlq.AwaitingApproval, Mismatch: "sha256:2", ReplayReason: reason,
	}))
	assert.Equal(t, 1, strings.Count(client(t, cli.ExitHeld, at, "dlq", "show", "mail-17").output(), reason))
}
