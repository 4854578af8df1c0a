package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The stream has acknowledged a dispatch that is gone before its worker has seen it. Nobody looks for it while
// the job is RUNNING, with whatever scheduler. A nats-server that syncs before it acknowledges loses none.
func TestADispatchThatThePowerTookLeavesABlindWindow(t *testing.T) {
	for _, sets := range [][]string{{"preset=documented"}, {"preset=hardened", "world.sync_always=false"}} {
		res := powerLoss(t, sets...)
		assert.Regexp(t, `At [0-9.]+s a power loss took nats-server down, right after the publish of job-3; the last writes were lost, 2 messages, of job-3\.\n`+
			`At [0-9.]+s the dispatch of job-3 was lost\.\nAt [0-9.]+s the request of job-3 was lost\.`, told(res))
		job := res.Jobs[2]
		assert.Equal(t, "TIMEOUT", job.State)
		require.NotNil(t, job.Blind)
		assert.Greater(t, job.Blind.Closed-job.Blind.Opened, 30*time.Minute)
		assert.Equal(t, []string{"every-intent-is-published"}, violated(res))
	}
	res := powerLoss(t, "preset=hardened")
	assert.Equal(t, Held, res.Verdict, "%s", told(res))
	assert.Equal(t, "SUCCEEDED", res.Jobs[2].State)
}

// powerLoss runs nats-power-loss with other settings.
func powerLoss(t *testing.T, sets ...string) *Result {
	t.Helper()
	p, err := plans.Load("nats-power-loss")
	require.NoError(t, err)
	for _, set := range sets {
		require.NoError(t, p.Set(set))
	}
	p.Expect = plans.Expect{Violates: []string{"every-intent-is-published"}} // judged whatever its promise
	if p.World.SyncAlways {
		p.Expect = plans.Expect{}
	}
	res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Modified: true})
	require.NoError(t, err)
	return res
}

// What a power loss takes is told: of all jobs, and of each.
func TestWhatAPowerLossTakesIsTold(t *testing.T) {
	p := plans.Defaults()
	p.Name, p.Topology.Schedulers, p.Topology.Workers, p.Workload.Jobs = "power-loss", 1, 1, 2
	p.Workload.Every, p.World.SyncAlways = 20*time.Second, false
	p.Faults = []faults.Fault{
		{At: time.Second, Do: faults.PowerLoss, Node: faults.NATS, Lag: time.Millisecond},
		{After: &faults.Match{Job: 1, Phase: "submit_publish"}, Do: faults.PowerLoss, Node: faults.NATS, Lag: time.Millisecond},
		{After: &faults.Match{Job: 2, Phase: "result_publish"}, Do: faults.PowerLoss, Node: faults.NATS, Lag: time.Millisecond},
	}
	res, err := Run(context.Background(), p, RunOptions{Source: p.Name})
	require.NoError(t, err)
	assert.Contains(t, res.Telling, "At 1s a power loss took nats-server down; nothing was lost: all was on the disk.")
	assert.Regexp(t, `a power loss took nats-server down, right after the submit_publish of job-1; the last writes were lost, 1 message, of job-1\.\nAt [0-9.]+s the request of job-1 was lost\.`, told(res))
	p.World.SyncAlways = true
	synced, err := Run(context.Background(), p, RunOptions{Source: p.Name})
	require.NoError(t, err)
	assert.Contains(t, synced.Telling, "At 1s a power loss took nats-server down; nothing was lost: each message is on the disk before its ack.")
	assert.NotContains(t, told(synced), "was lost.")
	assert.Regexp(t, `the result of job-2 was lost\.(.|\n)*the job_ack of job-2 by worker-1 failed: (.|\n)*wrote SUCCEEDED for job-2`, told(res))
}
