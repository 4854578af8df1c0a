package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"

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
			debug.SetGCPercent(campaign.GCPercent)
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

// ordersProcess is one child process, as its parent sees it.
type ordersProcess struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	lists   *json.Encoder
	answers *json.Decoder
	errors  head
}

func startOrdersWorker(ctx context.Context, d *orders.Definition) (*ordersProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &ordersProcess{cmd: exec.CommandContext(ctx, self, ordersWorker)}
	w.cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // a world moves one step at a time
	w.cmd.Stderr = &w.errors
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.lists, w.answers = json.NewEncoder(w.in), json.NewDecoder(out)
	return w, w.lists.Encode(d)
}

func (w *ordersProcess) run(_ context.Context, list []sim.Preemption) (*orders.Run, error) {
	var o ordered
	err := w.lists.Encode(list)
	if err == nil {
		err = w.answers.Decode(&o)
	}
	switch {
	case err != nil:
		w.stop()
		return nil, &cli.Error{Code: cli.ExitInternal, Text: fmt.Sprintf("a worker ended: %v", err), Detail: w.errors.String()}
	case o.Error != "":
		return nil, errors.New(o.Error)
	}
	return o.Run, nil
}

func (w *ordersProcess) stop() {
	_ = w.in.Close()
	_ = w.cmd.Wait()
}
