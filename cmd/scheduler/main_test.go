package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli/clitest"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"scheduler": main}) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, Setup: clitest.Setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": clitest.Exits},
	})
}
