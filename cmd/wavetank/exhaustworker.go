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
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// exhaustWorker is the hidden command of the child process in which exhaust looks for pairs. It reads options from its
// standard input, and then plans, and answers each with what there is to strike.
const exhaustWorker = "exhaust-worker"

// exhaustAnswer answers a plan.
type exhaustAnswer struct {
	Listed exhaust.Listed `json:"listed"`
	Error  string         `json:"error,omitempty"`
}

func newExhaustWorker() *cobra.Command {
	return &cobra.Command{
		Use:    exhaustWorker,
		Short:  "List what exhaust asks for on standard input",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(cli.Interrupts()...) // they are for the parent, whose end ends the input
			return workExhaust(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}

func workExhaust(ctx context.Context, in io.Reader, out io.Writer) error {
	asks, answers := json.NewDecoder(in), json.NewEncoder(out)
	var o exhaust.Options
	if err := asks.Decode(&o); err != nil {
		return err
	}
	for {
		var plan string
		if err := asks.Decode(&plan); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var l exhaustAnswer
		list, err := o.List(ctx, plan)
		if l.Listed = list; err != nil {
			l.Error = err.Error()
		}
		if err := answers.Encode(l); err != nil {
			return err
		}
	}
}

// listTimeout is the real time after which a run that looks for pairs counts as one that does not end.
const listTimeout = 15 * campaign.RunTimeout

// inChild has the options list in a child process what they look for pairs in. done ends it.
func inChild(ctx context.Context, o *exhaust.Options) (_ context.Context, done func(), err error) {
	ctx, removed, err := inOwnTemp(ctx, tempdir.Memory())
	if err != nil {
		return nil, nil, err
	}
	options := *o
	s := &seat{limit: listTimeout, start: func() (*child, error) {
		c, err := startChild(ctx, 1, []string{exhaustWorker}) // a world moves one step at a time
		if err != nil {
			return nil, err
		}
		return c, c.asks.Encode(&options)
	}}
	o.Lists = s.list
	return ctx, func() { s.stop(); removed() }, nil
}

// list has the child run the plan. One that takes two children down has nothing to strike.
func (s *seat) list(ctx context.Context, plan string) (exhaust.Listed, error) {
	var l exhaustAnswer
	err := s.ask(ctx, "a worker", plan, &l)
	if deadly := new(deadlyError); errors.As(err, &deadly) {
		return exhaust.Listed{Beyond: true}, nil
	}
	if err == nil && l.Error != "" {
		err = errors.New(l.Error)
	}
	return l.Listed, err
}
