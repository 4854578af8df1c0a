package alerts_test

import (
	"os"
	"testing"

	"github.com/wavetank-sim/wavetank/scenarios/internal/testmain"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// Prometheus syncs the files of each run's storage.
func TestMain(m *testing.M) {
	if memory := tempdir.Memory(); memory != "" {
		_ = os.Setenv("TMPDIR", memory)
	}
	testmain.Run(m)
}
