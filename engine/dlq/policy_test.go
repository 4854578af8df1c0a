package dlq_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/dlq"
)

// documented is the policy of Dead letters.
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

func policy(t *testing.T, text string) *dlq.Policy {
	t.Helper()
	p := &dlq.Policy{}
	require.NoError(t, yaml.Unmarshal([]byte(text), p))
	return p
}

func TestThePolicyOfTheSeed(t *testing.T) {
	p := policy(t, documented)
	require.Nil(t, p.Validate())
	assert.Equal(t, &dlq.Policy{Version: "v1", Rules: []dlq.Rule{
		{Match: dlq.Match{ReasonCode: "max_scheduling_retries"}, Action: dlq.AutoReplay, MaxReplays: 2, Backoff: dlq.ExponentialJitter},
		{Match: dlq.Match{ReasonCode: "schema_invalid"}, Action: dlq.Quarantine, Owner: "integration-team"},
		{Match: dlq.Match{ReasonCode: "denied"}, Action: dlq.RequireApproval, ApproverGroup: "platform-governance"},
		{Match: dlq.Match{ReasonCode: "unknown_commit_state"}, Action: dlq.ManualReview},
	}}, p)
}

func TestAPolicySaysWhatIsWrong(t *testing.T) {
	const codes = "timeout, dependency_unavailable, no_workers, max_scheduling_retries, pool_overloaded, stale_worker, tenant_limit, schema_invalid, parse_error, tool_contract_mismatch, no_pool_mapping, saga_unmarshal_failed, denied, approval_required, policy_snapshot_mismatch, safety_denied, partial_external_write, unknown_commit_state, dispatch_failed, output_quarantined, output_denied"
	const head = "version: v1\ndlq_rules:\n  - {match: {reason_code: timeout}, action: "
	for text, want := range map[string]string{
		"{}":           "version is missing; add version: v1",
		"version: v2":  `version is "v2"; this build reads v1`,
		"version: v10": `version is "v10"; this build reads v1`,
		"version: v1":  "dlq_rules has no rule; write each rule after a dash, with match and action",
		"version: v1\ndlq_rules: [{action: quarantine}]":                                 "dlq_rules[0].match.reason_code is missing; add it: one of " + codes,
		"version: v1\ndlq_rules: [{match: {reason_code: time_out}, action: quarantine}]": `dlq_rules[0].match.reason_code is "time_out"; one of ` + codes,
		head + "}":                                              "dlq_rules[0].action is missing; add it: one of auto_replay, quarantine, require_approval, manual_review",
		head + "replay}":                                        `dlq_rules[0].action is "replay"; one of auto_replay, quarantine, require_approval, manual_review`,
		head + "auto_replay, max_replays: 11}":                  "dlq_rules[0].max_replays is 11; give 1 to 10",
		head + "auto_replay, backoff: linear}":                  `dlq_rules[0].backoff is "linear"; the only one is exponential_jitter`,
		head + "quarantine, owner: '  '}":                       "dlq_rules[0].owner is blank; give a name, or leave it out",
		head + "quarantine, max_replays: 2}":                    "dlq_rules[0].max_replays means nothing with action quarantine; leave it out, or make the action auto_replay or require_approval",
		head + "require_approval, backoff: exponential_jitter}": "dlq_rules[0].backoff means nothing with action require_approval; leave it out, or make the action auto_replay",
		head + "auto_replay, approver_group: g}":                "dlq_rules[0].approver_group means nothing with action auto_replay; leave it out, or make the action require_approval",
		head + "quarantine}\n  - {match: {reason_code: timeout}, action: auto_replay}": "dlq_rules[1] is never reached: dlq_rules[0] matches reason_code timeout already; take one of the two away",
	} {
		e := policy(t, text).Validate()
		if assert.NotNil(t, e, text) {
			assert.Equal(t, want, e.Error())
		}
	}
}

func TestDecide(t *testing.T) {
	p := policy(t, documented)
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
		{policy(t, "version: v1\ndlq_rules:\n  - {match: {reason_code: timeout}, action: quarantine}\n"), dlq.Entry{Status: "FAILED", ReasonCode: "timeout"}, dlq.Quarantine, 1, "transient_infrastructure"},
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

func TestARuleMayBeAboutALastCause(t *testing.T) {
	max := func(cause string) dlq.Entry {
		return dlq.Entry{Status: "FAILED", ReasonCode: "max_scheduling_retries", LastCause: cause}
	}
	rules := []dlq.Rule{
		{Match: dlq.Match{ReasonCode: "max_scheduling_retries", LastCause: "no_workers"}, Action: dlq.ManualReview},
		{Match: dlq.Match{ReasonCode: "max_scheduling_retries"}, Action: dlq.AutoReplay},
	}
	p := &dlq.Policy{Version: "v1", Rules: rules}
	require.Nil(t, p.Validate())
	for cause, rule := range map[string]int{"no_workers": 1, "tenant_limit": 2, "": 2} {
		e := max(cause)
		assert.Equal(t, rule, p.Decide(&e).Rule, cause)
	}
	e := max("no_workers")
	assert.Equal(t, "Rule 1 of the policy matches reason_code max_scheduling_retries and last_cause no_workers.", p.Decide(&e).Why)

	for want, match := range map[string]dlq.Match{
		"dlq_rules[0].match.last_cause means nothing with reason_code timeout; leave it out, or make the reason_code max_scheduling_retries": {ReasonCode: "timeout", LastCause: "no_workers"},
		`dlq_rules[0].match.last_cause is "bad luck"; one of no_workers, stale_worker, pool_overloaded, tenant_limit, dispatch_failed`:       {ReasonCode: "max_scheduling_retries", LastCause: "bad luck"},
	} {
		assert.EqualError(t, (&dlq.Policy{Version: "v1", Rules: []dlq.Rule{{Match: match, Action: dlq.ManualReview}}}).Validate(), want)
	}
	rules[0], rules[1] = rules[1], rules[0]
	assert.ErrorContains(t, p.Validate(), "dlq_rules[1] is never reached: dlq_rules[0] matches reason_code max_scheduling_retries already")
}

func TestAReasonCodeIsOfOneClass(t *testing.T) {
	seen := map[string]bool{}
	for _, code := range dlq.ReasonCodes() {
		assert.False(t, seen[code], code)
		seen[code] = true
	}
}

// The classes that Dead letters has, and the signals of each, are those of its table.
func TestTheClassesOfTheSeed(t *testing.T) {
	text, err := os.ReadFile("../SPECIFICATION.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "### Failure triage model")
	table, _, _ = strings.Cut(table, "\n#")
	signals := 0
	for _, row := range regexp.MustCompile("(?m)^\\| ([A-Z][a-z ]+) \\| (`.*`) \\|").FindAllStringSubmatch(table, -1) {
		class := strings.ReplaceAll(strings.ToLower(row[1]), " ", "_")
		for signal := range strings.SplitSeq(row[2], ", ") {
			assert.Equal(t, class, dlq.ClassOf(strings.Trim(signal, "`")).Name, signal)
			signals++
		}
	}
	assert.Equal(t, 11, signals)
}

// What another policy decides on is for who was to decide on the failure, unless a rule says for whom.
func TestAMismatchIsForWhoWasToDecide(t *testing.T) {
	p := &dlq.Policy{Version: "v1", Rules: []dlq.Rule{
		{Match: dlq.Match{ReasonCode: "partial_external_write"}, Action: dlq.RequireApproval, Owner: "payments", ApproverGroup: "governance"},
		{Match: dlq.Match{ReasonCode: "schema_invalid"}, Action: dlq.Quarantine, Owner: "integration"},
		{Match: dlq.Match{ReasonCode: "no_workers"}, Action: dlq.RequireApproval, ApproverGroup: "capacity"},
		{Match: dlq.Match{ReasonCode: "timeout"}, Action: dlq.AutoReplay, MaxReplays: 2},
	}}
	for code, group := range map[string]string{"partial_external_write": "governance", "schema_invalid": "integration", "unknown_commit_state": "", "no_workers": "capacity"} {
		d := p.Decide(&dlq.Entry{Status: "FAILED", ReasonCode: code, Mismatch: "sha256:b"})
		assert.Equal(t, dlq.RequireApproval, d.Action, code)
		assert.Equal(t, group, d.ApproverGroup, code)
	}
	for code, n := range map[string]int{"timeout": 2, "dependency_unavailable": 0} {
		d := p.Decide(&dlq.Entry{Status: "FAILED", ReasonCode: code, Mismatch: "sha256:b"})
		assert.Equal(t, dlq.AutoReplay, d.Action, "%s would have been replayed by itself", code)
		assert.Equal(t, n, d.MaxReplays, code)
	}
	d := p.Decide(&dlq.Entry{Status: "FAILED", ReasonCode: "dependency_unavailable", Fatal: true, Mismatch: "sha256:b"})
	assert.Equal(t, dlq.RequireApproval, d.Action, "its worker called the failure final")
}
