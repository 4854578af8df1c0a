package campaign

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

// A run that moves at each step may still never end.
func TestARunThatIsSlowAtEachStep(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	spec := meeting()
	spec.Grid.Points, spec.Grid.Seeds = [][]string{{"workload.jobs=1"}, {"workload.jobs=20"}}, 1
	s, err := newSupervisor(context.Background(), begun(t, spec), quick(1, "slow").withDefaults())
	require.NoError(t, err)
	defer s.close()
	s.orders.Stall, s.orders.Total = time.Minute, 2*time.Second
	res, err := s.run(context.Background())
	require.NoError(t, err)
	assert.True(t, res.Complete)
	assert.Equal(t, 1, res.Contained)
	require.Len(t, res.Findings, 1)
	f := res.Findings[0]
	assert.Equal(t, string(Hung), f.Invariant)
	assert.Equal(t, 20, f.Jobs, "a plan that takes too long is not shrunk: each try would")
	assert.Contains(t, f.Detail, tookTooLong)
	assert.Zero(t, f.Step)
}

// Who cancels a campaign need not wait for a run that hangs.
func TestACancelledCampaignLeavesARunThatHangs(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	opt := quick(1, "loop")
	opt.Record = func(*Record) { cancel() }
	s, err := newSupervisor(ctx, begun(t, meeting()), opt.withDefaults())
	require.NoError(t, err)
	defer s.close()
	s.orders.Stall, s.orders.Total, s.grace = time.Hour, time.Hour, time.Millisecond
	res, err := s.run(ctx)
	require.NoError(t, err)
	assert.False(t, res.Complete)
	assert.Equal(t, []int{1, 0}, []int{res.Runs, res.Contained})
}

// A process that the code under test has started may outlive it, and hold its standard error open.
func TestAWorkerWhoseChildOutlivesItIsGone(t *testing.T) {
	t.Parallel()
	w, err := processes([]string{worker("")[0], asParent}, t.TempDir())(context.Background(), Orders{})
	require.NoError(t, err)
	for range w.Answers() {
	}
	assert.Contains(t, w.Death().Output, "the parent ends")
}
