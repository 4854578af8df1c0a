package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// What a plan expects counts under the preset that it names: there a run that does not show it is inconclusive.
func TestExpectationsOfAPreset(t *testing.T) {
	for text, want := range map[string][2]plans.Expect{ // under documented, the plan's own, and under hardened
		"expect: {violates: [one-dispatch-per-job]}": {
			{Violates: []string{"one-dispatch-per-job"}}, {Violates: []string{"one-dispatch-per-job"}},
		},
		"expect: {violates: [one-dispatch-per-job], hardened: {sometimes: [ack-lost]}}": {
			{Violates: []string{"one-dispatch-per-job"}, Hardened: &plans.Expected{Sometimes: []string{"ack-lost"}}},
			{Sometimes: []string{"ack-lost"}, Documented: &plans.Expected{Violates: []string{"one-dispatch-per-job"}, Told: true}},
		},
		"expect: {documented: {violates: [one-dispatch-per-job]}, hardened: {}}": {
			{Violates: []string{"one-dispatch-per-job"}, Hardened: &plans.Expected{}}, {Documented: &plans.Expected{Violates: []string{"one-dispatch-per-job"}, Told: true}},
		},
	} {
		p := plan(t, "preset: documented\n"+text+"\n")
		assert.Equal(t, want[0], p.Expect, text)
		assert.True(t, p.Expects(plans.PresetDocumented))
		assert.Equal(t, want[0].Hardened != nil, p.Expects(plans.PresetHardened), text)
		for i, preset := range []string{plans.PresetDocumented, plans.PresetHardened, plans.PresetDocumented, plans.PresetHardened} {
			require.NoError(t, p.Set("preset="+preset))
			require.Equal(t, want[i%2], p.Expect, text)
			text, err := plans.Marshal(p)
			require.NoError(t, err)
			again, err := plans.Parse("x.yaml", text)
			require.NoError(t, err)
			assert.Equal(t, p, again, text)
		}
	}

	p := plan(t, "preset: documented\nexpect: {hardened: {sometimes: [ack-lost]}}\nworkload: {jobs: 1}\n")
	require.NoError(t, asExpected(p))
	require.NoError(t, p.Set("preset=hardened"))
	assert.ErrorContains(t, asExpected(p), "the plan expects what did not come about: ack-lost")
}
