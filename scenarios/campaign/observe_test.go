package campaign

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Of two faults that read alike, one has struck the operation, and the other has had no effect.
func TestAFaultHasAnEffectByItsPlace(t *testing.T) {
	p, err := plans.Load("publish-ack-lost")
	require.NoError(t, err)
	p.Faults = append(p.Faults, p.Faults[0])
	res, err := scenarios.Run(t.Context(), p, scenarios.RunOptions{Modified: true})
	require.NoError(t, err)
	assert.Equal(t, []int{1}, RecordOf(0, p, res).Missed)
}
