package power

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Each scenario is struck in turn, at an operation that the seed draws.
func TestFaultsStrikeOneScenarioAfterAnother(t *testing.T) {
	var named []string
	for _, name := range []string{"calm", "publish-failure"} {
		p, err := plans.Load(name)
		require.NoError(t, err)
		text, err := plans.Marshal(p)
		require.NoError(t, err)
		named = append(named, string(text))
	}
	for more, pairs := range map[int]bool{1: false, 2: true} {
		list, err := faults(t.Context(), named, 1, 5, pairs)
		require.NoError(t, err)
		require.Len(t, list, 6)
		own, firsts := []int{0, 1}, [2]map[string]bool{{}, {}}
		for i, text := range list {
			p, err := plans.Parse("struck", []byte(text))
			require.NoError(t, err)
			assert.Equal(t, []string{"calm", "publish-failure"}[i%2], p.Name)
			assert.Equal(t, plans.PresetHardened, p.Preset)
			require.Len(t, p.Faults, own[i%2]+more)
			firsts[i%2][p.Faults[own[i%2]].String()] = true
		}
		for _, f := range firsts {
			assert.Len(t, f, map[bool]int{false: 3, true: 1}[pairs])
		}
		again, err := faults(t.Context(), named, 1, 5, pairs)
		require.NoError(t, err)
		assert.Equal(t, list, again)
		another, err := faults(t.Context(), named, 2, 5, pairs)
		require.NoError(t, err)
		assert.NotEqual(t, list, another)
	}
}
