package actors

import (
	"context"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// The nodes of clients that run errands.
const (
	CancellerName = "canceller" // wants some of the jobs undone
	ChangerName   = "changer"   // submits jobs of others once more under their ids, as something else: a slip, or worse
	OperatorName  = "operator"  // decides on the replays of dead letters
	StarterName   = "starter"   // starts workflow runs
)

// Errand is what a client does once, at its time.
type Errand struct {
	After time.Duration // since the client's start
	Do    func(context.Context) error
}

// How long a client waits before it does again what has failed.
const (
	AtOnce  = retryEvery      // the call failed
	Patient = 5 * time.Second // what it is about may not be there yet
)

// RunErrands is the main function of a client: it does each errand at its time, in whose order they are, and
// again for as long as it is told that this failed. It returns once they are done.
func RunErrands(p *sim.Process, again time.Duration, errands []Errand) {
	passed := time.Duration(0)
	var under sync.WaitGroup
	defer under.Wait()
	for _, x := range errands {
		p.Clock().Sleep(x.After - passed)
		passed = x.After
		under.Go(func() {
			for x.Do(p.Context()) != nil && p.Context().Err() == nil {
				p.Clock().Sleep(again)
			}
		})
	}
}
