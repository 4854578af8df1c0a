package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/faultline-sim/faultline/engine/safety/kernel"
	pb "github.com/faultline-sim/faultline/engine/safety/safetypb"
)

func serve(t *testing.T, text string) *kernel.Server {
	t.Helper()
	p, err := kernel.Parse("policy.yaml", []byte(text))
	require.NoError(t, err)
	s, err := kernel.NewServer(p)
	require.NoError(t, err)
	return s
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	s := serve(t, `
default: DENY
rules:
  - {tenant: guest, topic: "job.*", decision: DENY, reason: guests run nothing}
  - {labels: "tier=gold,region=eu-*", decision: ALLOW_WITH_CONSTRAINTS, constraints: "placement.zone=eu"}
  - {job_id: "batch-*-nightly", decision: REQUIRE_APPROVAL}
  - {topic: job.slow, decision: THROTTLE}
  - {topic: "job.*", decision: ALLOW}
`)
	for _, c := range []struct {
		req  *pb.CheckRequest
		want pb.Decision
	}{
		{&pb.CheckRequest{Tenant: "guest", Topic: "job.default"}, pb.Decision_DENY},
		{&pb.CheckRequest{Tenant: "guest", Topic: "other"}, pb.Decision_DENY},
		{&pb.CheckRequest{Labels: map[string]string{"tier": "gold", "region": "eu-1"}}, pb.Decision_ALLOW_WITH_CONSTRAINTS},
		{&pb.CheckRequest{Topic: "job.default", Labels: map[string]string{"tier": "gold"}}, pb.Decision_ALLOW},
		{&pb.CheckRequest{JobId: "batch-7-nightly"}, pb.Decision_REQUIRE_APPROVAL},
		{&pb.CheckRequest{JobId: "batch-7-daily", Topic: "job.slow"}, pb.Decision_THROTTLE},
		{&pb.CheckRequest{Topic: "elsewhere"}, pb.Decision_DENY},
	} {
		got, err := s.Check(t.Context(), c.req)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.GetDecision(), c.req)
		assert.Regexp(t, "^sha256:[0-9a-f]{64}$", got.GetPolicySnapshot())
		if c.want == pb.Decision_ALLOW_WITH_CONSTRAINTS {
			assert.Equal(t, map[string]string{"placement.zone": "eu"}, got.GetConstraints())
		}
	}
}

func TestOutputRulesSeeMetadataOrContent(t *testing.T) {
	s := serve(t, `
output:
  - {content: secret, decision: QUARANTINE, reason: it holds a secret}
  - {topic: job.raw, sync: true, decision: DENY}
  - {job_id: job-9, decision: REDACT, redacted_ptr: "{result_ptr}:redacted"}
`)
	for _, c := range []struct {
		req  *pb.CheckOutputRequest
		want pb.OutputDecision
		ptr  string
	}{
		{&pb.CheckOutputRequest{WithContent: true, Content: []byte("a secret")}, pb.OutputDecision_OUTPUT_QUARANTINE, ""},
		{&pb.CheckOutputRequest{WithContent: true, Content: []byte("nothing"), Topic: "job.raw"}, pb.OutputDecision_OUTPUT_ALLOW, ""},
		{&pb.CheckOutputRequest{Topic: "job.raw"}, pb.OutputDecision_OUTPUT_DENY, ""},
		{&pb.CheckOutputRequest{WithContent: true, JobId: "job-9", ResultPtr: "res:job-9"}, pb.OutputDecision_OUTPUT_REDACT, "res:job-9:redacted"},
		{&pb.CheckOutputRequest{JobId: "job-9"}, pb.OutputDecision_OUTPUT_ALLOW, ""},
	} {
		got, err := s.CheckOutput(t.Context(), c.req)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.GetDecision(), c.req)
		assert.Equal(t, c.ptr, got.GetRedactedPtr())
	}
}

func TestAnotherPolicyCountsAtOnce(t *testing.T) {
	s := serve(t, "default: ALLOW")
	before, err := s.Check(t.Context(), &pb.CheckRequest{})
	require.NoError(t, err)
	require.NoError(t, s.Set(kernel.Policy{Default: kernel.Deny}))
	after, err := s.Check(t.Context(), &pb.CheckRequest{})
	require.NoError(t, err)
	assert.Equal(t, pb.Decision_DENY, after.GetDecision())
	assert.NotEqual(t, before.GetPolicySnapshot(), after.GetPolicySnapshot())
	require.Error(t, s.Set(kernel.Policy{Default: "PERHAPS"}))
	again, err := s.Check(t.Context(), &pb.CheckRequest{})
	require.NoError(t, err)
	assert.Equal(t, pb.Decision_DENY, again.GetDecision(), "a policy that makes no sense changes nothing")
}

func TestAPolicyIsReadStrictly(t *testing.T) {
	for text, problem := range map[string]string{
		"":                                   "policy.yaml: this is empty",
		"rules: [{topic: a, verdikt: DENY}]": `policy.yaml:1:20: unknown field "verdikt"`,
		"default: MAYBE":                     `policy.yaml:1:10: default is "MAYBE"; one of ALLOW`,
		"default: ALLOW_WITH_CONSTRAINTS":    "default is",
		"rules: [{topic: a}]":                `rules[0].decision is ""; one of ALLOW`,
		"rules:\n- decision: DENY\n- {topic: a,\n   decision: NOPE}": `policy.yaml:4:14: rules[1].decision is "NOPE"; one of ALLOW`,
		"rules:\n- decision: DENY\n- topic: a":                       `policy.yaml:3:`,
		"rules: [{decision: ALLOW_WITH_CONSTRAINTS}]":                "there are none",
		"rules: [{decision: ALLOW, constraints: a=b}]":               "bind nobody",
		"rules: [{decision: ALLOW, labels: a}]":                      "rules[0].labels has the entry",
		"rules: [{decision: ALLOW, labels: 'a=1,a=2'}]":              "rules[0].labels has the entry",
		"output: [{decision: REQUIRE_APPROVAL}]":                     "output[0].decision",
		"output: [{decision: DENY, sync: true, content: x}]":         "not to be seen",
		"output: [{decision: DENY, redacted_ptr: x}]":                "leads nowhere",
		"rules: [{decision: DENY, decision: ALLOW}]":                 "policy.yaml:1:",
		"default: ALLOW\n---\ndefault: DENY":                         "second document",
		"rules: {":                                                   "policy.yaml:1:",
		"rules: 7":                                                   "policy.yaml:1:",
	} {
		_, err := kernel.Parse("policy.yaml", []byte(text))
		require.Error(t, err, text)
		assert.ErrorContains(t, err, problem, text)
	}
}

func TestAStarIsAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.StringMatching("[ab.-]*").Draw(t, "a"), rapid.StringMatching("[ab.-]*").Draw(t, "b"), rapid.StringMatching("[ab.-]+").Draw(t, "c")
		s, err := kernel.NewServer(kernel.Policy{Rules: []kernel.Rule{{JobID: a + "*" + b + "*" + c, Decision: kernel.Deny}}})
		require.NoError(t, err)
		fill := rapid.StringMatching("[ab.-]*")
		id := a + fill.Draw(t, "x") + b + fill.Draw(t, "y") + c
		got, err := s.Check(t.Context(), &pb.CheckRequest{JobId: id})
		require.NoError(t, err)
		assert.Equal(t, pb.Decision_DENY, got.GetDecision())
		got, err = s.Check(t.Context(), &pb.CheckRequest{JobId: id + "!"})
		require.NoError(t, err)
		assert.Equal(t, pb.Decision_ALLOW, got.GetDecision())
	})
}
