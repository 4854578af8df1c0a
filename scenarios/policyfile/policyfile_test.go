package policyfile

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

func TestAPolicyIsRead(t *testing.T) {
	p, err := Kernel("policy.yaml", []byte("default: DENY\nrules: [{topic: \"job.*\", decision: ALLOW}]\noutput: [{content: secret, decision: REDACT}]\n"))
	require.NoError(t, err)
	assert.Equal(t, kernel.Policy{
		Default: kernel.Deny,
		Rules:   []kernel.Rule{{Topic: "job.*", Decision: kernel.Allow}},
		Output:  []kernel.OutputRule{{Content: "secret", Decision: kernel.Redact}},
	}, p)
}

// Every refusal says where, what, and what would be right there.
func TestAPolicyIsReadStrictly(t *testing.T) {
	const constrained = "rules: [{decision: ALLOW_WITH_CONSTRAINTS, constraints: "
	for text, want := range map[string]string{
		"":                                     "policy.yaml: this is empty; a policy has at least a default such as ALLOW, or rules",
		"output: []":                           "policy.yaml: the policy says nothing; give rules, or at least a default such as ALLOW",
		"rule: []":                             `policy.yaml:1:1: unknown key "rule" in a policy (did you mean "rules"?); known are default, rules, output`,
		"- a":                                  "policy.yaml:1:1: a policy is not a mapping; give keys such as default, rules, output",
		"rules: 7":                             "policy.yaml:1:8: rules is not a list; write it as a list, each entry after a dash",
		"rules:\n\t- a":                        "policy.yaml:2:1: broken YAML: found character '\t' that cannot start any token; mend the syntax here or nearby",
		"default: \x00":                        "policy.yaml: this is not text; a policy is YAML in UTF-8",
		"default: A\n---\ndefault: B":          "policy.yaml:3:1: a second document begins here; a file holds one policy",
		"default: MAYBE":                       `policy.yaml:1:10: default is "MAYBE"; it must be ALLOW, REQUIRE_APPROVAL, DENY, THROTTLE or UNKNOWN`,
		"rules: [{tenants: a}]":                `policy.yaml:1:10: unknown key "tenants" in rules[0] (did you mean "tenant"?); known are topic, tenant, labels, job_id, decision, reason, constraints`,
		"output: [{labels: a}]":                `policy.yaml:1:11: unknown key "labels" in output[0]; known are topic, tenant, job_id, content, sync, decision, reason, redacted_ptr`,
		"rules: [{tenant: 7}]":                 `policy.yaml:1:18: rules[0].tenant is 7, which is not text; write "7", with quotes, if you mean it`,
		"rules: [{job_id: *x}]":                "policy.yaml:1:18: rules[0].job_id uses an anchor, an alias or a tag; a policy is plain YAML: write the value out, in quotes if it begins with * or &",
		"rules:\n- decision: DENY\n- topic: a": `policy.yaml:3:3: rules[1].decision is ""; one of ALLOW, ALLOW_WITH_CONSTRAINTS, REQUIRE_APPROVAL, DENY, THROTTLE, UNKNOWN`,
		constrained + `"plcement.zone=eu"}]`:   `policy.yaml:1:57: rules[0].constraints has "plcement.zone", which binds no job; known are preferred_pool, preferred_worker_id, placement.KEY, constraint.KEY and node.KEY (did you mean "placement.zone"?)`,
		constrained + `"preferred_pol=gpu"}]`:  `policy.yaml:1:57: rules[0].constraints has "preferred_pol", which binds no job; known are preferred_pool, preferred_worker_id, placement.KEY, constraint.KEY and node.KEY (did you mean "preferred_pool"?)`,
	} {
		_, err := Kernel("policy.yaml", []byte(text))
		var pe *strictyaml.Error
		if assert.True(t, errors.As(err, &pe), text) {
			assert.Equal(t, want, err.Error())
		}
	}
}
