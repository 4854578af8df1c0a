package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

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
		"workload.requires.3=gpu,": `it names a capability that is empty`,
		"workload.topic.3=job.*":   `is not a subject`,
		"topology.gpu_workers=4":   `topology.gpu_workers is 4, more than there are workers; give at most 3`,
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
