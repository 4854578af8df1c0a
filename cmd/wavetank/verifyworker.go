package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// verifyWorker is the hidden command of verify's child processes. One reads tasks from its
// standard input, a line each, and answers each with a line; its traces go to a folder.
const verifyWorker = "verify-worker"

// task asks for one run.
type task struct {
	Plan int    `json:"plan"` // index among the worker's arguments
	Seed uint64 `json:"seed"`
}

// outcome answers a task.
type outcome struct {
	task
	Digest  string `json:"digest"`
	Verdict string `json:"verdict"`
	Error   string `json:"error,omitempty"`
}

func traceName(t task) string { return fmt.Sprintf("%d-%d.jsonl", t.Plan, t.Seed) }

func newVerifyWorker() *cobra.Command {
	var f planFlags
	var traces string
	cmd := &cobra.Command{
		Use:    verifyWorker + " SCENARIO|FILE...",
		Short:  "Make the runs that verify asks for on standard input",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(cli.Interrupts()...) // they are for the parent, whose end ends the input
			var plans []*subject
			for _, arg := range args {
				s, err := f.load(arg, nil)
				if err != nil {
					return err
				}
				plans = append(plans, s)
			}
			return work(cmd.Context(), plans, traces, os.Stdin, os.Stdout) // not the command's output: a parent that is gone must be noticed
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&traces, "traces", "", "the folder of the traces")
	return cmd
}

func work(ctx context.Context, plans []*subject, traces string, in io.Reader, out io.Writer) error {
	tasks, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var t task
		if err := tasks.Decode(&t); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		o := outcome{task: t}
		if err := o.of(ctx, plans[t.Plan], filepath.Join(traces, traceName(t))); err != nil {
			o.Error = err.Error()
		}
		if err := answers.Encode(o); err != nil {
			return err
		}
	}
}

// of runs what the command line made of a plan, under the task's seed.
func (o *outcome) of(ctx context.Context, s *subject, trace string) error {
	plan := *s.Plan
	plan.Seed = o.Seed
	f, err := os.Create(trace)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<16)
	res, err := runPlan(ctx, &plan, scenarios.RunOptions{Trace: w, Source: s.source, Overrides: s.overrides})
	if err != nil {
		return err
	}
	o.Digest, o.Verdict = res.Digest, string(res.Verdict)
	return w.Flush()
}

// worker is one child process of verify, as its parent sees it.
type worker struct {
	*child
	side
	traces string
}

func startWorker(ctx context.Context, s side, traces string) (*worker, error) {
	if err := os.Mkdir(traces, 0o755); err != nil {
		return nil, err
	}
	args := append([]string{s.args[0], "--traces", traces}, s.args[1:]...)
	c, err := startChild(ctx, s.procs, args, "TMPDIR="+traces) // the parent removes what a killed child leaves
	return &worker{c, s, traces}, err
}

func (w *worker) trace(t task) string { return filepath.Join(w.traces, traceName(t)) }

func (w *worker) send(t task) error {
	if err := w.asks.Encode(t); err != nil {
		return w.died(err)
	}
	return nil
}

func (w *worker) receive(want task) (o outcome, err error) {
	switch err := w.answers.Decode(&o); {
	case err != nil:
		return o, w.died(err)
	case o.task != want:
		return o, fmt.Errorf("the process with %s gave an answer out of order", w.name)
	case o.Error != "":
		return o, fmt.Errorf("the run with %s broke down: %s", w.name, o.Error)
	}
	return o, nil
}

// died says how the process ended that should have answered.
func (w *worker) died(err error) error {
	return w.child.died("the process with "+w.name, err)
}
