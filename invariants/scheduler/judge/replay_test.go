package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/sim"
)

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
