package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/internal/testmain"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// plan reads a plan from its text.
func plan(t *testing.T, text string) *plans.Plan {
	t.Helper()
	p, err := plans.Parse("p.yaml", []byte("name: x\n"+text))
	require.NoError(t, err)
	return p
}
