package world

import (
	"context"
	"time"

	"github.com/faultline-sim/faultline/sim"
)

// StarterName is the node that starts workflow runs.
const StarterName = "starter"

// Starter is a client that starts one run after the other at a fixed pace, each again for as long as it is
// told that this failed.
type Starter struct {
	Runs  int
	Every time.Duration
	Start func(ctx context.Context, n int) error // the n-th run, from 1
}

// Run is the starter's main function.
func (s Starter) Run(p *sim.Process) {
	for n := 1; n <= s.Runs; n++ {
		p.Clock().Sleep(s.Every)
		go func() {
			for s.Start(p.Context(), n) != nil {
				p.Clock().Sleep(retryEvery)
			}
		}()
	}
}
