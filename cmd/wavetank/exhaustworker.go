package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// exhaustWorker is the hidden command of the child process in which exhaust looks for pairs. It reads options, and then plans,
// and answers each with what there is to strike.
const exhaustWorker = "exhaust-worker"

func newExhaustWorker() *cobra.Command {
	return newSeatWorker(exhaustWorker, "List the operations of the runs that exhaust asks for on standard input",
		func(ctx context.Context, o *exhaust.Options, plan string) (exhaust.Listed, error) {
			return o.List(ctx, plan)
		})
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
	s := &seat{limit: listTimeout, start: func() (*child, error) { return startSeatWorker(ctx, exhaustWorker, &options) }}
	o.Lists = s.list
	return ctx, func() { s.stop(); removed() }, nil
}

// list has the child run the plan. One that takes two children down has nothing to strike.
func (s *seat) list(ctx context.Context, plan string) (exhaust.Listed, error) {
	list, err := answerOf[exhaust.Listed](ctx, s, plan)
	if deadly := new(deadlyError); errors.As(err, &deadly) {
		return exhaust.Listed{Beyond: true}, nil
	}
	return list, err
}
