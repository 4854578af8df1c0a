package reports

import (
	"flag"
	"os"
	"testing"
)

// Pages are large, and most are alike: fewer than rapid's hundred of each, unless -rapid.checks says how
// many.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("30")
	}
	os.Exit(m.Run())
}
