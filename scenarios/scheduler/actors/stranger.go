package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/sim"
)

// StrangerName is the node that publishes and stores unreadable messages.
const StrangerName = "stranger"

// PhasePoison is the phase of its publish, and PhaseUnreadable of its push onto a saga's stack.
const (
	PhasePoison     phase.Phase = "poison_publish"
	PhaseUnreadable phase.Phase = "saga_unreadable"
)

// Stranger publishes messages to sys.job.submit that are no requests, like a client of another version, or by
// mistake. It names them in their headers poison-1, poison-2 and so on. It also pushes entries onto a saga's
// stack that are no compensations.
type Stranger struct {
	Messages int
	Entries  int
	Stack    string // the key of the saga's stack
	Every    time.Duration
}

// PoisonID is the name of the stranger's n-th message, from 1.
func PoisonID(n int) string { return fmt.Sprintf("poison-%d", n) }

// Run is the stranger's main function.
func (s Stranger) Run(p *sim.Process) {
	for n := 1; n <= s.Messages; n++ {
		p.Clock().Sleep(s.Every)
		for s.publish(p, PoisonID(n)) != nil {
			p.Clock().Sleep(retryEvery)
		}
	}
	for n := 1; n <= s.Entries; n++ {
		p.Clock().Sleep(s.Every)
		for s.push(p, n) != nil {
			p.Clock().Sleep(retryEvery)
		}
	}
}

func (s Stranger) push(p *sim.Process, n int) error {
	ctx, cancel := context.WithTimeout(phase.With(p.Context(), "", PhaseUnreadable), 2*time.Second)
	defer cancel()
	return p.Redis().RPush(ctx, s.Stack, fmt.Sprintf(`{"topic": %d,`, n)).Err()
}

func (s Stranger) publish(p *sim.Process, id string) error {
	ctx, cancel := context.WithTimeout(phase.With(p.Context(), id, PhasePoison), 5*time.Second)
	defer cancel()
	_, err := p.JetStream().PublishMsg(ctx, &nats.Msg{
		Subject: "sys.job.submit", Header: nats.Header{job.Header: {id}}, Data: []byte(`{"job_id": 7,`),
	})
	return err
}
