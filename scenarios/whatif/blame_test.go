package whatif

import (
	"context"
	"slices"
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
	assert.Contains(t, c.Brief(), "It came by another fault, too: the publish of job-2 by scheduler-1 was applied, and its caller was told of an error (fail-after). Without that it comes all the same, at 10.408s.")
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
	if testing.Short() {
		t.Skip("it takes seconds")
	}
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
	assert.True(t, slices.ContainsFunc(res.Invariants, func(i scenarios.InvariantResult) bool { return i.Unlisted > 0 }))
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

// A job that has ended is not dispatched only where three parts of the engine play together.
func TestPartsThatOnlyHelpAtOnce(t *testing.T) {
	plan := load(t, "cancel-before-publish")
	c, err := Explain(context.Background(), plan, Options{})
	require.NoError(t, err)
	assert.Empty(t, c.Remedies())
	var sets []string
	for _, part := range c.Jointly {
		sets = append(sets, part.Set)
	}
	require.ElementsMatch(t, []string{"engine.void_intents=true", "engine.epochs=true", "engine.resume_intents=true"}, sets)
	assert.Contains(t, c.Brief(), "Without engine.void_intents, a publish that is under way when its job ends still arrives")
	assert.Contains(t, c.Holding(), " at once, and with no fewer, no-dispatch-after-end holds.")
	less, err := Explain(context.Background(), plan, Options{Steps: c.Steps * 4 / 5})
	require.NoError(t, err)
	assert.Empty(t, less.Jointly, "the steps do not suffice to find them")
	assert.Contains(t, less.Holding(), "Which parts of the preset that takes is not known.")
	for _, left := range sets {
		p := plan.Clone()
		for _, set := range sets {
			if set != left {
				require.NoError(t, p.Set(set))
			}
		}
		res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{})
		require.NoError(t, err)
		assert.NotEmpty(t, res.BrokenFor(c.Invariant, false), "without %s", left)
	}
}

// A setting that only changes the order of the steps prevents nothing.
func TestWhatOnlyChangesTheOrderIsNoRemedy(t *testing.T) {
	c, err := Explain(context.Background(), load(t, "workflow"), Options{Invariant: "run-written-by-lock-holder"})
	require.NoError(t, err)
	require.Len(t, c.Remedies(), 1)
	assert.Equal(t, "engine.workflow.strict_run_lock=true", c.Remedies()[0].Instead)
	shuffled := 0
	for _, tried := range c.Tried {
		if tried.Shuffled {
			shuffled++
			assert.False(t, tried.Needed, tried.Instead)
		}
	}
	assert.Positive(t, shuffled)
}

// An invariant that is not judged while the explained one is broken may break with a part of the engine that only saves the latter.
func TestHarmThatARemedyLeavesIsSaid(t *testing.T) {
	c, err := Explain(context.Background(), load(t, "early-result"), Options{})
	require.NoError(t, err)
	assert.Contains(t, c.Holding(), "With engine.epochs=true, one-dispatch-per-job holds, but then one-execution-per-job still breaks.")
	assert.Equal(t, "engine.resume_intents=true", c.Remedies()[0].Instead)
}
