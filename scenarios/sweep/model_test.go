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

const begins, submits = time.Second, 2 * time.Second // the workers, and the submitter

// sentBack is the model in the notes of stale-worker-retries: how many jobs meet a stale worker when
// that worker dies then, and every heartbeat is late by the same, less than the work takes.
func sentBack(p *plans.Plan, worker string, dies, late time.Duration) int {
	turn := int((dies - begins) / p.Topology.HeartbeatEvery) // since which heartbeat
	if worker != "worker-1" || turn%2 != 0 {
		if worker != "worker-2" || turn != 0 {
			return 0
		}
	}
	return inTheWindow(p, dies, late)
}

// inTheWindow is how many jobs are submitted while a worker that dies then is past its TTL, and still listed. Its last
// heartbeat was late by so much.
func inTheWindow(p *plans.Plan, dies, late time.Duration) (jobs int) {
	beat, sweep := p.Topology.HeartbeatEvery, p.Engine.RegistrySweep
	stale := begins + (dies-begins)/beat*beat + late + p.Engine.WorkerTTL
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
	e := estimates("stale_exhausted", [][]float64{measured})[0]
	assert.Less(t, e.Low, 100*expected/60)
	assert.Greater(t, e.High, 100*expected/60)
	assert.Positive(t, e.Mean)
}

// One worker, which dies for sure: every job submitted in its stale window meets it. Heartbeats come at 1 s + 10 s·j and are late
// by nothing or by 4 s, each as often. The window is from (31 + 10 j) s or (35 + 10 j) s to (40 + 10 j) s. Jobs come at
// (2 + 1.67 n) s, n = 1 to 60: 5 of them in each first window for j = 0 to 6 and one for j = 7, and 3 in each second one for
// j = 0 to 6. The death is spread evenly over 100.2 s from 2 s on, of which j = 0 has 9 s and each other 10 s. Expected:
// (69×5 + 10×1)/100.2 jobs by the first and 69×3/100.2 by the second, and 281/100.2 of 60 by both: 4.67 %.
func TestADistributionOfLagsAgreesWithItsModel(t *testing.T) {
	d, err := Load("stale-worker-retries")
	require.NoError(t, err)
	p, err := d.plan()
	require.NoError(t, err)
	for _, set := range []string{"engine.max_dispatch_retries=3", "world.heartbeat_lag=samples:0s:4s", "world.dying=1", "topology.workers=1", "workload.every=1.67s", "engine.stale_worker=fixed-retries"} {
		require.NoError(t, p.Set(set))
	}
	var measured []float64
	seen := map[time.Duration]int{}
	seeds := uint64(30)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		p.Seed = d.FirstSeed + seed
		res, err := scenarios.Run(t.Context(), p, scenarios.RunOptions{Modified: true})
		require.NoError(t, err)
		require.Len(t, res.Fired, 1)
		share := campaign.Measure(res)["stale_exhausted"]
		prompt, late := inTheWindow(p, res.Fired[0].At, 0), inTheWindow(p, res.Fired[0].At, 4*time.Second)
		switch {
		case prompt == late: // after the last job, whatever the lag
			assert.InDelta(t, 100*float64(prompt)/60, share, 1e-9, "seed %d", p.Seed)
		case math.Abs(share-100*float64(prompt)/60) < 1e-9:
			seen[0]++
		default:
			assert.InDelta(t, 100*float64(late)/60, share, 1e-9, "seed %d", p.Seed)
			seen[4*time.Second]++
		}
		measured = append(measured, share)
	}
	assert.Len(t, seen, 2, "either lag")
	expected := 100 * 281 / 100.2 / 60
	e := estimates("stale_exhausted", [][]float64{measured})[0]
	t.Logf("expected %.3g %%, measured %.3g %% [%.3g, %.3g]; %v", expected, e.Mean, e.Low, e.High, seen)
	assert.Less(t, e.Low, expected)
	assert.Greater(t, e.High, expected)
	assert.Positive(t, e.Low)
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
	e := estimates("failed", [][]float64{measured})[0]
	assert.Less(t, e.Low, 100*math.Pow(0.9, 5))
	assert.Greater(t, e.High, 100*math.Pow(0.9, 5)*11/12, "the last job's budget may outlast the outage")
}
