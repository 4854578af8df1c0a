package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// runPage is a run to have a page: its files are called after File, from the folder that they are in.
type runPage struct{ File, Plan string }

// make makes the page, and then writes its plan beside it, so that the plan is there if the page is.
func (p *runPage) make(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Dir(in(dir, p.File)), 0o755); err != nil {
		return unwritable(dir, err)
	}
	if err := planPage(ctx, dir, p.File+".yaml", p.Plan, p.File+".html", nil); err != nil {
		return err
	}
	return cli.WriteFile(in(dir, p.File+".yaml"), func(w io.Writer) error { _, err := io.WriteString(w, p.Plan); return err })
}

// made says whether the page is there, of that plan.
func (p *runPage) made(dir string) bool {
	plan, err := os.ReadFile(in(dir, p.File+".yaml"))
	_, missing := os.Stat(in(dir, p.File+".html"))
	return err == nil && missing == nil && string(plan) == p.Plan
}

// planPage runs a plan in this process, for its page, and looks for what the violation of a promise hangs on, unless that is known:
// these runs are many, and in some sweeps nearly all break something outside of its promise. The command to replay is the one that
// the terminal shows.
func planPage(ctx context.Context, dir, file, text, page string, known *why.Cause) error {
	plan, err := plans.Parse(file, []byte(text))
	if err != nil {
		return err
	}
	trace, err := os.CreateTemp("", "trace-*.jsonl")
	if err != nil {
		return err
	}
	defer os.Remove(trace.Name())
	defer trace.Close()
	w := bufio.NewWriterSize(trace, 1<<18)
	res, err := scenarios.Run(ctx, plan, scenarios.RunOptions{Trace: w})
	if err != nil {
		return err
	}
	res.RepeatedBy(scenarios.Command{Program: cli.ProgramName(), Source: filepath.ToSlash(in(dir, file))})
	if err := w.Flush(); err != nil {
		return err
	}
	if res.Cause = known; known == nil && res.Verdict == scenarios.Violated {
		if res.Cause, err = whatif.Explain(ctx, plan, whatif.Options{Whole: res, Quick: true}); err != nil {
			return err
		}
	}
	if _, err := trace.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return cli.WriteFile(in(dir, page), func(w io.Writer) error { return reports.Page(w, plan, res, reports.Trace(trace)) })
}
