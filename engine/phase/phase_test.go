package phase_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/phase"
)

func TestTagTravelsInTheContext(t *testing.T) {
	assert.Zero(t, phase.From(t.Context()))
	ctx := phase.With(t.Context(), "job-1", phase.StateRead)
	assert.Equal(t, phase.Tag{Job: "job-1", Phase: "state_read"}, phase.From(ctx))
	inner := phase.With(ctx, "job-1", phase.Publish)
	assert.Equal(t, phase.Publish, phase.From(inner).Phase, "the later tag replaces the earlier")
	assert.Equal(t, phase.StateRead, phase.From(ctx).Phase)
}
