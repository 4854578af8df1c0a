package scenarios_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// Every scenario is the same over a redis-server as over miniredis, event by event.
func TestEveryScenarioIsTheSameOverARedisServer(t *testing.T) {
	if _, err := exec.LookPath(scenarios.RedisProgram()); err != nil {
		if os.Getenv("WAVETANK_REQUIRE_REDIS") != "" {
			t.Fatalf("%v, and $WAVETANK_REQUIRE_REDIS allows no omission", err)
		}
		t.Skip("LEFT OUT: redis-server is not installed")
	}
	for _, name := range plans.Names() {
		t.Run(name, func(t *testing.T) {
			trace := func(redis string) (*bytes.Buffer, scenarios.Verdict) {
				plan, err := plans.Load(name)
				require.NoError(t, err)
				require.NoError(t, plan.Set("preset=hardened"))
				require.NoError(t, plan.Set("world.redis="+redis))
				var out bytes.Buffer
				res, err := scenarios.Run(context.Background(), plan, scenarios.RunOptions{Trace: &out})
				require.NoError(t, err)
				return &out, res.Verdict
			}
			mini, miniVerdict := trace(plans.RedisMini)
			server, serverVerdict := trace(plans.RedisServer)
			line, a, b, err := sim.FirstDifference(mini, server)
			require.NoError(t, err)
			require.Zero(t, line, "miniredis: %s\nredis-server: %s", a, b)
			require.Equal(t, miniVerdict, serverVerdict)
		})
	}
}
