package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

var replayTrials = map[string]trial{
	"replay-keeps-idempotency-key": {
		cfg:    replaying,
		breaks: func(s *story) { s.dies(job1, "timeout").replays(job1, job1, replay1, 1, replay1) },
		says:   `job-1-replay-1: has the idempotency key "job-1-replay-1", but job-1, which it replays, has "job-1:key"`,
		holds:  func(s *story) { s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key") },
	},
	"replay-has-fresh-decision": {
		cfg: replaying,
		breaks: func(s *story) {
			s.asked(s1, job1).dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key").dispatched(s1, replay1, w1)
		},
		says: "although the safety kernel was never asked about it",
		holds: func(s *story) {
			s.dies(job1, "timeout").asked(s1, replay1).replays(job1, job1, replay1, 1, "job-1:key").dispatched(s1, replay1, w1)
		},
	},
	"one-replay-per-count": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").replays(job1, job1, replay1+"-a", 1, "job-1:key").replays(job1, job1, replay1+"-b", 1, "job-1:key")
		},
		says: "job-1-replay-1-b: is replay 1 of job-1 at step 14, but so is job-1-replay-1-a",
		holds: func(s *story) {
			s.dies(job1, "no_workers").replays(job1, job1, replay1, 1, "job-1:key").letter(s1, replay1, "no_workers", "pending_review", nil).replays(replay1, job1, "job-1-replay-2", 2, "job-1:key")
		},
	},
	"max-replays-hold": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key").letter(s1, replay1, "timeout", "pending_review", nil)
			s.replays(replay1, replay1, replay1+"-replay-1", 1, "job-1:key")
		},
		says:  "is replay 2 of job-1 at step 15; for reason_code timeout there may be 1",
		holds: func(s *story) { s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key") },
	},
	"no-replay-of-committed": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout")
			s.commits(job1, 30*24*time.Hour).replays(job1, job1, replay1, 1, "job-1:key")
		},
		says:  "although job-1 has done what its idempotency key stands for",
		holds: func(s *story) { s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key") },
	},
	"no-replay-of-what-the-ledger-has": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").effect(w1, job1, "finish").replays(job1, job1, replay1, 1, "job-1:key")
		},
		says: "although the effect of its idempotency key was had at step",
		holds: func(s *story) {
			s.dies(job1, "timeout").add(s1, sim.KindCall, "Had", "ledger", job1, "committed_read").replays(job1, job1, replay1, 1, "job-1:key")
		},
	},
	"replay-waits-its-backoff": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").putOff(job1, 5*time.Second).replays(job1, job1, replay1, 1, "job-1:key")
		},
		says: "replay 1 of it is put off until",
		holds: func(s *story) {
			s.dies(job1, "timeout").putOff(job1, 15*time.Second).wait(20*time.Second).replays(job1, job1, replay1, 1, "job-1:key")
		},
	},
	"no-replay-against-triage": {
		cfg:    replaying,
		breaks: func(s *story) { s.dies(job1, "denied").replays(job1, job1, replay1, 1, "job-1:key") },
		says:   "which needs an approval for reason_code denied, and has none",
		holds: func(s *story) {
			s.dies(job1, "denied").letter("operator", job1, "denied", "scheduled", map[string]any{"decided_by": "operator"}).replays(job1, job1, replay1, 1, "job-1:key")
			s.dies(job2, "unknown_commit_state").letter("operator", job2, "unknown_commit_state", "scheduled", map[string]any{"decided_by": "operator"}).replays(job2, job2, "job-2-replay-1", 1, "job-2:key")
		},
	},
	"policy-mismatch-is-raised": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").letter(s1, job1, "timeout", "scheduled", map[string]any{"policy_snapshot": "sha256:a"}).asked(s1, replay1).last().Data = `{"decision":1,"policy_snapshot":"sha256:b"}`
			s.replays(job1, job1, replay1, 1, "job-1:key").letter(s1, job1, "timeout", "replayed", map[string]any{"policy_snapshot": "sha256:a"})
		},
		says: "is decided on by another policy than job-1, which it replays, and its dead letter does not say so",
		holds: func(s *story) {
			s.dies(job1, "timeout").letter(s1, job1, "timeout", "scheduled", map[string]any{"policy_snapshot": "sha256:a"}).asked(s1, replay1).last().Data = `{"decision":1,"policy_snapshot":"sha256:b"}`
			s.replays(job1, job1, replay1, 1, "job-1:key").letter(s1, job1, "timeout", "replayed", map[string]any{"policy_snapshot": "sha256:a", "replay_reason": "policy_snapshot_mismatch: b decides, and a did"})
		},
	},
	"dead-letter-is-where-triage-leaves-it": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "denied").visits(s1, job1).letter(s1, job1, "denied", "pending_review", map[string]any{"action": "manual_review"})
		},
		says: `its dead letter was triaged at step 14, with reason_code denied, and its action is "manual_review", not require_approval`,
		holds: func(s *story) {
			s.dies(job1, "denied").letter(s1, job1, "denied", "awaiting_approval", map[string]any{"action": "require_approval"})
			s.dies(job2, "schema_invalid").letter(s1, job2, "schema_invalid", "quarantined", map[string]any{"action": "quarantine"})
			s.dies("job-3", "timeout").putOff("job-3", 15*time.Second).letter(s1, "job-3", "timeout", "quarantined", map[string]any{"action": "auto_replay"})
			s.dies("job-4", "unknown_commit_state").visits(s1, "job-4").effect(w1, "job-4", "finish").letter(s1, "job-4", "unknown_commit_state", "pending_review", map[string]any{"action": "manual_review"})
			s.visits(s1, "job-4").letter(s1, "job-4", "unknown_commit_state", "already_committed", map[string]any{"action": "manual_review"})
			s.dies("job-5", "unknown_commit_state").effect(w1, "job-5", "finish").visits(s1, "job-5")
			s.add(s1, sim.KindCall, "Had", "ledger", "job-5", "committed_read").fails().letter(s1, "job-5", "unknown_commit_state", "pending_review", map[string]any{"action": "manual_review"})
		},
	},
	"growth-alert-tells-the-truth": {
		cfg:    replaying,
		breaks: func(s *story) { s.dies(job1, "timeout").grown(s1).alarm(s1) },
		says:   "the growth alert was changed at step 14, although at step 13 there were 1 new entries",
		holds: func(s *story) {
			s.dies(job1, "timeout").grown(s1).grown(s2).wait(30*time.Second).dies("job-2", "timeout").wait(2 * time.Second).grown(s1).alarm(s1).grown(s1).grown(s2)
		},
	},
	"auto-replay-comes-about": {
		cfg:    replaying,
		breaks: func(s *story) { s.dies(job1, "timeout") },
		says:   "job-1: its dead letter, with reason_code timeout, is still pending_review",
		holds: func(s *story) {
			s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key").letter(s1, job1, "timeout", "replayed", nil)
			s.letter(s1, replay1, "timeout", "exhausted", nil)
			s.dies(job2, "timeout").denied(s1, "job-2-replay-1").letter(s1, job2, "timeout", "denied", nil)
			s.dies("job-3", "timeout").letter("operator", "job-3", "timeout", "denied", map[string]any{"decided_by": "operator"})
			s.dies("job-4", "timeout").reports(w1, "job-4", "SUCCEEDED").letter(s1, "job-4", "timeout", "already_committed", nil)
		},
	},
	"dead-letters-take-turns": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").due(job1, 0).dies(job2, "timeout").due(job2, 0).wait(time.Second)
			s.op(s1, "", "dlq_read").visits(s1, job2).op(s1, "", "dlq_lock").op(s2, "", "dlq_read").visits(s2, job2).op(s2, "", "dlq_lock")
		},
		says: "job-1: its dead letter is due, and waits at step 32 while scheduler-2 has visited that of job-2 for the second time",
		holds: func(s *story) {
			s.dies(job1, "timeout").due(job1, 0).dies(job2, "timeout").due(job2, 0).wait(time.Second)
			s.op(s1, "", "dlq_read").visits(s1, job2).op(s1, job2, "dlq_update").fails().visits(s1, job2).due(job2, time.Hour).op(s1, "", "dlq_lock")
			s.visits("operator", job2).visits(s1, job1).due(job1, time.Minute).op(s1, "", "dlq_lock")
			s.wait(2*time.Hour).visits(s1, job1).due(job1, time.Minute).op(s1, "", "dlq_lock").visits(s1, job2)
		},
	},
	"dead-letter-is-done-with": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").due(job1, 0).wait(time.Second).op(s1, "", "dlq_read").visits(s1, job1)
			s.letter(s1, job1, "timeout", "replayed", map[string]any{"replay_job": replay1}).op(s1, "", "dlq_lock")
		},
		says: "job-1: its dead letter is replayed, and is still in dlq:replay:due at step 17, after scheduler-1 has visited it",
		holds: func(s *story) {
			s.dies(job1, "timeout").due(job1, 0).wait(time.Second).op(s1, "", "dlq_read").visits(s1, job1)
			s.letter(s1, job1, "timeout", "replayed", map[string]any{"replay_job": replay1}).settles(s1, job1).op(s1, "", "dlq_lock")
		},
	},
	"every-replay-decision-is-audited": {
		cfg:    replaying,
		breaks: func(s *story) { s.dies(job1, "timeout").letter(s1, job1, "timeout", "exhausted", nil) },
		says:   "job-1: scheduler-1 wrote its dead letter at step 13, which is exhausted now, and the audit trail has 0 events of it",
		holds: func(s *story) {
			s.dies(job1, "timeout").letter(s1, job1, "timeout", "exhausted", nil).audited(job1, "dlq_exhausted", "replay-worker")
			s.letter(s1, job1, "timeout", "exhausted", map[string]any{"uncounted": true}) // which decides nothing
		},
	},
	"dead-letter-tells-its-decision": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").letter(s1, job1, "timeout", "scheduled", map[string]any{"action": "auto_replay"})
		},
		says: `job-1: scheduler-1 changed its dead letter at step 13, which is scheduled now, and says that "" has changed it`,
		holds: func(s *story) {
			s.dies(job1, "timeout").letter(s1, job1, "timeout", "scheduled", map[string]any{"action": "auto_replay", "changed_by": s1, "next_replay_at": 20, "max_replays": 1})
		},
	},
	"decision-is-taken": {
		cfg: operated("approve_replay"),
		breaks: func(s *story) {
			s.awaits(job1).visits("operator", job1).visits("operator", job1).letter("operator", job1, "denied", "scheduled", byOperator)
		},
		says: "job-1: its dead letter was awaiting_approval when the operator looked at it at step 14, who may decide, and nothing has come of approve_replay",
		holds: func(s *story) {
			s.awaits(job1).visits("operator", job1).letter("operator", job1, "denied", "scheduled", byOperator).visits("operator", job1)
		},
	},
	"refusal-is-audited": {
		cfg:    operated("approve_replay", "interns"),
		breaks: func(s *story) { s.awaits(job1).visits("operator", job1) },
		says:   "job-1: the operator, who is not of the right group, has looked at its dead letter at step 14 for approve_replay, and the audit trail has no refusal",
		holds:  func(s *story) { s.awaits(job1).visits("operator", job1).refuses(job1, "operator") },
	},
	"dead-letter-names-its-replay": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key").letter(s1, job1, "timeout", "replayed", map[string]any{"replay_job": job1})
		},
		says: `job-1: its dead letter is replayed at step 14, as "job-1", which is not replay 1 of job-1`,
		holds: func(s *story) {
			s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key").letter(s1, job1, "timeout", "replayed", map[string]any{"replay_job": replay1})
			s.letter(s1, replay1, "timeout", "pending_review", nil).replays(replay1, job1, "job-1-replay-2", 2, "job-1:key")
			s.letter(s1, replay1, "timeout", "replayed", map[string]any{"replay_job": "job-1-replay-2"})
		},
	},
	"dead-letter-replayed":          letterTrial("replayed"),
	"replay-denied":                 letterTrial("denied"),
	"dead-letter-already-committed": letterTrial("already_committed"),
	"replays-exhausted":             letterTrial("exhausted"),
	"replay-awaits-approval":        letterTrial("awaiting_approval"),
	"dead-letter-quarantined":       letterTrial("quarantined"),
	"replay-refused": {
		cfg:    replaying,
		breaks: func(s *story) { s.dies(job1, "timeout") },
		holds: func(s *story) {
			c := s.dies(job1, "timeout").set(history.AuditKey, "0", `{"kind":"dlq_refused","job_id":"job-1"}`)
			s.add("operator", sim.KindRedis, "multi", c.Key, job1, "dlq_update", c)
		},
	},
	"dead-letter-keeps-its-decision": {
		cfg: replaying,
		breaks: func(s *story) {
			s.dies(job1, "schema_invalid").letter(s1, job1, "schema_invalid", "quarantined", map[string]any{"action": "quarantine"}).
				letter(s2, job1, "schema_invalid", "pending_review", nil)
		},
		says: "its dead letter was quarantined, and was written anew at step 14, with reason_code schema_invalid as before",
		holds: func(s *story) {
			s.dies(job1, "schema_invalid").letter(s1, job1, "schema_invalid", "quarantined", map[string]any{"action": "quarantine"}).
				letter(s2, job1, "schema_invalid", "denied", map[string]any{"action": "quarantine", "decided_by": "ana"}).
				letter(s1, job1, "tool_error", "pending_review", nil)
		},
	},
	"dlq-growth-alert": {
		cfg:    replaying,
		breaks: func(s *story) { s.dies(job1, "timeout").grown(s1) },
		holds:  func(s *story) { s.alarm(s1) },
	},
}

func letterTrial(status string) trial {
	return trial{
		cfg:    replaying,
		breaks: func(s *story) { s.dies(job1, "timeout") },
		holds:  func(s *story) { s.dies(job1, "timeout").letter(s1, job1, "timeout", status, nil) },
	}
}

// What else breaks a promise, besides its trial.
func TestReplaysThatBreakPromises(t *testing.T) {
	for name, x := range map[string]struct {
		of, says string
		breaks   func(s *story)
		change   func(*config.ReplayConfig)
	}{
		"a decision that is older than the dead letter": {
			of: "replay-has-fresh-decision", says: "and its dead letter was written at step",
			breaks: func(s *story) {
				s.asked(s1, replay1).dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key").dispatched(s1, replay1, w1)
			},
		},
		"a decision that is older than the last look at the dead letter": {
			of: "replay-has-fresh-decision", says: "although the safety kernel was last asked about it at step 13, and scheduler-1 has looked at the dead letter anew at step 14",
			breaks: func(s *story) {
				s.dies(job1, "timeout").asked(s1, replay1).visits(s1, job1).replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"an approval that nobody is asked for": {
			of: "dead-letter-is-where-triage-leaves-it", says: "and is pending_review; the action require_approval has it awaiting_approval",
			breaks: func(s *story) {
				s.dies(job1, "denied").letter(s1, job1, "denied", "pending_review", map[string]any{"action": "require_approval"})
			},
		},
		"a question that is answered, and a person who is asked all the same": {
			of: "dead-letter-is-where-triage-leaves-it", says: "and waits for a person, although the ledger has it since step",
			breaks: func(s *story) {
				s.dies(job1, "unknown_commit_state").effect(w1, job1, "finish").visits(s1, job1).add(s1, sim.KindCall, "Had", "ledger", job1, "committed_read")
				s.letter(s1, job1, "unknown_commit_state", "pending_review", map[string]any{"action": "manual_review"})
			},
		},
		"a success that nobody looks for": {
			of: "dead-letter-is-where-triage-leaves-it", says: "and waits for a person, although job-1 has done it",
			breaks: func(s *story) {
				s.dies(job1, "unknown_commit_state")
				s.add(s2, sim.KindRedis, "set", history.CommittedPrefix+"default:job-1:key", job1, "commit_write", s.set(history.CommittedPrefix+"default:job-1:key", "", job1))
				s.visits(s1, job1).letter(s1, job1, "unknown_commit_state", "pending_review", map[string]any{"action": "manual_review"})
			},
		},
		"a commit that nobody made": {
			of: "dead-letter-is-where-triage-leaves-it", says: "and is already_committed, although no worker has reported a success of it",
			breaks: func(s *story) {
				s.dies(job1, "unknown_commit_state").letter(s1, job1, "unknown_commit_state", "already_committed", map[string]any{"action": "manual_review"})
			},
		},
		"a denial by somebody outside of the group": {
			of: "no-replay-against-triage", says: "the replay of it was denied at step 13 by somebody who is not of the group that the triage policy names for reason_code unknown_commit_state",
			breaks: func(s *story) {
				s.dies(job1, "unknown_commit_state").letter("operator", job1, "unknown_commit_state", "denied", map[string]any{"decided_by": "operator"})
			},
			change: func(c *config.ReplayConfig) {
				c.Rules = []config.ReplayRule{{ReasonCode: "unknown_commit_state", Action: "manual_review", Owner: "payments"}}
				c.Operators = map[string][]string{job1: {"interns"}}
			},
		},
		"a denial that somebody else takes back": {
			of: "dead-letter-keeps-its-decision", says: "its dead letter was denied, and is scheduled from step 14 on",
			breaks: func(s *story) {
				s.dies(job1, "timeout").letter("operator", job1, "timeout", "denied", map[string]any{"decided_by": "operator"})
				s.letter("operator", job1, "timeout", "scheduled", map[string]any{"decided_by": "ana"})
			},
		},
		"no dead letter, whatever the step is about": {
			of: "no-replay-against-triage", says: "of which there is no dead letter",
			breaks: func(s *story) { s.dies(job1, "timeout").replays(job1, "job-2", "job-2-replay-1", 1, "job-2:key") },
		},
		"no dead letter to count by": {
			of: "max-replays-hold", says: "of which there is no dead letter",
			breaks: func(s *story) { s.dies(job1, "timeout").replays(job1, job1, "job-1-replay-2", 2, "job-1:key") },
		},
		"a note of what is committed that goes too soon": {
			of: "no-replay-of-committed", says: "scheduler-2 noted at step 13 that its idempotency key is committed, to last for 1h0m0s, and it should have 720h0m0s",
			breaks: func(s *story) { s.dies(job1, "timeout").commits(job1, time.Hour) },
		},
		"a visit that leaves its dead letter where it puts it itself": {
			of: "dead-letter-is-done-with", says: "its dead letter is exhausted, and is still in dlq:replay:due",
			breaks: func(s *story) {
				s.dies(job1, "timeout").due(job1, 0).wait(time.Second).op(s1, "", "dlq_read").visits(s1, job1)
				s.letter(s1, job1, "timeout", "exhausted", nil).due(job1, time.Second).op(s1, "", "dlq_lock")
			},
		},
		"a dead letter that is gone": {
			of: "dead-letter-is-done-with", says: "its dead letter is gone, and is still in dlq:replay:due",
			breaks: func(s *story) {
				s.dies(job1, "timeout").due(job1, 0).wait(31*24*time.Hour).op(s1, "", "dlq_read").visits(s1, job1).op(s1, "", "dlq_lock")
			},
		},
		"a decision that the audit trail has twice": {
			of: "every-replay-decision-is-audited", says: "and the audit trail has 2 events of it",
			breaks: func(s *story) {
				s.dies(job1, "timeout").letter(s1, job1, "timeout", "exhausted", nil).audited(job1, "dlq_exhausted", "replay-worker").audited(job1, "dlq_exhausted", "replay-worker")
			},
		},
		"an event of another decision": {
			of: "every-replay-decision-is-audited", says: "which was pending_review and is exhausted now, and the audit trail calls that dlq_replayed",
			breaks: func(s *story) {
				s.dies(job1, "timeout").letter(s1, job1, "timeout", "exhausted", nil).audited(job1, "dlq_replayed", "replay-worker")
			},
		},
		"a decision of a person that is told of another": {
			of: "every-replay-decision-is-audited", says: `which is scheduled now, and the audit trail says that "bob" has decided that`,
			breaks: func(s *story) {
				s.dies(job1, "denied").letter("operator", job1, "denied", "scheduled", map[string]any{"decided_by": "ana"}).audited(job1, "dlq_replay_approved", "bob")
			},
		},
		"a denial of the safety kernel's that is told of the worker": {
			of: "every-replay-decision-is-audited", says: `which is denied now, and the audit trail says that "replay-worker" has decided that`,
			breaks: func(s *story) {
				s.dies(job1, "timeout").letter(s1, job1, "timeout", "denied", nil).audited(job1, "dlq_replay_denied", "replay-worker")
			},
		},
		"a dead letter that names the replay before": {
			of: "dead-letter-names-its-replay", says: `as "job-1-replay-1", which is not replay 2 of job-1`,
			breaks: func(s *story) {
				s.dies(job1, "timeout").replays(job1, job1, replay1, 1, "job-1:key").letter(s1, replay1, "timeout", "replayed", map[string]any{"replay_job": replay1})
			},
		},
		"a success of a job that was over, which was noted nowhere": {
			of: "no-replay-of-committed", says: "although job-1 has done what its idempotency key stands for",
			breaks: func(s *story) {
				s.dies(job1, "timeout").reports(w1, job1, "SUCCEEDED").message(s1, job1, "result_deliver", sim.KindDeliver, 1).of(2).ack(s1, job1, "result_ack").of(2).replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"another policy, and nobody knows how far the job came": {
			of: "policy-mismatch-is-raised", says: "whose reason_code is unknown_commit_state and on which another policy decides, and its dead letter did not wait for that",
			breaks: func(s *story) {
				s.dies(job1, "unknown_commit_state").letter(s1, job1, "unknown_commit_state", "scheduled", map[string]any{"policy_snapshot": "sha256:a"}).asked(s1, replay1).last().Data = `{"decision":1,"policy_snapshot":"sha256:b"}`
				s.replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"another policy than that under which somebody has approved": {
			of: "policy-mismatch-is-raised", says: "and its dead letter did not wait for that",
			breaks: func(s *story) {
				policy := map[string]any{"policy_snapshot": "sha256:a", "replay_snapshot": "sha256:b"}
				s.dies(job1, "unknown_commit_state").letter(s1, job1, "unknown_commit_state", "awaiting_approval", policy)
				policy["decided_by"] = "operator"
				s.letter("operator", job1, "unknown_commit_state", "scheduled", policy).asked(s1, replay1).last().Data = `{"decision":1,"policy_snapshot":"sha256:c"}`
				s.replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"an approval from before the policy changed": {
			of: "no-replay-against-triage", says: "which needs an approval for reason_code policy_snapshot_mismatch, and has none",
			breaks: func(s *story) {
				policy := map[string]any{"policy_snapshot": "sha256:a", "decided_by": "operator"}
				s.dies(job1, "unknown_commit_state").letter("operator", job1, "unknown_commit_state", "scheduled", policy)
				policy["replay_snapshot"] = "sha256:b"
				s.letter(s1, job1, "unknown_commit_state", "awaiting_approval", policy).replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"an approval by somebody outside of the group": {
			of: "no-replay-against-triage", says: "on which somebody has decided who is not of the group that the triage policy names for reason_code no_workers",
			breaks: func(s *story) {
				s.dies(job1, "no_workers").letter("operator", job1, "no_workers", "scheduled", map[string]any{"decided_by": "operator"}).replays(job1, job1, replay1, 1, "job-1:key")
			},
			change: func(c *config.ReplayConfig) {
				c.Rules = []config.ReplayRule{{ReasonCode: "no_workers", Action: "require_approval", Approvers: "governance"}}
				c.Operators = map[string][]string{job1: {"interns"}}
			},
		},
		"a denial by a person": {
			of: "no-replay-against-triage", says: "the replay of which operator had denied",
			breaks: func(s *story) {
				s.dies(job1, "timeout").letter("operator", job1, "timeout", "denied", map[string]any{"decided_by": "operator"}).replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"a payload that was mended in vain": {
			of: "no-replay-against-triage", says: `which was mended to {"fits":true}`,
			breaks: func(s *story) {
				s.dies(job1, "schema_invalid").letter("operator", job1, "schema_invalid", "scheduled", map[string]any{"decided_by": "operator", "payload": `{"fits":true}`}).replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"a step tagged as another's": {
			of: "no-replay-against-triage", says: "although the action for reason_code schema_invalid is quarantine",
			breaks: func(s *story) { s.dies(job1, "schema_invalid").replays("job-2", job1, replay1, 1, "job-1:key") },
		},
		"a failure that its worker called final": {
			of: "no-replay-against-triage", says: "although the action for reason_code no_workers is manual_review",
			breaks: func(s *story) {
				s.diesOf(job1, `{"status":"FAILED_FATAL","reason_code":"no_workers"}`, "no_workers", map[string]any{"fatal": true}).replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"a failure that its worker called final, and its dead letter does not": {
			of: "no-replay-against-triage", says: "although the action for reason_code no_workers is manual_review",
			breaks: func(s *story) {
				s.diesOf(job1, `{"status":"FAILED_FATAL","reason_code":"no_workers"}`, "no_workers", nil).replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
		"a reason code that is not its result's": {
			of: "job-ends-as-its-result-says", says: `says "unknown_commit_state", and not reason_code "timeout"`,
			breaks: func(s *story) {
				s.diesOf(job1, `{"status":"FAILED","reason_code":"unknown_commit_state"}`, "timeout", nil).replays(job1, job1, replay1, 1, "job-1:key")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			x.breaks(s)
			cfg := replaying
			if x.change != nil {
				x.change(&cfg.Replay)
			}
			var says []string
			for _, v := range outcomeOf(s.judge(cfg), x.of).Violations {
				says = append(says, v.Message)
			}
			assert.Contains(t, strings.Join(says, "\n"), x.says)
		})
	}
}
