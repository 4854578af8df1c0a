package scenarios

import (
	"flag"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The same tests on every machine, and fewer than rapid's hundred plans each: exploring is for
// campaigns, or for who passes -rapid.seed and -rapid.checks.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		_ = seed.Value.Set("20261121")
	}
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("50")
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1) // a world moves one step at a time: a second thread only has it handed to and fro
	}
	os.Exit(m.Run())
}

// plan reads a plan from its text.
func plan(t *testing.T, text string) *plans.Plan {
	t.Helper()
	p, err := plans.Parse("p.yaml", []byte("name: x\n"+text))
	require.NoError(t, err)
	return p
}
