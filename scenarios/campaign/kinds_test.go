package campaign

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func TestFaultKind(t *testing.T) {
	on := func(phase string) *faults.Match {
		return &faults.Match{Job: 3, Phase: phase, Occurrence: 2, Node: "scheduler-2"}
	}
	for want, f := range map[string]faults.Fault{
		"fail-after publish": {On: on("publish"), Do: faults.FailAfter, Times: 3},
		"hang state_read":    {On: on("state_read"), Do: faults.Hang, Rate: 0.5},
		"lose submit_ack":    {On: on("submit_ack"), Do: faults.Lose},
		"crash of a scheduler after dispatched_write": {After: on("dispatched_write"), Do: faults.Crash, Node: faults.Actor},
		"crash of a scheduler after publish":          {After: on("publish"), Do: faults.Crash, Node: "scheduler-1", RestartIn: time.Second},
		"crash of a worker after effect":              {After: on("effect"), Do: faults.Crash, Node: faults.Actor},
		"crash of a worker after job_ack":             {After: on("job_ack"), Do: faults.Crash, Node: faults.Actor},
		"crash of a submitter after submit_publish":   {After: on("submit_publish"), Do: faults.Crash, Node: faults.Actor},
		"crash of a stranger after saga_unreadable":   {After: on("saga_unreadable"), Do: faults.Crash, Node: faults.Actor},
		"crash of a worker after output_store":        {After: on("output_store"), Do: faults.Crash, Node: "worker-1"},
		"crash of a worker after another's operation": {After: on("publish"), Do: faults.Crash, Node: "worker-2"},
		"crash of a worker at a time":                 {At: time.Second, Do: faults.Crash, Node: "worker-2"},
		"pause of a scheduler after publish":          {After: on("publish"), Do: faults.Pause, Node: faults.Actor, For: time.Second},
		"pause of a worker at a time":                 {At: time.Second, Do: faults.Pause, Node: "worker-2", For: time.Second},
		"late publish":                                {On: on("publish"), Do: faults.Late, For: time.Second},
		"partition of redis":                          {At: time.Second, Do: faults.Partition, Node: "scheduler-2", From: faults.Redis},
		"restart of nats":                             {At: time.Second, Do: faults.Restart, Node: faults.NATS},
		"restart of nats after publish":               {After: on("publish"), Do: faults.Restart, Node: faults.NATS},
		"partition of heartbeats":                     {At: time.Second, Do: faults.Partition, Node: "worker-2", From: "heartbeats"},
	} {
		assert.Equal(t, want, FaultKind(f))
		assert.Contains(t, FaultKinds(), want)
	}
	kinds := slices.Clone(FaultKinds())
	slices.Sort(kinds)
	assert.Len(t, slices.Compact(kinds), len(FaultKinds()))
}

// What is drawn, and what can be met, has its row.
func TestEveryRecordIsCovered(t *testing.T) {
	spec := Spec{Version: SpecVersion, Name: "test", Seed: 7, Runs: 1, Drawn: &Drawn{Presets: []string{plans.PresetDocumented, plans.PresetHardened}}}
	f := newFold()
	for n := range 500 {
		p, err := spec.Plan(n)
		require.NoError(t, err)
		r := planned(n, p)
		for _, kind := range r.Drawn {
			assert.Contains(t, f.faults.at, kind)
		}
		for _, name := range r.Settings {
			assert.Contains(t, f.settings.at, settingOf(name))
		}
	}
}

func TestRecordOf(t *testing.T) {
	p, err := plans.Load("state-write-failure")
	require.NoError(t, err)
	require.NoError(t, p.Set("engine.dispatch_order=publish-first"))
	p.Faults = append(p.Faults, faults.Fault{At: 10 * time.Minute, Do: faults.Crash, Node: "worker-1"})
	res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Modified: true})
	require.NoError(t, err)
	r := RecordOf(7, p, res)
	assert.Equal(t, 7, r.N)
	assert.Equal(t, res.Digest, r.Digest)
	require.Len(t, r.Broken, 1, "each invariant once")
	assert.Equal(t, "one-dispatch-per-job", r.Broken[0].Invariant)
	assert.Contains(t, r.Settings, "engine.dispatch_order=publish-first")
	assert.Contains(t, r.Exercised, "every-job-settles")
	assert.Subset(t, r.Drawn, r.Fired)
	assert.Contains(t, r.Drawn, "crash of a worker at a time")
	assert.Nil(t, r.Contained)

	p, err = plans.Load("calm")
	require.NoError(t, err)
	p.Schedule.StepsMax = 100
	res, err = scenarios.Run(context.Background(), p, scenarios.RunOptions{})
	require.NoError(t, err)
	r = RecordOf(0, p, res)
	assert.Nil(t, r.Contained, "the plan's own bound says nothing")
	assert.Equal(t, scenarios.Inconclusive, r.Verdict)

	p.Schedule.StepsMax = plans.StepsMaxDefault(p.Workload.Jobs)
	r = RecordOf(0, p, res)
	require.NotNil(t, r.Contained)
	assert.Equal(t, Endless, r.Contained.What)
	assert.Equal(t, 100, r.Contained.Step)
	assert.Empty(t, r.Verdict)
}
