package plans

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
)

const withKernel = `name: asked
kernel:
  rules:
    - {job_id: job-2, decision: DENY, reason: no}
    - {labels: "tier=gold", decision: ALLOW_WITH_CONSTRAINTS, constraints: "preferred_worker_id=worker-3"}
  output: [{content: secret, decision: QUARANTINE}]
  then:
    - {at: 1m, rules: [{topic: "job.*", decision: DENY}]}
`

func TestAKernelIsPartOfAPlan(t *testing.T) {
	p, err := Parse("asked.yaml", []byte(withKernel))
	require.NoError(t, err)
	want := Kernel{
		Default: "ALLOW",
		Rules: []kernel.Rule{
			{JobID: "job-2", Decision: "DENY", Reason: "no"},
			{Labels: "tier=gold", Decision: "ALLOW_WITH_CONSTRAINTS", Constraints: "preferred_worker_id=worker-3"},
		},
		Output: []kernel.OutputRule{{Content: "secret", Decision: "QUARANTINE"}},
		Then:   []KernelChange{{At: time.Minute, Rules: []kernel.Rule{{Topic: "job.*", Decision: "DENY"}}}},
	}
	assert.Equal(t, want, p.Kernel)
	text, err := Marshal(p)
	require.NoError(t, err)
	again, err := Parse("again.yaml", text)
	require.NoError(t, err, "%s", text)
	assert.Equal(t, p, again)
	assert.Contains(t, p.Nodes(), "kernel")
	copied := p.Clone()
	copied.Kernel.Rules[0].Decision, copied.Kernel.Then[0].Rules[0].Decision = "ALLOW", "ALLOW"
	assert.Equal(t, want, p.Kernel, "a clone is its own")

	without, err := Parse("calm.yaml", []byte("name: calm\n"))
	require.NoError(t, err)
	assert.False(t, without.Kernel.On())
	assert.NotContains(t, without.Nodes(), "kernel")
	require.NoError(t, without.Set("kernel.default=DENY"))
	assert.True(t, without.Kernel.On())
	assert.Equal(t, []string{"kernel.default=DENY"}, without.Changes())
}

// Cuts of jobs take the kernel's rules along.
func TestCutsRenumberTheRules(t *testing.T) {
	p := parsed(t, `
kernel:
  rules: [{job_id: job-2, decision: DENY}, {job_id: job-3, decision: THROTTLE}, {job_id: "job-3*", decision: DENY}]
  then: [{at: 1m, rules: [{job_id: job-3, decision: ALLOW}]}]
workload: {jobs: 3}`)
	assert.Equal(t, []int{2, 3}, p.JobsNamed())
	ids := func(cut func(*Plan)) (ids []string) {
		c := p.Clone()
		cut(c)
		require.NoError(t, c.Validate())
		for _, r := range c.Kernel.Rules {
			ids = append(ids, r.JobID)
		}
		for _, change := range c.Kernel.Then {
			ids = append(ids, "then "+change.Rules[0].JobID)
		}
		return ids
	}
	assert.Equal(t, []string{"job-1", "job-3*"}, ids(func(p *Plan) { p.KeepJob(2) }))
	assert.Equal(t, []string{"job-1", "job-3*", "then job-1"}, ids(func(p *Plan) { p.KeepJob(3) }))
	assert.Equal(t, []string{"job-1", "job-1", "job-3*", "then job-1"}, ids(func(p *Plan) { p.MergeJobs(0) }))
	assert.Equal(t, []string{"job-2", "job-3*"}, ids(func(p *Plan) { p.DropJob(3) }))
}

func TestAKernelIsReadStrictly(t *testing.T) {
	for text, problem := range map[string]string{
		"kernel: {defaults: ALLOW}":                                                 `plan.yaml:2:10: unknown key "defaults" in kernel`,
		"kernel: {default: PERHAPS}":                                                `plan.yaml:2:19: kernel.default is "PERHAPS"`,
		"kernel: {rules: [{topic: a}]}":                                             `plan.yaml:2:18: kernel.rules[0].decision is ""`,
		"kernel: {rules: [{decision: deny}]}":                                       `kernel.rules[0].decision is "deny"; it must be ALLOW`,
		"kernel: {rules: [{decision: ALLOW_WITH_CONSTRAINTS}]}":                     `there are none`,
		"kernel: {rules: [{decision: DENY, constraints: a=b}]}":                     `plan.yaml:2:48: kernel.rules[0].constraints bind nobody`,
		"kernel: {default: none, rules: [{decision: DENY}]}":                        `the kernel has rules`,
		"kernel: {then: [{at: 1m}]}":                                                `kernel.then[0] changes nothing`,
		"kernel: {then: [{default: DENY}]}":                                         `kernel.then[0] does not say when it changes the policy; give at`,
		"kernel: {rules: [{job_id: job-99, decision: DENY}]}":                       `plan.yaml:2:27: there is no job-99; the workload has job-1 to job-10`,
		"kernel: {output: [{job_id: job-0, decision: DENY}]}":                       `there is no job-0`,
		"kernel: {then: [{at: 1m, rules: [{job_id: job-11, decision: DENY}]}]}":     `there is no job-11`,
		"kernel: {rules: [{job_id: job-03, decision: DENY}]}":                       `there is no job-03; the workload has job-1 to job-10`,
		"kernel: {output: [{job_id: job-+2, decision: DENY}]}":                      `there is no job-+2`,
		"kernel: {output: [{decision: DENY, sync: true, content: x}]}":              `kernel.output[0].content is not to be seen`,
		"kernel: {then: [{at: 1m, output: [{decision: ALLOW, redacted_ptr: x}]}]}":  `kernel.then[0].output[0].redacted_ptr leads nowhere`,
		"faults: [{at: 5s, do: partition, node: scheduler-1, from: kernel}]":        `kernel`,
		"faults: [{at: 5s, do: crash, node: kernel}]":                               `kernel`,
		"kernel:\nfaults: [{on: {job: 1, phase: safety_check}, do: late, for: 1s}]": `late makes no sense for safety_check`,
	} {
		_, err := Parse("plan.yaml", []byte("name: plan\n"+text))
		require.Error(t, err, text)
		assert.ErrorContains(t, err, problem, text)
	}
}
