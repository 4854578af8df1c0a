package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/orders"
	"github.com/wavetank-sim/wavetank/sim"
)

// ordersWorker is the hidden command of the child processes of orders. One reads a definition, and then lists of pre-emptions,
// and answers each with a run.
const ordersWorker = "orders-worker"

func newOrdersWorker() *cobra.Command {
	return newSeatWorker(ordersWorker, "Make the runs that orders asks for on standard input",
		func(ctx context.Context, d *orders.Definition, list []sim.Preemption) (*orders.Run, error) {
			return d.Try(ctx, list)
		})
}

// order has the child run the plan in the order of these pre-emptions. One that takes two children down is out of bounds.
func (s *seat) order(ctx context.Context, list []sim.Preemption) (*orders.Run, error) {
	run, err := answerOf[*orders.Run](ctx, s, list)
	if deadly := new(deadlyError); errors.As(err, &deadly) {
		return &orders.Run{Broken: []string{string(campaign.Panicked)}, Reason: deadly.Error()}, nil
	}
	return run, err
}
