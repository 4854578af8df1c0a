package policyfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

const triagePolicy = `version: v1
dlq_rules:
  - match: {reason_code: timeout}
    action: auto_replay
    max_replays: 2
`

func TestATriagePolicyIsRead(t *testing.T) {
	p, err := Triage("t.yaml", []byte(triagePolicy))
	require.NoError(t, err)
	assert.Equal(t, &dlq.Policy{Version: "v1", Rules: []dlq.Rule{{Match: dlq.Match{ReasonCode: "timeout"}, Action: dlq.AutoReplay, MaxReplays: 2}}}, p)
}

// It is read as a whole or not at all.
func TestATriagePolicyIsReadStrictly(t *testing.T) {
	codes := strings.Join(dlq.ReasonCodes(), ", ")
	const head = "version: v1\ndlq_rules:\n"
	for _, c := range []struct{ text, want string }{
		{"", "t.yaml: this is empty; a triage policy has at least version: v1 and dlq_rules"},
		{"\x00", "t.yaml: this is not text; a triage policy is YAML in UTF-8"},
		{"- a\n", "t.yaml:1:1: a triage policy is not a mapping; give keys such as version, dlq_rules"},
		{"version: v1\n", "t.yaml: dlq_rules has no rule; write each rule after a dash, with match and action"},
		{"dlq_rules: [{match: {reason_code: timeout}, action: auto_replay}]\n", "t.yaml: version is missing; add version: v1"},
		{"version: v2\ndlq_rules: []\n", `t.yaml:1:10: version is "v2"; this build reads v1`},
		{"version: 1\n", `t.yaml:1:10: version is 1, which is not text; write "1", with quotes, if you mean it`},
		{"version: v1\nrules: []\n", `t.yaml:2:1: unknown key "rules" in a triage policy; known are version, dlq_rules`},
		{head + "  []\n", "t.yaml:3:3: dlq_rules has no rule; write each rule after a dash, with match and action"},
		{head + "  - action: quarantine\n", "t.yaml:3:5: dlq_rules[0].match.reason_code is missing; add it: one of " + codes},
		{head + "  - match: {reason_code: timeout}\n", "t.yaml:3:5: dlq_rules[0].action is missing; add it: one of auto_replay, quarantine, require_approval, manual_review"},
		{head + "  - match: {}\n    action: quarantine\n", "t.yaml:3:12: dlq_rules[0].match.reason_code is missing; add it: one of " + codes},
		{head + "  - match: {reason_code: timeout, topic: x}\n    action: quarantine\n", `t.yaml:3:35: unknown key "topic" in dlq_rules[0].match; known are reason_code, last_cause`},
		{head + "  - match: {reason_code: time_out}\n    action: quarantine\n", `t.yaml:3:26: dlq_rules[0].match.reason_code is "time_out"; one of ` + codes + ` (did you mean "timeout"?)`},
		{head + "  - match: {reason_code: timeout}\n    action: replay\n", `t.yaml:4:13: dlq_rules[0].action is "replay"; it must be auto_replay, quarantine, require_approval or manual_review`},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    max_replay: 2\n", `t.yaml:5:5: unknown key "max_replay" in dlq_rules[0] (did you mean "max_replays"?); known are match, action, max_replays, backoff, owner, approver_group`},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    max_replays: 0\n", "t.yaml:5:18: dlq_rules[0].max_replays is 0, out of range; give 1 to 10"},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    max_replays: two\n", `t.yaml:5:18: dlq_rules[0].max_replays is "two", not an integer; give 1 to 10`},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    backoff: linear\n", `t.yaml:5:14: dlq_rules[0].backoff is "linear"; the only one is exponential_jitter`},
		{head + "  - match: {reason_code: timeout}\n    action: quarantine\n    max_replays: 2\n", "t.yaml:5:18: dlq_rules[0].max_replays means nothing with action quarantine; leave it out, or make the action auto_replay or require_approval"},
		{head + "  - match: {reason_code: timeout}\n    action: auto_replay\n    approver_group: g\n", "t.yaml:5:21: dlq_rules[0].approver_group means nothing with action auto_replay; leave it out, or make the action require_approval"},
		{head + "  - match: {reason_code: timeout}\n    action: quarantine\n    owner: '  '\n", "t.yaml:5:12: dlq_rules[0].owner is blank; give a name, or leave it out"},
		{head + "  - match: {reason_code: timeout}\n    action: require_approval\n    approver_group: ''\n", "t.yaml:5:21: dlq_rules[0].approver_group is empty; give it a value, or leave the key out"},
		{head + "  - match: {reason_code: timeout}\n    action: quarantine\n  - match: {reason_code: timeout}\n    action: auto_replay\n", "t.yaml:5:5: dlq_rules[1] is never reached: dlq_rules[0] matches reason_code timeout already; take one of the two away"},
		{triagePolicy + "---\nversion: v1\n", "t.yaml:7:1: a second document begins here; a file holds one triage policy"},
		{head + "  - match: &a {reason_code: timeout}\n    action: quarantine\n", "t.yaml:3:12: dlq_rules[0].match uses an anchor, an alias or a tag; a triage policy is plain YAML: write the value out, in quotes if it begins with * or &"},
		{"version: [v1\n", "t.yaml:1:10: broken YAML: sequence end token ']' not found; mend the syntax here or nearby"},
	} {
		p, err := Triage("t.yaml", []byte(c.text))
		assert.Nil(t, p, c.text)
		var pe *strictyaml.Error
		require.ErrorAs(t, err, &pe, c.text)
		assert.Equal(t, c.want, err.Error())
	}
}

func FuzzTriage(f *testing.F) {
	f.Add([]byte(triagePolicy))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Triage("f", data)
		if err == nil {
			require.NotEmpty(t, p.Rules)
		} else {
			require.Nil(t, p)
		}
	})
}
