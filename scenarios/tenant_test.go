package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// With reservations the limit holds in every order of steps, and no job is lost to it.
func TestTheTenantLimitHoldsInEveryOrder(t *testing.T) {
	for seed := range uint64(25) {
		for _, order := range []string{"state-first", "outbox"} {
			p, err := plans.Load("tenant-limit")
			require.NoError(t, err)
			p.Expect, p.Seed = plans.Expect{}, seed
			for _, set := range []string{"preset=hardened", "engine.dispatch_order=" + order, "schedule.strategy=random"} {
				require.NoError(t, p.Set(set))
			}
			res, err := Run(context.Background(), p, RunOptions{})
			require.NoError(t, err)
			assert.Equal(t, Held, res.Verdict, "seed %d, %s: %s", seed, order, told(res))
			for _, j := range res.Jobs {
				assert.Equal(t, "SUCCEEDED", j.State, "seed %d, %s: %s", seed, order, j.ID)
			}
		}
	}
}

// A tenant that stays at its limit loses jobs to the dead-letter queue, which says why.
func TestTheReasonOfATenantAtItsLimit(t *testing.T) {
	res := runToggled(t, "tenant-limit", "", "workload.work=10m", "engine.tenant_limit=1", "engine.max_scheduling_retries=5")
	assert.Equal(t, Held, res.Verdict, told(res))
	ended := map[string]int{}
	for _, j := range res.Jobs {
		ended[j.State+" "+j.Reason]++
	}
	assert.Equal(t, map[string]int{"SUCCEEDED ": 1, "FAILED max_scheduling_retries": 9}, ended)
	assert.EqualValues(t, 9*4, res.Counters[`scheduler_retry_total{phase="tenant_read",reason_code="tenant_limit",topic="job.default"}`])
}

// A tenant with more to do than fits into its limit at once has all of it done, one job after the other.
func TestATenantAtItsLimitIsPatient(t *testing.T) {
	p, err := plans.Load("tenant-limit")
	require.NoError(t, err)
	p.Expect, p.About = plans.Expect{}, nil
	for _, set := range []string{"preset=hardened", "engine.tenant_limit=1", "workload.jobs=12", "workload.work=20s"} {
		require.NoError(t, p.Set(set))
	}
	res, err := Run(context.Background(), p, RunOptions{})
	require.NoError(t, err)
	assert.Equal(t, Held, res.Verdict, told(res))
	for _, j := range res.Jobs {
		assert.Equal(t, "SUCCEEDED", j.State, j.ID)
	}
}
