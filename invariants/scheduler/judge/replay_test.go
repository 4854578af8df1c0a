package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

const replay1 = "job-1-replay-1"

var replaying = config.Config{Ledger: true, Replay: config.ReplayConfig{
	Enabled: true, Wanted: true, KeepKey: true, CheckCommitted: true, CheckPolicy: true, Atomic: true, CarryCount: true, Triage: true,
	MaxReplays: 3, BackoffBase: 10 * time.Second, BackoffMax: 10 * time.Minute, GrowthAlert: 1, GrowthWindow: time.Minute, Kernel: true,
	Rules: []config.ReplayRule{{ReasonCode: "timeout", Action: "auto_replay", MaxReplays: 1}},
}}

// letter writes a job's dead letter anew, or an update of it.
func (s *story) letter(node, job, reason, status string, more map[string]any) *story {
	e := map[string]any{"job_id": job, "status": "FAILED", "reason_code": reason, "replay_status": status}
	for k, v := range more {
		e[k] = v
	}
	data, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	c := s.set(history.DlqPrefix+job, "", string(data))
	c.Expires = s.at + 30*24*time.Hour
	phase := "dlq_update"
	if status == "pending_review" && more["action"] == nil {
		phase = "dlq_write"
	}
	return s.add(node, sim.KindRedis, "multi", c.Key, job, phase, c)
}

// putOff is what triage makes of a dead letter that is to be replayed so much later.
func (s *story) putOff(job string, by time.Duration) *story {
	s.add(s1, sim.KindRedis, "multi", history.DlqPrefix+job, job, "dlq_entry_read")
	return s.letter(s1, job, "timeout", "scheduled", map[string]any{"action": "auto_replay", "next_replay_at": (s.at + by).Milliseconds()})
}

// due puts a job's dead letter before the replay worker.
func (s *story) due(job string, after time.Duration) *story {
	c := s.set(history.DlqDue, job, strconv.FormatInt((s.at+after).Milliseconds(), 10))
	return s.add(s1, sim.KindRedis, "zadd", c.Key, job, "dlq_update", c)
}

// visits is the replay worker's look at a job's dead letter.
func (s *story) visits(node, job string) *story {
	return s.add(node, sim.KindRedis, "pipeline", history.DlqPrefix+job, job, "dlq_entry_read")
}

// dies is a job that fails, with its dead letter.
func (s *story) dies(job, reason string) *story {
	s.asksFor(job, "job.default", `,"idempotency_key":"`+job+`:key"`).begins(s1, job).write(s1, job, "failed_write", "FAILED", "reason_code", reason)
	s.letter(s1, job, reason, "pending_review", nil)
	c := s.set(history.DlqIndex, job, "1")
	return s.add(s1, sim.KindRedis, "zadd", history.DlqIndex, job, "dlq_write", c).unlock(s1, job).ack(s1, job, "submit_ack")
}

// diesOf is a job that a result ends, and its dead letter with that reason code.
func (s *story) diesOf(job, packet, reason string, more map[string]any) *story {
	s.asksFor(job, "job.default", `,"idempotency_key":"`+job+`:key"`).dispatched(s1, job, w1).replies(w1, job, packet)
	s.message(s1, job, "result_deliver", sim.KindDeliver, 1).lock(s1, job).read(s1, job)
	s.write(s1, job, "result_write", "FAILED", "reason_code", reason).letter(s1, job, reason, "pending_review", more)
	c := s.set(history.DlqIndex, job, "1")
	return s.add(s1, sim.KindRedis, "zadd", history.DlqIndex, job, "dlq_write", c).unlock(s1, job).ack(s1, job, "result_ack")
}

// replays is the step that stores a replay of a job, from the letter of another, or its own.
func (s *story) replays(from, original, id string, n int, key string) *story {
	return s.write(s1, id, "dlq_update", "PENDING", "attempts", "0", "request", fmt.Sprintf(
		`{"job_id":%q,"topic":"job.default","idempotency_key":%q,"labels":{"replay_of":%q,"replay_count":"%d"}}`, id, key, original, n)).ofJob(from)
}

// commits notes for so long that what a job's idempotency key stands for has been done.
func (s *story) commits(job string, ttl time.Duration) *story {
	c := s.set(history.CommittedPrefix+"default:"+job+":key", "", job)
	c.Expires = s.at + time.Millisecond + ttl
	return s.add(s2, sim.KindRedis, "multi", c.Key, job, "result_write", c)
}

// by makes the last step another node's.
func (s *story) by(node string) *story { s.last().Node = node; return s }

// tagged gives the last step another phase.
func (s *story) tagged(phase string) *story { s.last().Phase = phase; return s }

// audited adds an event to the audit trail, in the last step, with what the job's dead letter says.
func (s *story) audited(job, kind, by string) *story {
	l, _ := history.Read[history.DeadLetter](s.redis[history.DlqPrefix+job][""])
	return s.audits(fmt.Sprintf(`{"kind":%q,"job_id":%q,"by":%q,"reason_code":%q,"reason":%q}`, kind, job, by, l.ReasonCode, l.ReplayReason))
}

// settles takes a dead letter off the replay worker's list.
func (s *story) settles(node, job string) *story {
	delete(s.redis[history.DlqDue], job)
	return s.add(node, sim.KindRedis, "multi", history.DlqDue, job, "dlq_update", sim.Change{Key: history.DlqDue, Field: job, Gone: true})
}

// ofJob makes the last step about a job, by its tag.
func (s *story) ofJob(job string) *story { s.last().Job = job; return s }

// asked is the safety kernel's answer about a job.
func (s *story) asked(node, job string) *story {
	return s.add(node, sim.KindCall, "Check", "kernel", job, "safety_check")
}

// denied is the safety kernel's denial of a job.
func (s *story) denied(node, job string) *story {
	s.asked(node, job).last().Data = `{"decision":4}`
	return s
}

// reports is a result that a worker publishes.
func (s *story) reports(worker, job, status string) *story {
	return s.replies(worker, job, fmt.Sprintf(`{"status":%q}`, status))
}

// grown is a look at how the queue grows.
func (s *story) grown(node string) *story {
	return s.add(node, sim.KindRedis, "multi", history.DlqIndex, "", "dlq_growth_read")
}

// alarm raises the growth alert.
func (s *story) alarm(node string) *story {
	return s.add(node, sim.KindRedis, "multi", history.GrowthKey, "", "dlq_growth_write", s.set(history.GrowthKey, "", strconv.Itoa(len(s.events))))
}

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

// Whether a failure is final, its result says: the dead letter does only where a result that is and one that is not may both
// have ended the job.
func TestWhoSaysThatAFailureIsFinal(t *testing.T) {
	const fatal, other = `{"status":"FAILED_FATAL","reason_code":"timeout"}`, `{"status":"FAILED","reason_code":"timeout"}`
	said := map[string]any{"fatal": true}
	for name, c := range map[string]struct {
		story func(*story) *story
		final bool
	}{
		"by its result":            {func(s *story) *story { return s.diesOf(job1, fatal, "timeout", said) }, true},
		"by its result alone":      {func(s *story) *story { return s.diesOf(job1, fatal, "timeout", nil) }, true},
		"by its dead letter alone": {func(s *story) *story { return s.diesOf(job1, other, "timeout", said) }, false},
		"by neither":               {func(s *story) *story { return s.diesOf(job1, other, "timeout", nil) }, false},
		"by a result that came too late": {func(s *story) *story {
			return s.dies(job1, "timeout").replies(w1, job1, fatal).letter(s1, job1, "timeout", "pending_review", said)
		}, false},
		"by one of two results": {func(s *story) *story {
			return s.replies(w1, job1, fatal).message(s1, job1, "result_deliver", sim.KindDeliver, 1).diesOf(job1, other, "timeout", nil)
		}, false},
		"by one of two, and by its dead letter": {func(s *story) *story {
			return s.replies(w1, job1, fatal).message(s1, job1, "result_deliver", sim.KindDeliver, 1).diesOf(job1, other, "timeout", said)
		}, true},
		"by its result, after its dead letter": {func(s *story) *story {
			return s.letter(s1, job1, "timeout", "pending_review", nil).diesOf(job1, fatal, "timeout", nil)
		}, true},
		"by its dead letter, before its failure": {func(s *story) *story {
			return s.replies(w1, job1, fatal).letter(s1, job1, "timeout", "pending_review", said)
		}, true},
	} {
		s := newStory()
		c.story(s).replays(job1, job1, replay1, 1, "job-1:key")
		cfg := replaying
		cfg.Replay.Rules = nil // a rule goes by the reason code alone
		found := outcomeOf(s.judge(cfg), "no-replay-against-triage").Violations
		assert.Equal(t, c.final, len(found) > 0, name)
	}
}

// A replay that the safety kernel throttles waits rightly, as long as the kernel is asked again.
func TestAThrottledReplayWaits(t *testing.T) {
	for after, violations := range map[time.Duration]int{0: 0, time.Hour: 1} {
		s := newStory().dies(job1, "timeout").letter(s1, job1, "timeout", "scheduled", nil).asked(s1, replay1)
		s.last().Data = `{"decision":5}`
		s.wait(after).dies(job2, "denied")
		assert.Len(t, outcomeOf(s.judge(replaying), "auto-replay-comes-about").Violations, violations, after)
	}
}

// What a dead letter's entry says of itself ends nothing that did not happen.
func TestStatusIsNotBelieved(t *testing.T) {
	for status, says := range map[string]string{
		"replayed":          "replayed, although no job replays it",
		"denied":            "denied, although neither the safety kernel nor a person has denied its replay",
		"already_committed": "already_committed, although no worker has reported a success of it",
		"exhausted":         "exhausted, although 0 of its 1 replays have been had",
	} {
		s := newStory().dies(job1, "timeout").letter(s1, job1, "timeout", status, map[string]any{"fatal": true})
		list := outcomeOf(s.judge(replaying), "auto-replay-comes-about").Violations
		if assert.Len(t, list, 1, status) {
			assert.Contains(t, list[0].Message, says)
		}
	}
}

// A visit in which something fails leaves its dead letter to a later one, and one that another process meets leaves it to that.
func TestVisitsThatMayLeaveTheirLetter(t *testing.T) {
	for name, more := range map[string]func(*story) *story{
		"nothing":              func(s *story) *story { return s },
		"a write that fails":   func(s *story) *story { return s.op(s1, job1, "dlq_update").fails() },
		"a publish that fails": func(s *story) *story { return s.op(s1, job1, "replay_publish").fails() },
		"a person's denial": func(s *story) *story {
			return s.letter("operator", job1, "timeout", "denied", nil).due(job1, 0).by("operator")
		},
		"its failure once more": func(s *story) *story {
			return s.letter(s1, job1, "timeout", "pending_review", nil).tagged("failed_write").due(job1, 0)
		},
		"its message once more":    func(s *story) *story { return s.settles(s1, job1).due(job1, 0).tagged("dlq_write") },
		"a replica that adopts it": func(s *story) *story { return s.settles(s1, job1).due(job1, 0).by(s2) },
	} {
		s := newStory().dies(job1, "timeout").due(job1, 0).wait(time.Second).op(s1, "", "dlq_read").visits(s1, job1)
		more(s.letter(s1, job1, "timeout", "awaiting_approval", nil)).op(s1, "", "dlq_lock")
		assert.Equal(t, name == "nothing", len(outcomeOf(s.judge(replaying), "dead-letter-is-done-with").Violations) == 1, name)
	}
}

// The decisions of persons, of the safety kernel and of the replay worker, each with its event.
func TestDecisionsThatAreAudited(t *testing.T) {
	type said map[string]any
	for name, x := range map[string]struct {
		node, was, is, kind, by string
		before, more            said
	}{
		"triage":                      {s1, "pending_review", "pending_review", "dlq_triaged", "replay-worker", nil, said{"action": "manual_review"}},
		"triage, to be replayed":      {s1, "pending_review", "scheduled", "dlq_triaged", "replay-worker", nil, said{"action": "auto_replay"}},
		"an approval":                 {"operator", "awaiting_approval", "scheduled", "dlq_replay_approved", "ana", nil, said{"decided_by": "ana"}},
		"an approval without triage":  {"operator", "pending_review", "scheduled", "dlq_replay_approved", "ana", nil, said{"decided_by": "ana"}},
		"a wish":                      {"operator", "scheduled", "scheduled", "dlq_replay_asked", "ana", said{"action": "auto_replay"}, said{"action": "auto_replay", "decided_by": "ana", "replay_reason": "as ana wants it"}},
		"a mended payload":            {"operator", "quarantined", "scheduled", "dlq_mended", "ana", nil, said{"decided_by": "ana", "payload": "{}", "replay_reason": "mended by ana"}},
		"a denial":                    {"operator", "scheduled", "denied", "dlq_replay_denied", "ana", nil, said{"decided_by": "ana", "replay_reason": "replay denied by ana"}},
		"the kernel's denial":         {s1, "scheduled", "denied", "dlq_replay_denied", "safety-kernel", said{"decided_by": "ana"}, said{"decided_by": "ana"}},
		"another policy":              {s1, "scheduled", "awaiting_approval", "dlq_policy_snapshot_mismatch", "replay-worker", said{"decided_by": "ana"}, said{"replay_snapshot": "b"}},
		"another policy for a person": {"operator", "pending_review", "pending_review", "dlq_policy_snapshot_mismatch", "ana", nil, said{"replay_snapshot": "b"}},
		"a replay":                    {s1, "scheduled", "replayed", "dlq_replayed", "replay-worker", nil, nil},
		"a person's own replay":       {"operator", "pending_review", "replayed", "dlq_replayed", "ana", nil, nil},
		"what is done already":        {s1, "scheduled", "already_committed", "dlq_already_committed", "replay-worker", nil, nil},
	} {
		for _, kind := range []string{x.kind, "dlq_growth_alert"} {
			s := newStory().dies(job1, "timeout").letter(s1, job1, "timeout", x.was, x.before).audited(job1, "dlq_triaged", "replay-worker")
			before := len(outcomeOf(s.judge(replaying), "every-replay-decision-is-audited").Violations)
			s.letter(x.node, job1, "timeout", x.is, x.more).audited(job1, kind, x.by)
			assert.Equal(t, kind == x.kind, len(outcomeOf(s.judge(replaying), "every-replay-decision-is-audited").Violations) == before, name)
		}
	}
}

func TestIsStep(t *testing.T) {
	for id, want := range map[string]bool{"run-1-a-1": true, "run-1-a-12": true, "run-1-a-0": false, "run-1-a": false, "run-1-a-1-replay-1": false, "comp-0123456789abcdef": false} {
		j := &model.Job{ID: id}
		j.Saga.Workflow = "run-1"
		assert.Equal(t, want, model.IsStep(j), id)
	}
}
