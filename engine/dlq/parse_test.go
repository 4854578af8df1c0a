package dlq_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/faultline-sim/faultline/engine/dlq"
)

// documented is the policy of seed 004.
const documented = `version: v1
dlq_rules:
  - match:
      reason_code: max_scheduling_retries
    action: auto_replay
    max_replays: 2
    backoff: exponential_jitter
  - match:
      reason_code: schema_invalid
    action: quarantine
    owner: integration-team
  - match:
      reason_code: denied
    action: require_approval
    approver_group: platform-governance
  - match:
      reason_code: unknown_commit_state
    action: manual_review
`

func TestThePolicyOfTheSeed(t *testing.T) {
	p, err := dlq.ParsePolicy("triage.yaml", []byte(documented))
	require.NoError(t, err)
	assert.Equal(t, &dlq.Policy{Version: "v1", Rules: []dlq.Rule{
		{Match: dlq.Match{ReasonCode: "max_scheduling_retries"}, Action: dlq.AutoReplay, MaxReplays: 2, Backoff: dlq.ExponentialJitter},
		{Match: dlq.Match{ReasonCode: "schema_invalid"}, Action: dlq.Quarantine, Owner: "integration-team"},
		{Match: dlq.Match{ReasonCode: "denied"}, Action: dlq.RequireApproval, ApproverGroup: "platform-governance"},
		{Match: dlq.Match{ReasonCode: "unknown_commit_state"}, Action: dlq.ManualReview},
	}}, p)
}

func TestAPolicyIsReadAsAWholeOrNotAtAll(t *testing.T) {
	const head = "version: v1\ndlq_rules:\n"
	for _, c := range []struct{ text, want string }{
		{"", "t.yaml: this is empty; a triage policy has version: v1 and dlq_rules"},
		{"\x00", "t.yaml: this is not text; a triage policy is YAML in UTF-8"},
		{"- a\n", "t.yaml:1:1: a triage policy is not a mapping; give the keys version, dlq_rules"},
		{"version: v1\n", "t.yaml:1:1: a triage policy has no dlq_rules; add it"},
		{"dlq_rules: [{match: {reason_code: timeout}, action: auto_replay}]\n", "t.yaml:1:1: a triage policy has no version; add it"},
		{"version: v2\ndlq_rules: []\n", `t.yaml:1:10: version is "v2"; this build reads v1`},
		{"version: 1\n", "t.yaml:1:10: version is not a word; give plain text, such as platform-governance"},
		{"version: v1\nrules: []\n", `t.yaml:2:1: unknown key "rules" in a triage policy; known are version, dlq_rules`},
		{head + "  []\n", "t.yaml:3:3: dlq_rules is not a list of rules; write each rule after a dash, with match and action"},
		{head + "  - action: quarantine\n", "t.yaml:3:5: a rule has no match; add it"},
		{head + "  - match: {reason_code: timeout}\n", "t.yaml:3:5: a rule has no action; add it"},
		{head + "  - match: {}\n    action: quarantine\n", "t.yaml:3:12: match has no reason_code; add it"},
		{head + "  - match: {reason_code: timeout, topic: x}\n    action: quarantine\n", `t.yaml:3:35: unknown key "topic" in match; known are reason_code`},
		{head + "  - match: {reason_code: time_out}\n    action: quarantine\n", `t.yaml:3:26: reason_code is "time_out"; one of timeout, dependency_unavailable, no_workers, max_scheduling_retries, pool_overloaded, stale_worker, tenant_limit, schema_invalid, parse_error, tool_contract_mismatch, no_pool_mapping, saga_unmarshal_failed, denied, approval_required, policy_snapshot_mismatch, safety_denied, partial_external_write, unknown_commit_state, dispatch_failed, output_quarantined, output_denied`},
		{head + "  - match: {reason_code: timeout}\n    action: replay\n", `t.yaml:4:13: action is "replay"; one of auto_replay, quarantine, require_approval, manual_review`},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    max_replay: 2\n", `t.yaml:5:5: unknown key "max_replay" in a rule; known are match, action, max_replays, backoff, owner, approver_group`},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    max_replays: 0\n", "t.yaml:5:18: max_replays is 0; give a whole number from 1 to 10"},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    max_replays: two\n", "t.yaml:5:18: max_replays is two; give a whole number from 1 to 10"},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    backoff: linear\n", `t.yaml:5:14: backoff is "linear"; the only one is exponential_jitter`},
		{head + "  - match: {reason_code: timeout}\n    action: quarantine\n    max_replays: 2\n", "t.yaml:5:18: max_replays means nothing with action quarantine; leave it out, or make the action auto_replay or require_approval"},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    approver_group: g\n", "t.yaml:5:21: approver_group means nothing with action auto_replay; leave it out, or make the action require_approval"},
		{head + "  - match: {reason_code: timeout}\n    action: quarantine\n    owner: ''\n", "t.yaml:5:12: owner is empty; give it a value, or leave the key out"},
		{head + "  - match: {reason_code: timeout}\n    action: quarantine\n  - match: {reason_code: timeout}\n    action: auto_replay\n", "t.yaml:5:5: rule 2 is never reached: rule 1 matches reason_code timeout already; take one of the two away"},
		{documented + "---\nversion: v1\n", "t.yaml:20:1: a second document begins here; a file holds one triage policy"},
		{head + "  - match: &a {reason_code: timeout}\n    action: quarantine\n", "t.yaml:3:12: match is not a mapping; give the keys reason_code"},
		{"version: [v1\n", ""},
	} {
		p, err := dlq.ParsePolicy("t.yaml", []byte(c.text))
		assert.Nil(t, p, c.text)
		var pe *dlq.PolicyError
		require.ErrorAs(t, err, &pe, c.text)
		if c.want != "" {
			assert.Equal(t, c.want, err.Error())
		}
	}
}

func TestDecide(t *testing.T) {
	p, err := dlq.ParsePolicy("triage.yaml", []byte(documented))
	require.NoError(t, err)
	for _, c := range []struct {
		policy *dlq.Policy
		entry  dlq.Entry
		action dlq.Action
		rule   int
		class  string
	}{
		{p, dlq.Entry{Status: "FAILED", ReasonCode: "max_scheduling_retries"}, dlq.AutoReplay, 1, "transient_infrastructure"},
		{p, dlq.Entry{Status: "FAILED", ReasonCode: "schema_invalid"}, dlq.Quarantine, 2, "poison_payload"},
		{p, dlq.Entry{Status: "DENIED", ReasonCode: "denied"}, dlq.RequireApproval, 3, "policy_and_governance"},
		{p, dlq.Entry{Status: "FAILED", ReasonCode: "unknown_commit_state"}, dlq.ManualReview, 4, "unknown_commit_state"},
		{p, dlq.Entry{Status: "FAILED", ReasonCode: "dependency_unavailable"}, dlq.AutoReplay, 0, "transient_infrastructure"},
		{nil, dlq.Entry{Status: "FAILED", ReasonCode: "tool_contract_mismatch"}, dlq.Quarantine, 0, "poison_payload"},
		{nil, dlq.Entry{Status: "DENIED", ReasonCode: "safety_denied"}, dlq.RequireApproval, 0, "policy_and_governance"},
		{nil, dlq.Entry{Status: "FAILED", ReasonCode: "dispatch_failed"}, dlq.ManualReview, 0, "unknown_commit_state"},
		{nil, dlq.Entry{Status: "FAILED", ReasonCode: "the worker's own word"}, dlq.ManualReview, 0, "unclassified"},
		{nil, dlq.Entry{Status: "OUTPUT_QUARANTINED", ReasonCode: "output_quarantined"}, dlq.ManualReview, 0, "blocked_output"},
		{nil, dlq.Entry{Status: "OUTPUT_QUARANTINED", ReasonCode: "output_denied"}, dlq.ManualReview, 0, "blocked_output"},
		{p, dlq.Entry{Status: dlq.StatusTerminated, ReasonCode: "max_scheduling_retries"}, dlq.Quarantine, 0, "transient_infrastructure"},
	} {
		got := c.policy.Decide(&c.entry)
		assert.Equal(t, c.action, got.Action, c.entry)
		assert.Equal(t, c.rule, got.Rule, c.entry)
		assert.Equal(t, c.class, got.Class, c.entry)
		assert.NotEmpty(t, got.Why)
	}
}

func TestAReasonCodeIsOfOneClass(t *testing.T) {
	seen := map[string]bool{}
	for _, code := range dlq.ReasonCodes() {
		assert.False(t, seen[code], code)
		seen[code] = true
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(documented))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := dlq.ParsePolicy("f", data)
		if err == nil {
			require.NotEmpty(t, p.Rules)
		} else {
			require.Nil(t, p)
		}
	})
}
