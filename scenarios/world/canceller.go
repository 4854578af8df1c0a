package world

import (
	"context"
	"time"

	"github.com/faultline-sim/faultline/sim"
)

// CancellerName is the node that cancels.
const CancellerName = "canceller"

// Canceller is a client that wants some of the jobs undone: it asks for each at its time, and again for
// as long as it is told that this failed.
type Canceller struct {
	Cancels []Cancellation // in the order of their times
	Cancel  func(context.Context, string) error
}

// Cancellation is one job to be cancelled.
type Cancellation struct {
	JobID string
	After time.Duration // since the canceller's start
}

// Run is the canceller's main function.
func (c Canceller) Run(p *sim.Process) {
	passed := time.Duration(0)
	for _, x := range c.Cancels {
		p.Clock().Sleep(x.After - passed)
		passed = x.After
		go func() {
			for c.Cancel(p.Context(), x.JobID) != nil {
				p.Clock().Sleep(retryEvery)
			}
		}()
	}
}
