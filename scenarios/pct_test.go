package scenarios

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// ordered runs a scenario in the given order of steps.
func ordered(t *testing.T, scenario string, seed uint64, sets ...string) *Result {
	t.Helper()
	p, err := plans.Load(scenario)
	require.NoError(t, err)
	for _, set := range sets {
		require.NoError(t, p.Set(set))
	}
	p.Seed = seed
	res, err := Run(context.Background(), p, RunOptions{Source: scenario})
	require.NoError(t, err)
	return res
}

// Strict priorities starve nobody: whatever holds of a calm world holds of it under pct, to the last job that settles.
func TestCalmHoldsUnderPCT(t *testing.T) {
	for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
		for scenario, seeds := range map[string]uint64{"calm": 12, "saga-rollback": 2, "workflow": 2} {
			for seed := range seeds {
				points := strconv.Itoa(int(seed % 4 * 6)) // none to 18
				res := ordered(t, scenario, seed, "preset="+preset, "schedule.strategy=pct", "schedule.change_points="+points)
				assert.Equal(t, Held, res.Verdict, "%s, %s, seed %d: %s", scenario, preset, seed, res.Reason)
				assert.Empty(t, res.Unsettled, "%s, %s, seed %d", scenario, preset, seed)
			}
		}
	}
}

// A run that ends once a promise is broken is the plan's own up to there: its change points are spread over as many steps.
func TestARunUnderPCTIsThePlansOwnUpToItsEnd(t *testing.T) {
	p, err := plans.Load("publish-ack-lost")
	require.NoError(t, err)
	require.NoError(t, p.Set("schedule.strategy=pct"))
	whole, err := Run(t.Context(), p, RunOptions{})
	require.NoError(t, err)
	require.Equal(t, Violated, whole.Verdict)
	cut, err := Run(t.Context(), p, RunOptions{StopAt: p.Expect.Violates[0]})
	require.NoError(t, err)
	require.Less(t, cut.Steps, whole.Steps)
	assert.Equal(t, whole.PCT.Steps, cut.PCT.Steps)
	assert.Equal(t, whole.Violations[0].Step, cut.Violations[0].Step)
}

// The steps that change points are drawn from are those of the plan's run under random, unless they are given. Either
// way the plan says all that its run depends on.
func TestPCTIsOfThePlanAlone(t *testing.T) {
	random := ordered(t, "publish-failure", 3, "schedule.strategy=random")
	assert.Nil(t, random.PCT)
	learned := ordered(t, "publish-failure", 3, "schedule.strategy=pct")
	require.NotNil(t, learned.PCT)
	assert.Equal(t, random.Steps, learned.PCT.Steps)
	assert.Equal(t, 2, learned.PCT.ChangePoints)
	assert.InDelta(t, 1/float64(learned.PCT.Actors*random.Steps*random.Steps), learned.PCT.Bound, 1e-12)
	given := ordered(t, "publish-failure", 3, "schedule.strategy=pct", "schedule.steps="+strconv.Itoa(random.Steps))
	assert.Equal(t, learned.Digest, given.Digest)
	assert.NotEqual(t, random.Digest, learned.Digest)

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, threads := range []int{1, 2} {
		runtime.GOMAXPROCS(threads)
		assert.Equal(t, learned.Digest, ordered(t, "publish-failure", 3, "schedule.strategy=pct").Digest, "%d threads", threads)
	}
	digests := []string{}
	for seed := range uint64(5) {
		digests = append(digests, ordered(t, "publish-failure", seed, "schedule.strategy=pct").Digest)
	}
	slices.Sort(digests)
	assert.Len(t, slices.Compact(digests), 5)
}

func TestPCTsSettingsDoNothingUnderOthers(t *testing.T) {
	res := ordered(t, "calm", 1, "schedule.change_points=5")
	assert.Equal(t, []string{"schedule.change_points does nothing: schedule.strategy is not pct"}, res.Idle)
}
