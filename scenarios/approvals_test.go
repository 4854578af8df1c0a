package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// What an approver has looked at is what is dispatched, whenever the change comes.
func TestNoChangePassesForWhatWasApproved(t *testing.T) {
	for _, change := range []string{"1ms", "900ms", "5s", "9990ms", "10s", "10100ms", "20s"} {
		for seed := range uint64(4) {
			p, err := plans.Load("approval-of-a-changed-job")
			require.NoError(t, err)
			p.Expect, p.Seed = plans.Expect{}, seed
			for _, set := range []string{"workload.change.3=" + change, "schedule.strategy=random"} {
				require.NoError(t, p.Set(set))
			}
			res, err := Run(context.Background(), p, RunOptions{})
			require.NoError(t, err)
			assert.Equal(t, Held, res.Verdict, "change after %s, seed %d: %s", change, seed, told(res))
		}
	}
}

// An approval that is too old is refused; without bind_approvals it counts, and that is found out.
func TestAnOldApprovalIsRefused(t *testing.T) {
	res := runToggled(t, "approval-expired", "")
	assert.Equal(t, Held, res.Verdict, told(res))
	assert.EqualValues(t, 1, res.Counters[`scheduler_approvals_refused_total{reason="expired",topic="job.default"}`])
	res = runToggled(t, "approval-expired", "approval-not-expired", "engine.policy.bind_approvals=false")
	assert.Contains(t, violated(res), "approval-not-expired", told(res))
}

// An approval whose request is not published needs the replayer.
func TestAnUnpublishedApprovalNeedsTheReplayer(t *testing.T) {
	res := runToggled(t, "approval-publish-lost", "approved-job-goes-on", "engine.pending_replayer=false")
	assert.Contains(t, violated(res), "approved-job-goes-on", told(res))
	res = runToggled(t, "approval-publish-lost", "")
	assert.Equal(t, Held, res.Verdict, told(res))
}
