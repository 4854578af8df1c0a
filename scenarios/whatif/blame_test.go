package whatif

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// parsed is a plan from its text.
func parsed(t *testing.T, text string) *plans.Plan {
	t.Helper()
	p, err := plans.Parse("plan.yaml", []byte(text))
	require.NoError(t, err)
	return p
}

// A violation that comes all the same, in another way, came by the strike without which it does.
func TestAStrikeThatAnotherStandsInFor(t *testing.T) {
	c := explain(t, parsed(t, `version: 1
name: over
seed: 5
preset: documented
workload: {jobs: 3}
faults:
  - {on: {job: 2, phase: publish}, do: late, for: 8s}
  - {on: {job: 2, phase: publish, occurrence: 2}, do: fail-after}
`))
	assert.Contains(t, c.Brief(), "It came by another strike, too: the publish of job-2 by scheduler-1 was applied, and its caller was told of an error (fail-after). Without that it comes all the same, at 10.408s.")
	assert.Contains(t, c.Path[2].Says, "the publish of job-2 by scheduler-1 was applied, and its caller was told of an error (fail-after)")
}

// With epochs and topics nobody judges whether a job is dispatched twice, so that epochs are not what holds it.
func TestAPartThatLeavesNothingToJudge(t *testing.T) {
	c := explain(t, parsed(t, `version: 1
name: fan
seed: 4
preset: hardened
topology: {fan_out: true}
workload: {jobs: 3}
engine: {epochs: false}
faults: [{on: {job: 3, phase: publish}, do: late, for: 60s}]
expect: {violates: [one-dispatch-per-job]}
`))
	assert.Equal(t, []string{"late on publish of job 3, by 1m0s"}, says(c.Blamed()))
	assert.Equal(t, []string{"with engine.epochs=true"}, c.Unknown)
	require.NotNil(t, c.Nearest)
	assert.Equal(t, why.Strike, c.Nearest.What)
}

// A result lists a hundred violations of an invariant. Those of other jobs are known all the same.
func TestMoreViolationsThanAResultLists(t *testing.T) {
	plan := parsed(t, `version: 1
name: many
seed: 1
preset: documented
topology: {schedulers: 1, workers: 10}
workload: {jobs: 60, every: 2s, work: 8s}
faults:
  - {on: {job: 1, phase: publish, occurrence: 1}, do: fail-after}
  - {on: {phase: publish}, do: fail-after, rate: 0.7}
`)
	res, err := scenarios.Run(context.Background(), plan, scenarios.RunOptions{})
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, v := range res.Violations {
		listed[v.Job] = true
	}
	jobs := res.BrokenFor("one-dispatch-per-job", true)
	require.Contains(t, jobs, "job-52")
	require.False(t, listed["job-52"], "it is among those that are not listed")
	assert.Greater(t, res.CountViolations(), len(res.Violations))
	c := explain(t, plan)
	assert.Equal(t, []string{"fail-after on publish of job 1"}, says(c.Needed(why.Strike)))
	assert.Empty(t, c.Together)
}

func says(list []why.Tried) (says []string) {
	for _, t := range list {
		says = append(says, t.Says)
	}
	return says
}
