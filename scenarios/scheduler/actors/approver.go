package actors

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/sim"
)

// ApproverName is the node that approves.
const ApproverName = "approver"

// Approver is a person with a client. It waits for jobs that need its approval, looks at each for a while,
// and approves what it has looked at. It leaves a job alone that has changed meanwhile, or no longer waits.
type Approver struct {
	Approvals []Approval // in the order of their submissions
	Client    func(*sim.Process) *engine.Client
	Tries     int                           // attempts for one approval; 0 is until it succeeds
	Failed    func(jobID string, err error) // called for each attempt that fails
	Done      func()                        // called for each job once it is approved or left alone
}

// Approval is a job to be approved.
type Approval struct {
	JobID string
	From  time.Duration // since the approver's start; it does not look before
	After time.Duration // how long it looks at the job
}

// lookEvery is how often the approver checks whether a job waits for it.
const lookEvery = time.Second

// Run is the approver's main function. It returns once no job is left.
func (a Approver) Run(p *sim.Process) {
	client := a.Client(p)
	var under sync.WaitGroup
	defer under.Wait()
	for _, x := range a.Approvals {
		under.Go(func() {
			a.approve(p, client, x)
			if p.Context().Err() == nil {
				a.Done()
			}
		})
	}
}

func (a Approver) approve(p *sim.Process, client *engine.Client, x Approval) {
	p.Clock().Sleep(x.From)
	seen := a.await(p.Context(), p, client, x.JobID)
	if seen.State != job.ApprovalRequired {
		return
	}
	p.Clock().Sleep(x.After)
	for tried := 1; p.Context().Err() == nil; tried++ {
		err := client.Approve(p.Context(), x.JobID, seen.Hash, ApproverName)
		if err != nil {
			a.Failed(x.JobID, err)
		}
		if err == nil || errors.Is(err, engine.ErrNotWaiting) || errors.Is(err, engine.ErrChanged) || tried == a.Tries {
			return
		}
		p.Clock().Sleep(retryEvery)
	}
}

// await returns the job once it waits for an approval, or never will.
func (a Approver) await(ctx context.Context, p *sim.Process, client *engine.Client, id string) engine.Asked {
	for {
		seen, err := client.Look(ctx, id)
		waitsNot := seen.State == job.Absent || seen.State == job.Pending
		if err == nil && !waitsNot || ctx.Err() != nil {
			return seen
		}
		p.Clock().Sleep(lookEvery)
	}
}
