package kernel_test

import (
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	pb "github.com/wavetank-sim/wavetank/engine/safety/safetypb"
)

func serve(t *testing.T, text string) *kernel.Server {
	t.Helper()
	var p kernel.Policy
	require.NoError(t, yaml.Unmarshal([]byte(text), &p))
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
  - {job_id: job-9, sync: true, decision: REDACT, redacted_ptr: "{result_ptr}:redacted"}
`)
	for _, c := range []struct {
		req  *pb.CheckOutputRequest
		want pb.OutputDecision
		ptr  string
	}{
		{&pb.CheckOutputRequest{WithContent: true, Content: []byte("a secret")}, pb.OutputDecision_OUTPUT_QUARANTINE, ""},
		{&pb.CheckOutputRequest{WithContent: true, Content: []byte("nothing"), Topic: "job.raw"}, pb.OutputDecision_OUTPUT_ALLOW, ""},
		{&pb.CheckOutputRequest{Topic: "job.raw"}, pb.OutputDecision_OUTPUT_DENY, ""},
		{&pb.CheckOutputRequest{JobId: "job-9", ResultPtr: "res:job-9"}, pb.OutputDecision_OUTPUT_REDACT, "res:job-9:redacted"},
		{&pb.CheckOutputRequest{WithContent: true, JobId: "job-9"}, pb.OutputDecision_OUTPUT_ALLOW, ""},
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

// A rule that could not do what it seems to is refused.
func TestARuleIsRefused(t *testing.T) {
	constrained := func(labels string) kernel.Rule {
		return kernel.Rule{Decision: kernel.AllowWithConstraints, Constraints: labels}
	}
	for problem, p := range map[string]kernel.Policy{
		`default is "MAYBE"; one of ALLOW`:                         {Default: "MAYBE"},
		`default is "ALLOW_WITH_CONSTRAINTS"`:                      {Default: kernel.AllowWithConstraints},
		`rules[0].decision is ""; one of ALLOW`:                    {Rules: []kernel.Rule{{Topic: "a"}}},
		`rules[1].decision is "NOPE"`:                              {Rules: []kernel.Rule{{Decision: kernel.Deny}, {Decision: "NOPE"}}},
		`there are none`:                                           {Rules: []kernel.Rule{constrained("")}},
		`bind nobody`:                                              {Rules: []kernel.Rule{{Decision: kernel.Allow, Constraints: "placement.zone=eu"}}},
		`rules[0].constraints has "plcement.zone", which binds no`: {Rules: []kernel.Rule{constrained("placement.zone=eu,plcement.zone=eu")}},
		`rules[0].constraints has "zone", which binds no job`:      {Rules: []kernel.Rule{constrained("zone=eu")}},
		`rules[0].constraints has "node.", which binds no job`:     {Rules: []kernel.Rule{constrained("node.=eu")}},
		`has "preferred_pool" without a value`:                     {Rules: []kernel.Rule{constrained("preferred_pool=")}},
		`has the value "eu-*", and a constraint is no pattern`:     {Rules: []kernel.Rule{constrained("placement.zone=eu-*")}},
		`rules[0].labels has the entry "a"`:                        {Rules: []kernel.Rule{{Decision: kernel.Deny, Labels: "a"}}},
		`rules[0].labels has the entry "a=2"`:                      {Rules: []kernel.Rule{{Decision: kernel.Deny, Labels: "a=1,a=2"}}},
		`rules[0].labels names the label "a*"`:                     {Rules: []kernel.Rule{{Decision: kernel.Deny, Labels: "a*=1"}}},
		`rules[0].labels has the value "eu-[12]", where [ means`:   {Rules: []kernel.Rule{{Decision: kernel.Deny, Labels: "region=eu-[12]"}}},
		`rules[0].job_id is "[pq]*", where [ means nothing`:        {Rules: []kernel.Rule{{Decision: kernel.Deny, JobID: "[pq]*"}}},
		`rules[0].tenant is "t?", where ? means nothing`:           {Rules: []kernel.Rule{{Decision: kernel.Deny, Tenant: "t?"}}},
		`rules[0].topic is "job.>", where > means nothing`:         {Rules: []kernel.Rule{{Decision: kernel.Deny, Topic: "job.>"}}},
		`output[0].decision is "REQUIRE_APPROVAL"`:                 {Output: []kernel.OutputRule{{Decision: kernel.RequireApproval}}},
		`not to be seen`:                                           {Output: []kernel.OutputRule{{Decision: kernel.Deny, Sync: true, Content: "x"}}},
		`comes too late`:                                           {Output: []kernel.OutputRule{{Decision: kernel.Redact, RedactedPtr: "x"}}},
		`leads nowhere`:                                            {Output: []kernel.OutputRule{{Decision: kernel.Deny, RedactedPtr: "x"}}},
		`output[0].job_id is "a?"`:                                 {Output: []kernel.OutputRule{{Decision: kernel.Deny, JobID: "a?"}}},
	} {
		_, err := kernel.NewServer(p)
		assert.ErrorContains(t, err, problem)
	}
	for _, labels := range []string{"preferred_pool=gpu", "preferred_worker_id=worker-1", "placement.zone=eu", "constraint.gpu=", "node.arch=arm64"} {
		_, err := kernel.NewServer(kernel.Policy{Rules: []kernel.Rule{constrained(labels)}})
		assert.NoError(t, err)
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
