package actors

import (
	"context"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/sim"
)

// SubmitterName is the node that submits.
const SubmitterName = "submitter"

// Submitter is a client of the scheduler. It submits the jobs at a fixed pace. If a submission fails, it
// repeats it under the same ID until it succeeds, or until it has tried often enough.
type Submitter struct {
	Jobs    int
	Every   time.Duration
	Times   int                     // how often each job is submitted, at the same pace
	Request func(n int) job.Request // the n-th job, from 1
	Submit  func(context.Context, job.Request) error
	Tries   int    // attempts for one submission; 0 is until it succeeds
	GaveUp  func() // called for each submission that it gives up
}

// retryEvery is how long the submitter waits before it repeats a submission.
const retryEvery = time.Second

// Run is the submitter's main function. It returns once every job is submitted or given up.
func (s Submitter) Run(p *sim.Process) {
	var under sync.WaitGroup
	defer under.Wait()
	for n := 1; n <= s.Jobs; n++ {
		p.Clock().Sleep(s.Every)
		under.Go(func() {
			for again := range s.Times {
				if again > 0 {
					p.Clock().Sleep(s.Every)
				}
				s.submit(p, s.Request(n))
			}
		})
	}
}

func (s Submitter) submit(p *sim.Process, r job.Request) {
	for tried := 1; s.Submit(p.Context(), r) != nil; tried++ {
		if tried == s.Tries {
			s.GaveUp()
			return
		}
		p.Clock().Sleep(retryEvery)
	}
}
