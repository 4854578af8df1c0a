// Package testmain has what the tests of several packages begin with.
package testmain

import (
	"flag"
	"os"
	"runtime"
	"testing"
)

// Run runs the same tests on every machine, and fewer than rapid's hundred plans each: exploring is for campaigns, or
// for who passes -rapid.seed and -rapid.checks.
func Run(m *testing.M) {
	flag.Parse()
	for name, value := range map[string]string{"rapid.seed": "20261121", "rapid.checks": "50"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() == f.DefValue {
			_ = f.Value.Set(value)
		}
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1) // a world moves one step at a time: a second thread only has it handed to and fro
	}
	os.Exit(m.Run())
}
