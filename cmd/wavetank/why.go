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
		Short: "Find what a violation hangs on, by running the plan again",
		Long: `Why runs a plan that breaks an invariant, and then runs it again and again: once
without each fault and each setting, and once with each part of the engine that
it does without. What the violation cannot come without is necessary. Where it
came by a fault, and comes without that in another way, why says when. Of each
change why says what else goes wrong with it: other invariants that break, and
jobs that do not settle or fail. A run in which the invariant is not exercised
does not break it, and does not show that it holds. Where the preset hardened
prevents it, and no part of that alone, why finds those that do at once.

Of the runs in which the invariant holds, and nothing else goes wrong if there is
one, the nearest is that with the part of the engine which is there for the
invariant, and else that which goes longest as the plan's own does. Why shows the
events at which the two part. Where those are of no job on the path to the
violation, it shows the first that differ of one that is.

The faults of the plan strike in every order of the steps, so most violations come
in whatever order: why says nothing then. Where the order matters, the violation
comes in each of eight orders of all that follows the point of no return. Why looks
for it by halves: from a later step there are fewer orders, so what is certain at
one step is certain at every later one. Eight orders are few: the point may be later
than why says. A change with which the violation comes in another of eight orders
has only changed the order, and prevents nothing.

All these runs together have 500,000 steps, which take less than a minute on two
processors. Besides these, why makes the plan's own run twice, and two runs up to
the events at which they part. What the steps do not suffice for is not known, and
why says so.

With --against, another build of wavetank runs the plan, too. Why says whether
the invariant holds in that build, and shows the first event that is another there.
Where a change to the code broke the promise, it acts at that event or before: what
is left out is seen at whatever comes next.

Which invariant: the first that the run breaks, of promises if it breaks any.

Exit codes: 0 a cause was found, 2 usage or input, 3 nothing was broken, or the
violation comes whatever is changed, or the steps did not suffice to find a
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
				return cli.Usage(cmd, "--timeout is of the run of another build; give one with --against, or leave --timeout away")
			}
			return f.why(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd)
	cmd.Flags().Var(&f.seed, "seed", "the root of every draw, `N` (default the plan's)")
	cmd.Flags().StringVar(&f.invariant, "invariant", "", "explain the violation of `INVARIANT` (default the first that is broken)")
	cmd.Flags().Var((*program)(&f.against), "against", "let another build of wavetank run the plan, too, the program `PATH`, and show where the two part")
	cmd.Flags().DurationVar(&f.timeout, "timeout", otherTimeout, "how long the run of the other build may take, `TIME`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the cause as JSON, and nothing else, on standard output")
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
		return nil, fmt.Errorf("%w; in build %s, %s breaks: let that build explain it, with --against and this one", err, res.Build, broken)
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
		return cli.Fail(cli.ExitInconclusive, "no cause was found, and of %s it is not known what comes", cli.Plural(len(c.Unknown)+len(c.Unready), "change"))
	case len(c.Untried) > 0:
		return cli.Fail(cli.ExitInconclusive, "no cause was found: the plan is not valid without %s", why.Clip(strings.Join(c.Untried, ", ")))
	case c.Hardened == why.Holds:
		return cli.Fail(cli.ExitInconclusive, "no fault and no setting of the plan is necessary; the preset hardened prevents it, and which parts of that it takes is not known")
	case slices.ContainsFunc(c.Tried, func(t why.Tried) bool { return t.Idle && !t.Needed }):
		return cli.Fail(cli.ExitInconclusive, "no cause was found: in each run without the violation nothing happens that the invariant judges")
	}
	if c.Shuffled() {
		return cli.Fail(cli.ExitInconclusive, "the violation comes whatever is changed, in this order of the steps or in another: no fault and no setting is necessary")
	}
	return cli.Fail(cli.ExitInconclusive, "the violation comes whatever is changed: no fault and no setting is necessary")
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
	cli.Section(p, "Necessary: without any one of these it does not come", c.Blamed(), changed)
	cli.Section(p, "Circumstances that it needs, too", c.Circumstances(), changed)
	cli.Section(p, "Not necessary", c.Unneeded(), unneeded)
	cli.Section(p, "Not known what comes", slices.Concat(c.Unknown, c.Unready), why.Clip)
	if len(c.Together) > 0 {
		heading := "One of these is necessary: without all of them it does not come"
		if c.Apart.Idle {
			heading = "One of these is necessary: without all of them nothing happens that the invariant judges"
		}
		cli.Section(p, heading+c.Apart.But(), c.Together, why.Clip)
	}
	cli.Section(p, "Would have prevented it, each alone", c.Remedies(), remedy)
	cli.Section(p, "Would have prevented it, all at once and no fewer"+c.Joined.But(), c.Jointly, func(part why.Missing) string { return "--set " + part.Set })
	if n := c.Nearest; n != nil {
		p.Line("\n%s", p.Paint(cli.Bold, "Nearest run without it"))
		with := n.With()
		if n.Idle {
			with += " (nothing happens that the invariant judges)"
		}
		if n.PartsAt == 0 {
			p.Line("  %s: equal in all its steps; what differs leaves no event, as a metric does not", with)
		} else {
			p.Line("  %s: equal up to step %d, and then", with, n.PartsAt-1)
			printParting(p, &n.Parting)
		}
		if n.Then != nil {
			p.Line("  the first that differ of %s:", n.Then.Job)
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
		return why.Clip(t.Says) + " (without it, it comes in another order of the steps)"
	}
	if t.What == why.Strike && t.Did == "" {
		return why.Clip(t.Says) + " (it had not struck by then)"
	}
	if t.Otherwise > 0 {
		return fmt.Sprintf("%s (without it, it comes at %s)", why.Clip(t.Says), words.Instant(t.Otherwise))
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
