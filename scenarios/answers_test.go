package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// What a story tells of an operation that went wrong. What a fault of the plan did to it, its strike tells.
func TestOperationsThatWentWrong(t *testing.T) {
	for name, c := range map[string]struct {
		event sim.Event
		told  string
	}{
		"it works":                            {sim.Event{Kind: sim.KindRedis, Outcome: sim.OutcomeOK}, ""},
		"a script that the server has not":    {sim.Event{Kind: sim.KindRedis, Outcome: "NOSCRIPT No matching script."}, ""},
		"a renewal that its handling ended":   {sim.Event{Kind: sim.KindRedis, Phase: "lock_renew", Outcome: "context canceled"}, ""},
		"an effect of a job that's cancelled": {sim.Event{Kind: actors.KindEffect, Name: actors.EffectDone, Outcome: "context canceled"}, ""},
		"a MULTI whose watched keys changed":  {sim.Event{Kind: sim.KindRedis, Outcome: "redis: transaction failed"}, ""},
		"a fault":                             {sim.Event{Kind: sim.KindRedis, Fault: "fail-before", Outcome: "refused"}, ""},
		"a renewal that is too slow":          {sim.Event{Kind: sim.KindRedis, Phase: "lock_renew", Outcome: "context deadline exceeded"}, "the lock_renew of job-1 by scheduler-1 failed: its deadline had passed"},
		"the kernel is not there":             {sim.Event{Kind: sim.KindCall, Phase: "safety_check", Outcome: "rpc error: code = Unavailable desc = no such server."}, "the safety_check of job-1 by scheduler-1 failed: no such server"},
		"it hung":                             {sim.Event{Kind: sim.KindReturn, Phase: "publish", Fault: "hang", Outcome: "context deadline exceeded"}, "scheduler-1 gave up the publish of job-1 at its deadline"},
		"Redis is out of reach":               {sim.Event{Kind: sim.KindRedis, Phase: "state_read", Fault: "partition", Outcome: "refused"}, "the state_read of job-1 by scheduler-1 was cut off from Redis"},
		"NATS is out of reach":                {sim.Event{Kind: sim.KindReturn, Phase: "publish", Fault: "partition", Outcome: "context deadline exceeded"}, "the publish of job-1 by scheduler-1 was cut off from NATS"},
		"the kernel is out of reach":          {sim.Event{Kind: sim.KindReturn, Phase: "safety_check", Target: "kernel", Fault: "partition", Outcome: "context deadline exceeded"}, "the safety_check of job-1 by scheduler-1 was cut off from the safety kernel"},
		"late, and applied":                   {sim.Event{Kind: sim.KindLate, Phase: "publish", Fault: "late", Outcome: sim.OutcomeOK}, "the late publish of job-1 by scheduler-1 arrived, and was applied"},
		"late, and the EXEC is refused":       {sim.Event{Kind: sim.KindLate, Phase: "result_write", Fault: "late", Outcome: sim.OutcomeNil}, "the late result_write of job-1 by scheduler-1 arrived, and was refused"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &jobRecord{}
			c.event.Node = "scheduler-1"
			j.operated(&c.event)
			told := ""
			if m := j.last(); m != nil {
				told = m.words("job-1")
			}
			assert.Equal(t, c.told, told)
		})
	}
}

// A write that comes late and is refused has changed nothing: not in the trace, nor in the job's path.
func TestARefusedLateWriteChangesNothing(t *testing.T) {
	for _, phase := range []string{"dispatched_write", "result_write"} {
		t.Run(phase, func(t *testing.T) {
			p, err := plans.Parse("plan.yaml", []byte("version: 1\nname: late\npreset: hardened\nworkload: {jobs: 1}\nfaults: [{on: {job: 1, phase: "+phase+"}, do: late, for: 90s}]\n"))
			require.NoError(t, err)
			r, err := newRun(context.Background(), p, RunOptions{Source: p.Name})
			require.NoError(t, err)
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
