package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// whyVersion is the format of what why prints as JSON.
const whyVersion = 1

type whyFlags struct {
	planFlags
	seed      seedFlag
	invariant string
	against   string
	timeout   time.Duration
	json      bool
	quiet     bool
}

func newWhy() *cobra.Command {
	var f whyFlags
	cmd := &cobra.Command{
		Use:   "why SCENARIO|FILE",
		Short: "Find what a violation depends on, by running the plan again",
		Long: `Why runs a plan that breaks an invariant, and then runs it with one change at a time:
without each fault, without each setting, and with each part of the engine that the
plan switches off. If the violation does not come without a fault or a setting, that is
necessary. If a fault brought the violation about, and it also comes without the fault
in another way, why says when. For each change, why says what else goes wrong: other
invariants that break, and jobs that do not settle or that fail. A run that does not
exercise the invariant neither breaks it nor shows that it holds. If the preset hardened
prevents the violation, but no single part of the preset does, why finds the parts that
do so together.

Why also shows the nearest run without the violation. It is a run in which the invariant
holds and, if possible, nothing else goes wrong: the run with the part of the engine that
is there for the invariant, or else the run that is longest equal to the plan's own. Why
shows the events at which the two runs part. If these events are of no job on the path to
the violation, why shows the first events that differ of a job that is on it.

The faults of the plan strike in every order of the steps, so most violations come in any
order. Why then says nothing about the order. If the order matters, there is a point of
no return: the violation comes in each of eight orders of everything after it. Why finds
the point by halving: from a later step there are fewer orders, so what is certain at one
step is certain at every later step. Eight orders are few, and the point may be later than
why says. If the violation comes in one of eight orders in spite of a change, the change
only altered the order, and prevents nothing.

All these runs together have at most 500,000 steps, which take less than a minute on two
processors. In addition, why makes the plan's own run twice, and two runs up to the events
at which they part. If the steps do not suffice for something, why says that it is not
known.

With --against, another build of wavetank runs the plan, too. Why says whether the
invariant holds in that build, and shows the first event that differs. If a change to the
code broke the promise, the change acts at that event or before it: an operation that is
left out shows at the next event.

By default, why explains the first promise that the run breaks, or else the first
invariant that it breaks.

Exit codes: 0 a cause was found, 2 usage or input, 3 nothing was broken, or the
violation comes in spite of every change, or the steps did not suffice to find a
cause, 130 interrupted.`,
		Example: `  wavetank why publish-ack-lost
  wavetank why publish-ack-lost --invariant one-effect-per-key
  wavetank why paused-holder --preset hardened --set engine.fence=false
  wavetank why plan.yaml --against ../before/bin/wavetank
  wavetank why runs/fuzz-11-3f535cbd/findings/one-dispatch-per-job-d851938f.yaml`,
		Args:              cli.OneArg("the scenario or plan file"),
		ValidArgsFunction: completeScenarios(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("timeout") && f.against == "" {
				return cli.Usage(cmd, "--timeout limits the run of another build; give that build with --against, or leave --timeout out")
			}
			return f.why(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd)
	cmd.Flags().Var(&f.seed, "seed", "the root of every draw, `N` (default the plan's)")
	cmd.Flags().StringVar(&f.invariant, "invariant", "", "explain the violation of `INVARIANT` (default the first that is broken)")
	cmd.Flags().Var((*program)(&f.against), "against", "also run the plan with another build of wavetank, the program `PATH`, and show where the two runs part")
	cmd.Flags().DurationVar(&f.timeout, "timeout", otherTimeout, "how long the run of the other build may take, `TIME`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print only the cause, as JSON, on standard output")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func (f *whyFlags) why(ctx context.Context, arg string, stdout, stderr io.Writer) error {
	if f.timeout <= 0 {
		return cli.Fail(cli.ExitUsage, "--timeout is %s, out of range; give a time such as 5m", f.timeout)
	}
	if f.invariant != "" {
		if err := checkInvariant("--invariant", f.invariant); err != nil {
			return err
		}
	}
	s, err := f.load(arg, &f.seed)
	if err != nil {
		return err
	}
	var other *otherBuild
	removeTraces := func() {}
	if f.against != "" {
		var traces string
		if traces, removeTraces, err = newTemp(""); err != nil { // on the disk: they may be long
			return err
		}
		defer removeTraces()
		if other, err = findOtherBuild(f.against, traces, f.timeout); err != nil {
			return err
		}
	}
	ctx, done, err := inOwnTemp(ctx, tempdir.Memory(), removeTraces)
	if err != nil {
		return err
	}
	defer done()
	show := cli.NewProgress(stderr, f.quiet)
	onOneThread()
	cause, err := f.explain(ctx, s.Plan, other, func(what string) { show.Show("%s", what) })
	show.Done()
	switch {
	case errors.Is(context.Cause(ctx), cli.ErrInterrupted):
		return cli.Fail(cli.ExitInterrupted, "interrupted")
	case errors.Is(err, whatif.ErrHeld):
		return cli.Fail(cli.ExitInconclusive, "%s, seed %d: %v", s.Name, s.Seed, err)
	case err != nil:
		return err
	}
	if f.json {
		err = cli.PrintJSON(stdout, struct {
			Version int `json:"version"`
			*why.Cause
		}{whyVersion, cause})
	} else {
		printCause(cli.NewPrinter(stdout), s, cause)
	}
	if err != nil {
		return err
	}
	return notFound(cause)
}

// explain finds the cause, and where the plan's run parts from that of another build, if there is one.
func (f *whyFlags) explain(ctx context.Context, plan *plans.Plan, other *otherBuild, say func(string)) (*why.Cause, error) {
	opt := whatif.Options{Invariant: f.invariant, Progress: say}
	if other == nil {
		return whatif.Explain(ctx, plan, opt)
	}
	say("the plan's own run")
	whole, err := other.ownRun(ctx, plan)
	if err != nil {
		return nil, err
	}
	opt.Whole = whole
	say("the run of the other build")
	res, err := other.run(ctx, plan, f.invariant)
	if err != nil {
		return nil, err
	}
	cause, err := whatif.Explain(ctx, plan, opt)
	if broken := res.broken(f.invariant); errors.Is(err, whatif.ErrHeld) && broken != "" {
		return nil, fmt.Errorf("%w; in build %s, %s breaks: run why with that build, and give this one to --against", err, res.Build, broken)
	}
	if err != nil {
		return nil, err
	}
	cause.Other, err = other.compare(res, cause.Invariant)
	return cause, err
}

// notFound is the error of a cause that names nothing, and nil of one that does.
func notFound(c *why.Cause) error {
	switch {
	case c.Found():
		return nil
	case len(c.Unknown)+len(c.Unready) > 0:
		return cli.Fail(cli.ExitInconclusive, "no cause was found, and what comes with %s is not known", cli.Plural(len(c.Unknown)+len(c.Unready), "change"))
	case len(c.Untried) > 0:
		return cli.Fail(cli.ExitInconclusive, "no cause was found: the plan is not valid without %s", why.Clip(strings.Join(c.Untried, ", ")))
	case c.Hardened == why.Holds:
		return cli.Fail(cli.ExitInconclusive, "no fault and no setting of the plan is necessary; the preset hardened prevents the violation, but which of its parts do is not known")
	case slices.ContainsFunc(c.Tried, func(t why.Tried) bool { return t.Idle && !t.Needed }):
		return cli.Fail(cli.ExitInconclusive, "no cause was found: in each run without the violation, nothing happens that the invariant judges")
	}
	if c.Shuffled() {
		return cli.Fail(cli.ExitInconclusive, "the violation comes in spite of every change, in this order of the steps or in another: no fault and no setting is necessary")
	}
	return cli.Fail(cli.ExitInconclusive, "the violation comes in spite of every change: no fault and no setting is necessary")
}

func printCause(p *cli.Printer, s *subject, c *why.Cause) {
	p.Line("%s, preset %s, seed %d: %s was broken at step %d, %s", p.Paint(cli.Bold, s.Name), s.Preset, s.Seed, c.Invariant, c.Step, words.Instant(c.At))
	p.Line("  %s", c.Message)
	printOther(p, c)
	p.Line("  %s", c.Brief())
	if says := c.Holding(); says != "" {
		p.Line("  %s", says)
	}
	cli.Section(p, "How it came", c.Path, pointed)
	cli.Section(p, "Necessary: if one of these is left out, the violation does not come", c.Blamed(), changed)
	cli.Section(p, "Circumstances that the violation needs, too", c.Circumstances(), changed)
	cli.Section(p, "Not necessary", c.Unneeded(), unneeded)
	cli.Section(p, "Outcome not known", slices.Concat(c.Unknown, c.Unready), why.Clip)
	if len(c.Together) > 0 {
		heading := "One of these is necessary: without all of them the violation does not come"
		if c.Apart.Idle {
			heading = "One of these is necessary: without all of them nothing happens that the invariant judges"
		}
		cli.Section(p, heading+c.Apart.But(), c.Together, why.Clip)
	}
	cli.Section(p, "Would have prevented the violation, each alone", c.Remedies(), remedy)
	cli.Section(p, "Would have prevented the violation, only all together"+c.Joined.But(), c.Jointly, func(part why.Missing) string { return "--set " + part.Set })
	if n := c.Nearest; n != nil {
		p.Line("\n%s", p.Paint(cli.Bold, "Nearest run without the violation"))
		with := n.With()
		if n.Idle {
			with += " (nothing happens that the invariant judges)"
		}
		if n.PartsAt == 0 {
			p.Line("  %s: equal in all its steps; the difference leaves no event, as in a metric", with)
		} else {
			p.Line("  %s: equal up to step %d, and then", with, n.PartsAt-1)
			printParting(p, &n.Parting)
		}
		if n.Then != nil {
			p.Line("  the first events of %s that differ:", n.Then.Job)
			printParting(p, n.Then)
		}
	}
	p.Line("\n%s, %s", cli.Plural(c.Runs, "run"), cli.Plural(c.Steps, "step"))
}

func printOther(p *cli.Printer, c *why.Cause) {
	o := c.Other
	if o == nil {
		return
	}
	if o.PartsAt == 0 {
		p.Line("  %s. The run is equal in all its steps.", o.Says(c.Invariant))
		return
	}
	p.Line("  %s. The run is equal up to step %d, and then", o.Says(c.Invariant), o.PartsAt-1)
	printParting(p, &o.Parting)
}

func unneeded(t why.Tried) string {
	if t.Shuffled {
		return why.Clip(t.Says) + " (without it, the violation comes in another order of the steps)"
	}
	if t.What == why.Strike && t.Did == "" {
		return why.Clip(t.Says) + " (the fault had not struck by then)"
	}
	if t.Otherwise > 0 {
		return fmt.Sprintf("%s (without it, the violation comes at %s)", why.Clip(t.Says), words.Instant(t.Otherwise))
	}
	return why.Clip(t.Says)
}

func pointed(at why.Point) string {
	if at.Step == 0 {
		return at.Says
	}
	return fmt.Sprintf("step %d: %s", at.Step, at.Says)
}

func remedy(t why.Tried) string {
	says := "--set " + why.Clip(t.Instead)
	if t.Idle {
		says += " (nothing happens that the invariant judges)"
	}
	return says + t.But()
}

func changed(t why.Tried) string {
	without := "without this setting"
	switch {
	case t.Instead != "":
		without = "with " + why.Clip(t.Instead)
	case t.What == why.Strike:
		without = "without this fault"
	}
	switch {
	case t.Idle:
		return fmt.Sprintf("%s (%s nothing happens that the invariant judges%s)", why.Clip(t.Says), without, t.But())
	case t.Instead != "" || t.But() != "":
		return fmt.Sprintf("%s (%s it holds%s)", why.Clip(t.Says), without, t.But())
	}
	return why.Clip(t.Says)
}

func printParting(p *cli.Printer, at *why.Parting) {
	parted := func(of *why.Point) string {
		if of == nil {
			return at.Over()
		}
		return fmt.Sprintf("%s, %s", words.Instant(of.At), of.Says)
	}
	p.Line("    here:  %s", parted(at.Own))
	p.Line("    there: %s", parted(at.Other))
}
