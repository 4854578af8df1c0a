package world

import (
	"context"
	"time"

	"github.com/faultline-sim/faultline/sim"
)

// ChangerName is the node that submits jobs again, as something else.
const ChangerName = "changer"

// Changer is a client that submits jobs of others once more under their ids, with another payload: a slip,
// or somebody who wants the approval of one thing for another. It goes on for as long as it is told that this
// failed.
type Changer struct {
	Changes []Change // in the order of their times
	Submit  func(context.Context, *sim.Process, int) error
	Done    func() // called for each change that was submitted
}

// Change is one job to be submitted anew, by its number.
type Change struct {
	Job   int
	After time.Duration // since the changer's start
}

// Run is the changer's main function.
func (c Changer) Run(p *sim.Process) {
	passed := time.Duration(0)
	for _, x := range c.Changes {
		p.Clock().Sleep(x.After - passed)
		passed = x.After
		go func() {
			for c.Submit(p.Context(), p, x.Job) != nil {
				if p.Context().Err() != nil {
					return
				}
				p.Clock().Sleep(retryEvery)
			}
			c.Done()
		}()
	}
}
