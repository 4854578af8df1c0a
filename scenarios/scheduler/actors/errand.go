package actors

import (
	"context"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// The nodes of clients that run errands.
const (
	CancellerName = "canceller" // cancels some of the jobs
	ChangerName   = "changer"   // submits other clients' jobs again under their IDs, with other content: by mistake, or on purpose
	OperatorName  = "operator"  // decides on the replays of dead letters
	StarterName   = "starter"   // starts workflow runs
)

// Errand is what a client does once, at a time.
type Errand struct {
	After time.Duration // since the client's start
	Do    func(context.Context) error
}

// How long a client waits before it repeats what has failed.
const (
	AtOnce  = retryEvery      // the call failed
	Patient = 5 * time.Second // what it needs may not exist yet
)

// RunErrands is the main function of a client. It does each errand at its time, in order, and repeats it as
// long as it fails. It returns once all are done.
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
