package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// What the page of a sweep writes into its command is a flag of it.
func TestOwnNumbersAreFlagsOfTheCommand(t *testing.T) {
	plan, err := plans.Load("calm")
	require.NoError(t, err)
	cmd := newSweep()
	for _, own := range sweep.OwnNumbers() {
		_, known := plan.Setting(own.Setting)
		assert.True(t, known, own.Setting)
		require.NotNil(t, cmd.Flags().Lookup(own.Flag), own.Flag)
		require.NoError(t, cmd.Flags().Set(own.Flag, "7"))
		assert.Equal(t, []string{"calm", "--" + own.Flag + "=7"}, given(cmd, "calm"))
		cmd = newSweep()
	}
	for _, name := range []string{"grid", "set"} { // for other settings
		assert.NotNil(t, cmd.Flags().Lookup(name), name)
	}
}

func TestOwnNumbersAreReadByTheirFlags(t *testing.T) {
	cmd, n := newSweep(), numbers{}
	cmd.ResetFlags()
	n.add(cmd)
	assert.False(t, n.given())
	require.NoError(t, cmd.ParseFlags([]string{"--dies=20%, 0.6", "--lag=fixed:5s", "--ttl=45s"}))
	assert.True(t, n.given())
	d, err := sweep.Load("calm")
	require.NoError(t, err)
	require.NoError(t, n.lay(d, nil))
	require.Len(t, d.Axes, 1)
	assert.Equal(t, "world.dying=0.2,0.6", d.Axes[0].Setting+"="+strings.Join(d.Axes[0].Values, ","))
	assert.Contains(t, d.Plan, `heartbeat_lag: "fixed:5s"`)
	assert.Contains(t, d.Plan, "worker_ttl: 45s")
}
