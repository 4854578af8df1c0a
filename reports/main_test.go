package reports

import (
	"flag"
	"os"
	"runtime"
	"testing"
)

// Pages are large, and most are alike: fewer than rapid's hundred of each, unless -rapid.checks says how
// many.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("30")
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1) // as in package scenarios
	}
	os.Exit(m.Run())
}
