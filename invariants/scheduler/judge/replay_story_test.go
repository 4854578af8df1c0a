package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
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
