package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

type whyFlags struct {
	planFlags
	seed      string
	invariant string
	json      bool
	quiet     bool
}

func newWhy() *cobra.Command {
	var f whyFlags
	cmd := &cobra.Command{
		Use:   "why SCENARIO|FILE",
		Short: "Find what a violation hangs on, by running the plan again",
		Long: `Why runs a plan that breaks an invariant, and then runs it again and again: once
without each strike and each setting, and once with each part of the engine that
it does without. What the violation cannot come without is necessary. The run
without the violation that goes longest as the plan's own does is the nearest;
why shows the events at which the two part. From the point of no return on, the
violation comes in every order that was tried.

Which invariant: the first that the run breaks, of promises if it breaks any.

Exit codes: 0 a cause was found, 2 usage or input, 3 nothing was broken, or the
violation comes whatever is changed, 130 interrupted.`,
		Example: `  wavetank why publish-ack-lost
  wavetank why publish-ack-lost --invariant one-effect-per-key
  wavetank why paused-holder --preset hardened --set engine.fence=false
  wavetank why runs/fuzz-11-3f535cbd/findings/one-dispatch-per-job-d851938f.yaml`,
		Args:              cli.OneArg("the scenario or plan file"),
		ValidArgsFunction: completeScenarios(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.why(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.seed, "seed", "", "the root of every draw, `N` (default the plan's)")
	cmd.Flags().StringVar(&f.invariant, "invariant", "", "explain the violation of `INVARIANT` (default the first that is broken)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the cause as JSON, and nothing else, on standard output")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func (f *whyFlags) why(ctx context.Context, arg string, stdout, stderr io.Writer) error {
	if f.invariant != "" {
		if err := checkInvariant("--invariant", f.invariant); err != nil {
			return err
		}
	}
	s, err := f.load(arg, f.seed)
	if err != nil {
		return err
	}
	ctx, done, err := inOwnTemp(ctx, tempdir.Memory())
	if err != nil {
		return err
	}
	defer done()
	show := cli.NewProgress(stderr, f.quiet)
	cause, err := whatif.Explain(ctx, s.Plan, whatif.Options{Invariant: f.invariant, Progress: func(what string) { show.Show("%s", what) }})
	show.Done()
	switch {
	case errors.Is(context.Cause(ctx), cli.ErrInterrupted):
		return cli.Fail(cli.ExitInterrupted, "interrupted")
	case errors.Is(err, whatif.ErrHeld):
		return cli.Fail(cli.ExitInconclusive, "%s, seed %d: %v; there is nothing to explain", s.Name, s.Seed, err)
	case err != nil:
		return err
	}
	if f.json {
		err = cli.PrintJSON(stdout, cause)
	} else {
		printCause(cli.NewPrinter(stdout), s, cause)
	}
	if err == nil && !cause.Found() {
		err = cli.Fail(cli.ExitInconclusive, "the violation comes whatever is changed: no strike and no setting is necessary")
	}
	return err
}

func printCause(p *cli.Printer, s *subject, c *why.Cause) {
	p.Line("%s, preset %s, seed %d: %s was broken at step %d, %s", p.Paint(cli.Bold, s.Name), s.Preset, s.Seed, c.Invariant, c.Step, words.Instant(c.At))
	p.Line("  %s", c.Message)
	p.Line("  %s", c)
	cli.Section(p, "How it came", c.Path, pointed)
	cli.Section(p, "Necessary: it does not come if one of these is left out", c.Blamed(), changed)
	cli.Section(p, "Circumstances that it does not come without, either", c.Circumstances(), changed)
	cli.Section(p, "Not necessary", c.Unneeded(), func(t why.Tried) string { return t.Says })
	if len(c.Together) > 0 {
		p.Line("\nOne of these is necessary: it does not come if all of them are left out\n  %s", strings.Join(c.Together, "\n  "))
	}
	cli.Section(p, "Would have held it, each alone", c.Needed(why.Remedy), func(t why.Tried) string { return "--set " + t.Instead })
	if n := c.Nearest; n != nil {
		p.Line("\n%s", p.Paint(cli.Bold, "Nearest run without it"))
		with := "without " + n.Says
		if n.Instead != "" {
			with = "with " + n.Instead
		}
		p.Line("  %s: equal up to step %d, and then", with, n.Parts-1)
		p.Line("    here:  %s", parted(n.Own))
		p.Line("    there: %s", parted(n.Other))
	}
	if n := c.NoReturn; n != nil {
		p.Line("\n%s", p.Paint(cli.Bold, "Point of no return"))
		switch n.Step {
		case 0:
			p.Line("  The start: it came in each of %d orders.", n.Orders)
		default:
			p.Line("  Step %d: from there it came in each of %d orders; from the step before in %d.", n.Step, n.Orders, n.Before)
		}
	} else {
		p.Line("\nThe point of no return was not found: the runs are too long.")
	}
	if c.Cut {
		p.Line("\nThe runs are so long that not every change was tried.")
	}
	p.Line("\n%s", cli.Plural(c.Runs, "run"))
}

func pointed(at why.Point) string {
	if at.Step == 0 {
		return at.Says
	}
	return fmt.Sprintf("step %d: %s", at.Step, at.Says)
}

func changed(t why.Tried) string {
	if t.Instead != "" {
		return fmt.Sprintf("%s (with %s it holds)", t.Says, t.Instead)
	}
	return t.Says
}

// parted is one side of a parting.
func parted(at *why.Point) string {
	if at == nil {
		return "the run is over"
	}
	return fmt.Sprintf("%s, %s", words.Instant(at.At), at.Says)
}
