package world

import (
	"context"
	"time"

	"github.com/faultline-sim/faultline/sim"
)

// OperatorName is the node of who looks after the dead-letter queue.
const OperatorName = "operator"

// Operator approves the replays of dead letters, each once its time has come and its entry waits for it.
type Operator struct {
	Approvals []Cancellation // the jobs, and when
	Approve   func(ctx context.Context, jobID string) error
}

// askEvery is how long the operator waits before it looks for an entry again.
const askEvery = 5 * time.Second

// Run is the operator's main function.
func (o Operator) Run(p *sim.Process) {
	began := p.Clock().Now()
	for _, a := range o.Approvals {
		p.Clock().Sleep(a.After - p.Clock().Since(began))
		for o.Approve(p.Context(), a.JobID) != nil {
			p.Clock().Sleep(askEvery)
		}
	}
}
