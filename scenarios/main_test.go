package scenarios

import (
	"flag"
	"os"
	"testing"
)

// The same tests on every machine: exploring is for campaigns, which pass -rapid.seed.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		_ = seed.Value.Set("20261121")
	}
	os.Exit(m.Run())
}
