package whatif

import (
	"testing"

	"github.com/wavetank-sim/wavetank/scenarios/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }
