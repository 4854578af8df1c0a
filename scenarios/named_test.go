package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each scenario ends as it expects, under its own preset; under the preset hardened it holds, unless
// it runs an alternative that loses. Either run is the same, step by step, when it is run again.
func TestScenarios(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			p, err := Load(name)
			require.NoError(t, err)
			assert.NoError(t, runTwice(t, p, RunOptions{Source: name}).asExpected(p))

			require.NoError(t, p.Set("preset="+PresetHardened))
			res := runTwice(t, p, RunOptions{Source: name, Modified: true})
			if !loses(p) {
				assert.Equal(t, Held, res.Verdict, "hardened: %s", told(res))
			}
		})
	}
}

func runTwice(t *testing.T, p *Plan, opt RunOptions) *Result {
	first, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	again, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	assert.Equal(t, first.Digest, again.Digest, "preset %s, run again", p.Preset)
	return first
}
