package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// A job whose request bears an approval waits all the same if what was approved is not what waits.
func TestApprovalsOfAnotherRequestCountNot(t *testing.T) {
	p, err := plans.Load("approval")
	require.NoError(t, err)
	r, err := newRun(context.Background(), p, RunOptions{})
	require.NoError(t, err)
	j := r.record.jobs[0]
	j.State = "APPROVAL_REQUIRED"
	k := r.judge.Facts.Job(j.ID)
	k.State, k.Approved = model.ApprovalRequired, true
	k.Consent.Asks, k.Consent.Waits = true, "another"
	assert.Equal(t, "it waits for an approval that nobody has given", r.unsettled(j))
}
