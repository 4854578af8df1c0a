package main

import (
	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// ofRun is what a run reports its progress to.
func ofRun(p *cli.Progress) func(scenarios.Progress) {
	if p == nil {
		return nil
	}
	return func(now scenarios.Progress) {
		p.Show("%d steps, %s of virtual time, %d of %d jobs settled", now.Steps, words.Duration(now.Virtual), now.Settled, now.Jobs)
	}
}
