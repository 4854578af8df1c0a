package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// What nobody waits for any more has not failed, and what came late was refused or applied.
func TestFailing(t *testing.T) {
	for name, c := range map[string]struct {
		event sim.Event
		how   string
		fails bool
	}{
		"it works":                            {sim.Event{Kind: sim.KindRedis, Outcome: sim.OutcomeOK}, "", false},
		"a script that the server has not":    {sim.Event{Kind: sim.KindRedis, Outcome: "NOSCRIPT No matching script."}, "", false},
		"a renewal that its handling ended":   {sim.Event{Kind: sim.KindRedis, Phase: "lock_renew", Outcome: "context canceled"}, "", false},
		"an effect of a job that's cancelled": {sim.Event{Kind: world.KindEffect, Name: world.EffectDone, Outcome: "context canceled"}, "", false},
		"a renewal that is too slow":          {sim.Event{Kind: sim.KindRedis, Phase: "lock_renew", Outcome: "context deadline exceeded"}, "", true},
		"a fault":                             {sim.Event{Kind: sim.KindRedis, Fault: "fail-before", Outcome: "refused"}, "fail-before", true},
		"Redis is out of reach":               {sim.Event{Kind: sim.KindRedis, Fault: "partition", Outcome: "refused"}, cutRedis, true},
		"NATS is out of reach":                {sim.Event{Kind: sim.KindReturn, Name: "publish", Fault: "partition", Outcome: "context deadline exceeded"}, cutNATS, true},
		"the kernel is out of reach":          {sim.Event{Kind: sim.KindReturn, Name: "Check", Target: "kernel", Fault: "partition", Outcome: "context deadline exceeded"}, cutKernel, true},
		"late, and applied":                   {sim.Event{Kind: sim.KindLate, Fault: "late", Outcome: sim.OutcomeOK}, arrived, true},
		"late, and the EXEC is refused":       {sim.Event{Kind: sim.KindLate, Fault: "late", Outcome: sim.OutcomeNil}, refused, true},
	} {
		t.Run(name, func(t *testing.T) {
			how, fails := failing(&c.event)
			assert.Equal(t, c.how, how)
			assert.Equal(t, c.fails, fails)
			assert.NotContains(t, failed{"publish", how, time.Second, 2}.words(), "  ", "it has a verb")
		})
	}
}

// A write that comes late and is refused has changed nothing: not in the trace, nor in the job's path.
func TestARefusedLateWriteChangesNothing(t *testing.T) {
	for _, phase := range []string{"dispatched_write", "result_write"} {
		t.Run(phase, func(t *testing.T) {
			p, err := Parse("plan.yaml", []byte("version: 1\nname: late\npreset: hardened\nworkload: {jobs: 1}\nfaults: [{on: {job: 1, phase: "+phase+"}, do: late, for: 90s}]\n"))
			require.NoError(t, err)
			r := newRun(context.Background(), p, RunOptions{Source: p.Name})
			cfg := r.config()
			observe, late := cfg.Observe, 0
			cfg.Observe = func(e *sim.Event) {
				if observe(e); e.Kind == sim.KindLate {
					late++
					assert.Equal(t, sim.OutcomeNil, e.Outcome)
					assert.Empty(t, e.Changes)
				}
			}
			sum, err := sim.Run(cfg, r.play)
			require.NoError(t, err)
			assert.Equal(t, 1, late)
			path := r.result(sum).Jobs[0].Path
			assert.Equal(t, "SUCCEEDED", path[len(path)-1].State)
			for _, point := range path[:len(path)-1] {
				assert.NotEqual(t, "SUCCEEDED", point.State)
			}
		})
	}
}
