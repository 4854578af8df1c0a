package whatif

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// Of what goes wrong without a part of the engine, that part is to blame.
func TestTheTogglesPartIsToBlame(t *testing.T) {
	for _, toggle := range plans.Toggles() {
		t.Run(toggle.Setting, func(t *testing.T) {
			p := load(t, toggle.Scenario, "preset="+plans.PresetHardened, toggle.Setting+"="+toggle.Off)
			c, err := Explain(context.Background(), p, Options{Invariant: toggle.Invariant, Quick: true})
			require.NoError(t, err)
			part := func(t why.Tried) bool { return strings.HasPrefix(t.Says, toggle.Setting+"=") }
			assert.True(t, slices.ContainsFunc(append(c.Blamed(), c.Needed(why.Remedy)...), part), "%s", c)
			assert.True(t, strings.HasPrefix(c.Brief(), toggle.Says), "%s", c)
			require.NotNil(t, c.Nearest)
			assert.False(t, c.Nearest.Circumstance(), "the nearest run differs in a strike or in the engine: %v", c.Nearest)
			assert.False(t, c.Cut)
		})
	}
}
