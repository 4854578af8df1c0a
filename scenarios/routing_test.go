package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// Where workers have no subject of their own, each job is executed once, by a worker of the pool that serves its topic, and
// all of the pool that are alive have their share.
func TestAJobOfATopicReachesOneWorkerOfItsPool(t *testing.T) {
	for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
		p, err := plans.Load("topic-fan-out")
		require.NoError(t, err)
		require.NoError(t, p.Set("preset="+preset))
		var trace bytes.Buffer
		res, err := Run(t.Context(), p, RunOptions{Source: p.Name, Trace: &trace})
		require.NoError(t, err)
		require.Equal(t, Held, res.Verdict, res.Reason)
		by, share := map[string]string{}, map[string]int{}
		for line := range strings.Lines(trace.String()) {
			var e sim.Event
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			if e.Kind == actors.KindEffect && e.Name == actors.EffectBegin {
				assert.Empty(t, by[e.Job], "%s was executed before", e.Job)
				by[e.Job] = e.Node
				share[e.Node]++
			}
		}
		for n := 1; n <= p.Workload.Jobs; n++ {
			assert.Equal(t, p.Workload.Topic[n] == plans.TopicGPU, by[plans.JobID(n)] >= "worker-4", "job %d was executed by %s", n, by[plans.JobID(n)])
			assert.NotEmpty(t, by[plans.JobID(n)])
		}
		assert.Equal(t, map[string]int{"worker-1": 6, "worker-3": 6, "worker-4": 4, "worker-5": 4, "worker-6": 4}, share)
		assert.Equal(t, 24.0, res.Counters[`jobs_dispatched{topic="job.default"}`]+res.Counters[`jobs_dispatched{topic="job.gpu"}`])
		for name := range res.Counters {
			assert.NotContains(t, name, "stale_worker", "a topic bypasses the check")
		}
	}
}

// A scheduler that takes any pool for one that serves every topic is found out.
func TestAMisroutedJobIsFoundOut(t *testing.T) {
	p, err := plans.Load("placement")
	require.NoError(t, err)
	res, err := Run(context.Background(), p, RunOptions{Source: "placement", Variant: func(_ string, cfg *engine.Config) {
		cfg.Routing.Topics = map[string][]string{plans.Topic: {"default", "gpu"}, plans.TopicGPU: {"default", "gpu"}}
		cfg.Routing.Pools = map[string]routing.Pool{"default": {Capabilities: []string{"gpu"}}}
	}})
	require.NoError(t, err)
	assert.Equal(t, Violated, res.Verdict)
	assert.Contains(t, violated(res), "dispatch-respects-placement")
}

func TestRoutesAreChecked(t *testing.T) {
	for set, want := range map[string]string{
		"workload.label.3=zone":    `workload.label.3 is "zone": it has the entry "zone"; write it as in workload.label.3: placement.zone=zone-2`,
		"workload.label.3=a=b,a=c": `it has the entry "a=c"`,
		"workload.requires.3=gpu,": `it names an empty capability`,
		"workload.topic.3=job.*":   `is not a subject`,
		"topology.gpu_workers=4":   `topology.gpu_workers is 4, more than topology.workers; give at most 3`,
		"workload.label.11=a=b":    `there is no job 11`,
		"topology.gpu_workers=-1":  `out of range`,
		"workload.label.x=a=b":     `does not end in the number of a job`,
	} {
		p := plans.Defaults()
		p.Name = "x"
		err := p.Set(set)
		if err == nil {
			err = p.Validate()
		}
		if want == "" {
			assert.NoError(t, err, set)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
}
