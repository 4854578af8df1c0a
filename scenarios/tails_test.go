package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
)

// The stream has acknowledged a dispatch that is gone before its worker has seen it. Nobody looks for it while
// the job is RUNNING, in either preset.
func TestADispatchThatThePowerTookLeavesABlindWindow(t *testing.T) {
	for _, preset := range []string{PresetDocumented, PresetHardened} {
		p, err := Load("nats-power-loss")
		require.NoError(t, err)
		require.NoError(t, p.Set("preset="+preset))
		res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Modified: true})
		require.NoError(t, err)
		assert.Equal(t, Held, res.Verdict, "%s", told(res))
		assert.Regexp(t, `^nats-server lost its power at [0-9.]+s, and with it 2 messages that it had stored, of job-3\.$`, res.Telling[0])
		assert.Regexp(t, `; its dispatch was lost at [0-9.]+s; its request was lost at [0-9.]+s; `, res.Telling[1])
		job := res.Jobs[2]
		assert.Equal(t, "TIMEOUT", job.State)
		require.NotNil(t, job.Blind)
		assert.Greater(t, job.Blind.Closed-job.Blind.Opened, 30*time.Minute)
		for _, i := range res.Invariants {
			if i.Name == "every-intent-is-published" {
				assert.Equal(t, StatusUnpromised, i.Status, preset)
			}
		}
	}
}

// What a power loss takes is told: of all jobs, and of each.
func TestWhatAPowerLossTakesIsTold(t *testing.T) {
	p := Defaults()
	p.Name, p.Topology.Schedulers, p.Topology.Workers, p.Workload.Jobs = "power-loss", 1, 1, 2
	p.Workload.Every = 20 * time.Second
	p.Faults = []faults.Fault{
		{At: time.Second, Do: faults.PowerLoss, Node: faults.NATS, Lag: time.Millisecond},
		{After: &faults.Match{Job: 1, Phase: "submit_publish"}, Do: faults.PowerLoss, Node: faults.NATS, Lag: time.Millisecond},
		{After: &faults.Match{Job: 2, Phase: "result_publish"}, Do: faults.PowerLoss, Node: faults.NATS, Lag: time.Millisecond},
	}
	res, err := Run(context.Background(), p, RunOptions{Source: p.Name})
	require.NoError(t, err)
	assert.Equal(t, "nats-server lost its power at 1s, and nothing was lost: nobody had published within the lag.", res.Telling[0])
	assert.Regexp(t, `^nats-server lost its power at [0-9.]+s, and with it 1 message that it had stored, of job-1\.$`, res.Telling[1])
	assert.Regexp(t, `^job-1 was submitted at [0-9.]+s; its request was lost at [0-9.]+s; .*SUCCEEDED at `, res.Telling[3])
	assert.Regexp(t, `^job-2 was submitted at .*; its result was lost at [0-9.ms]+; its job_ack failed at .*SUCCEEDED at `, res.Telling[4])
}
