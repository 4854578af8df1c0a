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

// byOperator is a decision of the operator.
var byOperator = map[string]any{"action": "require_approval", "decided_by": "operator"}

// operated is replaying with something for the operator to do about job-1, who is of the groups, if any are named.
func operated(errand string, groups ...string) config.Config {
	c := replaying
	c.Replay.Rules = []config.ReplayRule{{ReasonCode: "denied", Action: "require_approval", Approvers: "gov", Owner: "other"}}
	c.Replay.Errands, c.Replay.Mended, c.Replay.Denied = map[string][]string{job1: {errand}}, `{"mended":true}`, "not to be done"
	if len(groups) > 0 {
		c.Replay.Operators = map[string][]string{job1: groups}
	}
	return c
}

// awaits is a job whose dead letter waits for its approval.
func (s *story) awaits(job string) *story {
	return s.waitsFor(job, "awaiting_approval", "require_approval")
}

// waitsFor is a job whose dead letter triage has left so.
func (s *story) waitsFor(job, status, action string) *story {
	return s.dies(job, "denied").letter(s1, job, "denied", status, map[string]any{"action": action})
}

// refuses notes that somebody may not decide on a job's dead letter.
func (s *story) refuses(job, by string) *story {
	return s.add("operator", sim.KindRedis, "multi", history.AuditKey, job, "dlq_update").audited(job, "dlq_refused", by)
}

func TestPeoplesDecisions(t *testing.T) {
	decides := func(s *story, status, kind, reason string, more map[string]any) {
		all := map[string]any{"action": "require_approval", "decided_by": "operator"}
		for k, v := range more {
			all[k] = v
		}
		s.visits("operator", job1).letter("operator", job1, "denied", status, all).audits(`{"kind":"` + kind + `","job_id":"job-1","by":"operator","reason":"` + reason + `"}`)
	}
	again := func(s *story) { s.visits("operator", job1).visits("operator", job1) }
	for name, c := range map[string]struct {
		cfg  config.Config
		tell func(*story)
		of   string // decision-is-taken, unless it says something else
		says string // "" if nothing is broken
	}{
		"no ask of what waits for an approval": {operated("ask_replay"), func(s *story) { again(s.awaits(job1)) }, "", ""},
		"no ask of what is to be replayed":     {operated("ask_replay"), func(s *story) { again(s.waitsFor(job1, "scheduled", "auto_replay")) }, "", "nothing has come of ask_replay"},
		"no look by a person":                  {operated("ask_replay"), func(s *story) { again(s.waitsFor(job1, "pending_review", "manual_review")) }, "", "nothing has come of ask_replay"},
		"nothing mended":                       {operated("mend_replay"), func(s *story) { again(s.waitsFor(job1, "quarantined", "quarantine")) }, "", "nothing has come of mend_replay"},
		"no denial of what is to be replayed":  {operated("deny_replay"), func(s *story) { again(s.waitsFor(job1, "scheduled", "auto_replay")) }, "", "nothing has come of deny_replay"},
		"no denial of what is denied":          {operated("deny_replay"), func(s *story) { again(s.waitsFor(job1, "denied", "auto_replay")) }, "", ""},
		"no approval by an outsider":           {operated("approve_replay", "interns"), func(s *story) { again(s.awaits(job1)) }, "", ""},
		"no approval by one of the group":      {operated("approve_replay", "gov"), func(s *story) { again(s.awaits(job1)) }, "", "nothing has come of approve_replay"},
		"before triage":                        {operated("approve_replay"), func(s *story) { again(s.dies(job1, "denied")) }, "", ""},
		"a look that failed":                   {operated("approve_replay"), func(s *story) { s.awaits(job1).visits("operator", job1).fails().visits("operator", job1) }, "", "looked at it at step 15"},
		"a failure after the look":             {operated("approve_replay"), func(s *story) { s.awaits(job1).visits("operator", job1).op("operator", job1, "dlq_update").fails() }, "", ""},
		"a change after the look": {operated("approve_replay"), func(s *story) {
			s.awaits(job1).visits("operator", job1).waitsFor(job1, "awaiting_approval", "require_approval")
		}, "", ""},
		"another process": {operated("approve_replay"), func(s *story) {
			s.awaits(job1).visits("operator", job1).control("restart", "operator").op("operator", job2, "dlq_entry_read")
		}, "", ""},
		"mended with its payload": {operated("mend_replay"), func(s *story) {
			decides(s.awaits(job1), "scheduled", "dlq_mended", "", map[string]any{"payload": `{"mended":true}`})
		}, "", ""},
		"mended with another": {operated("mend_replay"), func(s *story) {
			decides(s.awaits(job1), "scheduled", "dlq_mended", "", map[string]any{"payload": `{}`})
		}, "", `with the payload "{}", and the operator gave "{\"mended\":true}"`},
		"denied with its reason": {operated("deny_replay"), func(s *story) {
			decides(s.awaits(job1), "denied", "dlq_replay_denied", "not to be done", map[string]any{"replay_reason": "no: not to be done"})
		}, "", ""},
		"denied without its reason": {operated("deny_replay"), func(s *story) { decides(s.awaits(job1), "denied", "dlq_replay_denied", "", nil) }, "", `for the reason "" (""), and the operator said "not to be done"`},
		"approved, and due at once": {operated("approve_replay"), func(s *story) {
			decides(s.awaits(job1), "scheduled", "dlq_replay_approved", "", map[string]any{"next_replay_at": s.at.Milliseconds()})
		}, "", ""},
		"approved, and due later": {operated("approve_replay"), func(s *story) {
			decides(s.awaits(job1), "scheduled", "dlq_replay_approved", "", map[string]any{"next_replay_at": (s.at + time.Minute).Milliseconds()})
		}, "", "its replay is due at 1m"},
		"an outsider is refused twice": {operated("approve_replay", "interns"), func(s *story) {
			s.awaits(job1).visits("operator", job1).refuses(job1, "operator").refuses(job1, "operator")
		}, "refusal-is-audited", "a second refusal, at step 16, of the look at its dead letter at step 14"},
		"an outsider is refused at each look": {operated("approve_replay", "interns"), func(s *story) {
			s.awaits(job1).visits("operator", job1).refuses(job1, "operator").fails().visits("operator", job1).refuses(job1, "operator")
		}, "refusal-is-audited", ""},
		"somebody else is refused":                {operated("approve_replay", "interns"), func(s *story) { s.awaits(job1).visits("operator", job1).refuses(job1, "nobody") }, "refusal-is-audited", `that "nobody" was refused, and that was operator`},
		"one of the group is refused":             {operated("approve_replay", "gov"), func(s *story) { s.awaits(job1).visits("operator", job1).refuses(job1, "operator") }, "refusal-is-audited", "the operator was refused at step 15, who is of the right group"},
		"one of every group is refused":           {operated("approve_replay"), func(s *story) { s.awaits(job1).visits("operator", job1).refuses(job1, "operator") }, "refusal-is-audited", "the operator was refused at step 15, who is of the right group"},
		"one of the owners is refused to approve": {operated("approve_replay", "other"), func(s *story) { s.awaits(job1).visits("operator", job1).refuses(job1, "operator") }, "refusal-is-audited", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			if c.of == "" {
				c.of = "decision-is-taken"
			}
			var says []string
			for _, v := range outcomeOf(s.judge(c.cfg), c.of).Violations {
				says = append(says, v.Message)
			}
			if c.says == "" {
				assert.Empty(t, says)
			}
			assert.Contains(t, strings.Join(says, "\n"), c.says)
		})
	}
}
