package scenarios

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// Every scenario is the same over a redis-server as over miniredis, event by event. Here they take turns with the presets, with
// -short one in five, and every night each is run under both.
func TestEveryScenarioIsTheSameOverARedisServer(t *testing.T) {
	if _, err := exec.LookPath(RedisProgram()); err != nil {
		if os.Getenv("WAVETANK_REQUIRE_REDIS") != "" {
			t.Fatalf("%v, and $WAVETANK_REQUIRE_REDIS allows no omission", err)
		}
		t.Skip("LEFT OUT: redis-server is not installed")
	}
	for i, name := range plans.Names() {
		if testing.Short() && i%5 != 0 { // with both presets
			continue
		}
		preset := []string{plans.PresetDocumented, plans.PresetHardened}[i%2]
		t.Run(name, func(t *testing.T) {
			mini := played(t, name, preset)
			over := func(redis string, trace io.Writer) *Result {
				p, expects := under(t, name, preset)
				p.World.Redis = redis
				return runOnce(t, p, RunOptions{Source: name, Modified: !expects, Trace: trace})
			}
			server := over(plans.RedisServer, nil)
			if server.Digest != mini.Digest {
				var a, b bytes.Buffer
				over(plans.RedisMini, &a)
				over(plans.RedisServer, &b)
				line, inMini, inServer, err := sim.FirstDifference(&a, &b)
				require.NoError(t, err)
				t.Fatalf("line %d: miniredis: %s\nredis-server: %s", line, inMini, inServer)
			}
			require.Equal(t, mini.Verdict, server.Verdict)
		})
	}
}
