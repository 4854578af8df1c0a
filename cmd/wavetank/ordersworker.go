package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/orders"
	"github.com/wavetank-sim/wavetank/sim"
)

// ordersWorker is the hidden command of the child processes of orders. One reads a definition from its standard input,
// and then lists of pre-emptions, and answers each with a run.
const ordersWorker = "orders-worker"

// ordered answers a list.
type ordered struct {
	Run   *orders.Run `json:"run,omitempty"`
	Error string      `json:"error,omitempty"`
}

func newOrdersWorker() *cobra.Command {
	return &cobra.Command{
		Use:    ordersWorker,
		Short:  "Run what orders asks for on standard input",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(cli.Interrupts()...) // they are for the parent, whose end ends the input
			return workOrders(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}

func workOrders(ctx context.Context, in io.Reader, out io.Writer) error {
	lists, answers := json.NewDecoder(in), json.NewEncoder(out)
	var d orders.Definition
	if err := lists.Decode(&d); err != nil {
		return err
	}
	for {
		var list []sim.Preemption
		if err := lists.Decode(&list); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var o ordered
		r, err := d.Try(ctx, list)
		if o.Run = r; err != nil {
			o.Error = err.Error()
		}
		if err := answers.Encode(o); err != nil {
			return err
		}
	}
}

// startOrdersWorker starts a child that runs what is asked for.
func startOrdersWorker(ctx context.Context, d *orders.Definition) (*child, error) {
	c, err := startChild(ctx, 1, []string{ordersWorker}) // a world moves one step at a time
	if err != nil {
		return nil, err
	}
	return c, c.asks.Encode(d)
}

// order has the child run the plan in the order of these pre-emptions. One that takes two children down is out of bounds.
func (s *seat) order(ctx context.Context, list []sim.Preemption) (*orders.Run, error) {
	var o ordered
	err := s.ask(ctx, "a worker", list, &o)
	if deadly := new(deadlyError); errors.As(err, &deadly) {
		return &orders.Run{Broken: []string{string(campaign.Panicked)}, Reason: deadly.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	if o.Error != "" {
		return nil, errors.New(o.Error)
	}
	return o.Run, nil
}
