package sweep

import (
	"flag"
	"os"
	"runtime"
	"testing"
)

// The same tests on every machine, as in package scenarios.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		_ = seed.Value.Set("20261121")
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	os.Exit(m.Run())
}
