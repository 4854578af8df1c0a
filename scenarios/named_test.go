package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Each scenario ends as it expects, under its own preset; under the preset hardened it holds, unless
// it runs an alternative that loses. Together they exercise every invariant, and reach every situation.
// TestBehaviour sees that a run is the same, step by step, when it is run again.
func TestScenarios(t *testing.T) {
	ran, exercised := 0, map[string]bool{}
	note := func(res *Result) *Result {
		for _, i := range res.Invariants {
			exercised[i.Name] = exercised[i.Name] || i.Exercised > 0
		}
		return res
	}
	for _, name := range plans.Names() {
		t.Run(name, func(t *testing.T) {
			ran++
			p, err := plans.Load(name)
			require.NoError(t, err)
			assert.NoError(t, note(runOnce(t, p, RunOptions{Source: name})).asExpected(p))

			expects := p.Expects(plans.PresetHardened)
			require.NoError(t, p.Set("preset="+plans.PresetHardened))
			res := note(runOnce(t, p, RunOptions{Source: name, Modified: !expects}))
			if expects {
				assert.NoError(t, res.asExpected(p))
			} else if !losesByDesign(p) {
				assert.Equal(t, Held, res.Verdict, "hardened: %s", told(res))
			}
		})
	}
	if ran < len(plans.Names()) { // -run leaves some out
		return
	}
	for _, i := range judge.All() {
		assert.True(t, exercised[i.Name], "no scenario exercises %s", i.Name)
	}
}

func runOnce(t *testing.T, p *plans.Plan, opt RunOptions) *Result {
	res, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	return res
}

// losesByDesign says whether the plan's engine runs an alternative that breaks promises by design.
func losesByDesign(p *plans.Plan) bool {
	return p.Engine.DispatchOrder == settings.PublishFirst || p.Engine.ReadError != settings.FailClosed ||
		p.Engine.PublishDedup == settings.MessageID && !p.Engine.Epochs
}
