package sweep

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// sentBack is the model in the notes of stale-worker-retries: how many jobs meet a stale worker when
// that worker dies then, and every heartbeat is late by the same, less than the work takes.
func sentBack(p *plans.Plan, worker string, dies, late time.Duration) (jobs int) {
	const start, submits = time.Second, 2 * time.Second // the workers, and the submitter
	beat := p.Topology.HeartbeatEvery
	turn := int((dies - start) / beat) // since which heartbeat
	last := start + time.Duration(turn)*beat
	if worker != "worker-1" || turn%2 != 0 {
		if worker != "worker-2" || turn != 0 {
			return 0
		}
	}
	sweep := p.Engine.RegistrySweep
	stale := last + late + p.Engine.WorkerTTL
	evicted := (stale + sweep - 1) / sweep * sweep
	for n := range p.Workload.Jobs {
		if at := submits + time.Duration(n+1)*p.Workload.Every; at > stale && at < evicted {
			jobs++
		}
	}
	return jobs
}

func TestStaleWorkerRetriesAgreesWithItsModel(t *testing.T) {
	agrees(t, 0, (9*5+10*6+10*5+10*5+9*5)/5.0/102)
	// Past its TTL and listed from (35 + 10 j) s to (40 + 10 j) s: 3, 3, 3 and 3 jobs of 2 + 1.7 n.
	agrees(t, 4*time.Second, (9*3+10*3+10*3+10*3+9*3)/5.0/102)
}

// agrees holds what is measured with a lag against the model, and that against the number of jobs by hand.
func agrees(t *testing.T, late time.Duration, byHand float64) {
	d, err := Load("stale-worker-retries")
	require.NoError(t, err)
	p, err := d.plan()
	require.NoError(t, err)
	for _, set := range []string{"engine.max_dispatch_retries=3", "world.heartbeat_lag=fixed:" + late.String(), "world.dying=0.2", "engine.stale_worker=fixed-retries"} {
		require.NoError(t, p.Set(set))
	}
	span := time.Duration(p.Workload.Jobs) * p.Workload.Every

	// By hand: one worker of five, at an instant spread evenly over the submissions.
	expected := 0.0
	for dies := 2 * time.Second; dies < 2*time.Second+span; dies += 100 * time.Millisecond {
		for _, worker := range []string{"worker-1", "worker-2", "worker-3", "worker-4", "worker-5"} {
			expected += float64(sentBack(p, worker, dies, late)) / 5 / (span.Seconds() / 0.1)
		}
	}
	assert.InDelta(t, byHand, expected, 1e-9)
	if late == 0 {
		note := d.Notes[len(d.Notes)-1]
		assert.True(t, strings.HasSuffix(note, "= "+number(expected)+" jobs of 60, 0.82 %."), note)
		assert.Equal(t, 0.82, math.Round(100*100*expected/60)/100)
	}

	var measured []float64
	for seed := range d.Seeds {
		p.Seed = d.FirstSeed + uint64(seed)
		res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Modified: true})
		require.NoError(t, err)
		require.Len(t, res.Fired, 1)
		share := campaign.Measure(res)["stale_exhausted"]
		assert.InDelta(t, 100*float64(sentBack(p, res.Fired[0].Node, res.Fired[0].At, late))/60, share, 1e-9, "seed %d", p.Seed)
		measured = append(measured, share)
	}
	e := estimate(measured)
	assert.Less(t, e.Low, 100*expected/60)
	assert.Greater(t, e.High, 100*expected/60)
	assert.Positive(t, e.Mean)
}

// Late heartbeats make picks meet stale workers. More picks, with time between them, get past those, and cost picks.
func TestPicksAreWeighedAgainstTheLag(t *testing.T) {
	d, err := Load("stale-worker-retries")
	require.NoError(t, err)
	measured := func(lag, picks string) (exhausted, met float64) {
		p, err := d.plan()
		require.NoError(t, err)
		for _, set := range []string{"engine.max_dispatch_retries=" + picks, "world.heartbeat_lag=" + lag, "world.dying=0.6", "engine.stale_worker=jittered-retries"} {
			require.NoError(t, p.Set(set))
		}
		for seed := range uint64(3) {
			p.Seed = d.FirstSeed + seed
			res, err := scenarios.Run(t.Context(), p, scenarios.RunOptions{Modified: true})
			require.NoError(t, err)
			m := campaign.Measure(res)
			exhausted += m["stale_exhausted"]
			met += m["stale_picks"]
		}
		return exhausted, met
	}
	prompt, _ := measured("0s", "3")
	few, metByFew := measured("35s", "3")
	many, metByMany := measured("35s", "10")
	assert.Less(t, prompt, few)
	assert.Less(t, many, few)
	assert.Greater(t, metByMany, metByFew)
}

// A ceiling of c attempts is c/2 publishes, so that a job fails with all of them: in an outage that
// outlasts them, 0.9^(c/2) of the jobs.
func TestBackoffAgreesWithItsModel(t *testing.T) {
	d, err := Load("backoff")
	require.NoError(t, err)
	p, err := d.plan()
	require.NoError(t, err)
	for _, set := range []string{"engine.backoff_max=1s", "engine.max_scheduling_retries=10", "workload.every=20s"} {
		require.NoError(t, p.Set(set))
	}
	var measured []float64
	for seed := range d.Seeds {
		p.Seed = d.FirstSeed + uint64(seed)
		res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Modified: true})
		require.NoError(t, err)
		for _, j := range res.Jobs {
			if j.State == "FAILED" {
				assert.Equal(t, 10, j.Attempts)
			} else {
				assert.Zero(t, (j.Attempts-1)%2, "two for each publish that failed, and one for the last")
			}
		}
		measured = append(measured, campaign.Measure(res)["failed"])
	}
	e := estimate(measured)
	assert.Less(t, e.Low, 100*math.Pow(0.9, 5))
	assert.Greater(t, e.High, 100*math.Pow(0.9, 5)*11/12, "the last job's budget may outlast the outage")
}
