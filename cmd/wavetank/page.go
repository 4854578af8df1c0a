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
)

// planPage runs a plan in this process, for its page, and looks for what its first violation hangs on. The command to replay
// is the one that the terminal shows.
func planPage(ctx context.Context, dir, file, text, page string) error {
	plan, err := plans.Parse(file, []byte(text))
	if err != nil {
		return err
	}
	trace, err := os.CreateTemp("", "trace-*.jsonl")
	if err != nil {
		return err
	}
	defer trace.Close()
	w := bufio.NewWriterSize(trace, 1<<18)
	res, err := scenarios.Run(ctx, plan, scenarios.RunOptions{Trace: w})
	if err != nil {
		return err
	}
	res.Replay = scenarios.RunCommand(filepath.ToSlash(in(dir, file)))
	if err := w.Flush(); err != nil {
		return err
	}
	if len(res.Violations) > 0 {
		if res.Cause, err = whatif.Explain(ctx, plan, whatif.Options{Quick: true}); err != nil {
			return err
		}
	}
	if _, err := trace.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return cli.WriteFile(in(dir, page), func(w io.Writer) error { return reports.Page(w, plan, res, reports.Trace(trace)) })
}
