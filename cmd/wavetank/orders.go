package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/orders"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

type ordersFlags struct {
	campaignFlags
	planFlags
	preemptions int
	runs        int
}

func newOrders() *cobra.Command {
	var f ordersFlags
	cmd := &cobra.Command{
		Use:   "orders SCENARIO|FILE",
		Short: "Run a tiny world in every order with few pre-emptions",
		Long: `Orders first runs a plan in the order in which an actor that has begun goes on while
it can. Then it runs the plan in every order in which another actor goes at one step,
at two steps, and so on up to --preemptions steps. Of runs that differ only in the order
of independent operations, it makes one. Two replicas and one job are a world of the
right size: each further pre-emption takes about ten times as many runs.

It leaves orders.json. For each set of invariants that broke together, it takes the
first order in which they did, shrinks it, and saves it with its page, as by fuzz.
Such a plan has the schedule.strategy bounded. Its schedule.preemptions lists the steps
and the actors that go at them.

With --runs, orders tries at most so many orders, those with the fewest pre-emptions
first. It then says how many orders it knows of and has not tried, also after a
Ctrl-C.

Exit codes: 0 no promise was broken in any order, 1 one was, 2 usage or input,
3 not every order was tried, or could be judged, 4 not deterministic,
130 interrupted.`,
		Example: `  wavetank orders calm --set workload.jobs=1 --set topology.workers=1
  wavetank orders calm --set workload.jobs=1 --preset documented --preemptions 2
  wavetank orders my-plan.yaml --runs 1000 --out runs/orders`,
		ValidArgsFunction: completeScenarios(),
		Args:              cli.OneArg("the scenario or plan file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.orders(cmd, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.planFlags.add(cmd)
	f.campaignFlags.add(cmd, "")
	cmd.Flags().Lookup("out").Usage = "the search's folder, `DIR` (default runs/orders-PLAN, and a hash behind it for a changed scenario, or a plan of your own)"
	noShards(cmd, "which orders are tried depends on the runs before them; run orders on one machine")
	cmd.Flags().IntVar(&f.preemptions, "preemptions", 3, "the most pre-emptions that an order has, `N`")
	cmd.Flags().IntVar(&f.runs, "runs", 0, "try at most `N` orders (default all)")
	return cmd
}

func (f *ordersFlags) orders(cmd *cobra.Command, arg string, stdout, stderr io.Writer) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("runs") && f.runs < 1 {
		return cli.Fail(cli.ExitUsage, "--runs is %d, out of range; give 1 or more", f.runs)
	}
	for _, set := range f.sets {
		if key, _ := keyAndValue(set); key == "schedule.strategy" || key == "schedule.preemptions" {
			return cli.Fail(cli.ExitUsage, "orders chooses the order of each run itself; leave --set %s out", set)
		}
	}
	s, err := f.load(arg, nil)
	if err != nil {
		return err
	}
	d, err := orders.Define(s.Plan, f.preemptions)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	dir := f.out
	if dir == "" {
		dir = filepath.Join(runsDir, "orders-"+s.Name+s.variant)
	}
	if err := clearOrders(dir, d); err != nil {
		return err
	}
	say := f.say(stdout)
	say.Line("%s: %s, preset %s, seed %d, up to %s", say.Paint(cli.Bold, "orders"), s.Name, s.Preset, s.Seed, cli.Plural(f.preemptions, "pre-emption"))
	s.printChanges(say)
	say.Line("  %s\n", dir)
	res, err := f.search(cmd.Context(), d, stderr)
	if err != nil && !errors.Is(err, cli.ErrInterrupted) {
		return err
	}
	if err := cli.WriteFile(in(dir, ordersFile), func(w io.Writer) error { return cli.PrintJSON(w, res) }); err != nil {
		return err
	}
	var broke *campaign.Result
	if err == nil {
		broke, err = f.examine(cmd.Context(), dir, res, stderr)
	}
	interrupted := errors.Is(err, cli.ErrInterrupted)
	if err != nil && !interrupted {
		return err
	}
	if f.json {
		if err := cli.PrintJSON(stdout, res); err != nil {
			return err
		}
	} else {
		p := cli.NewPrinter(stdout)
		if broke != nil {
			printFindings(p, in(dir, ordersCampaign), broke)
		}
		printOrders(p, dir, res, broke)
	}
	if interrupted {
		return cli.Fail(cli.ExitInterrupted, "interrupted; the orders tried by then are in %s. The same command begins anew", in(dir, ordersFile))
	}
	return exitOf(broke, res.Broken > 0, !res.Complete || res.Inconclusive > 0)
}

// clearOrders takes away what an earlier search of the same plan has left in dir: last what says that it is one.
func clearOrders(dir string, d *orders.Definition) error {
	var was orders.Result
	data, err := os.ReadFile(in(dir, ordersFile))
	ours := err == nil && json.Unmarshal(data, &was) == nil && was.Plan != ""
	if err := owned(dir, "a search for orders", ours, named(ordersFile, ordersCampaign)); err != nil {
		return err
	}
	if ours && was.Plan != d.Plan {
		return cli.Fail(cli.ExitUsage, "%s holds a search of another plan, %s; remove it, or choose another folder with --out", dir, was.Name)
	}
	if err := idle(in(dir, ordersCampaign)); err != nil {
		return err
	}
	return removeAll(in(dir, ordersCampaign), in(dir, ordersFile))
}

// search goes through the orders in worker processes. After a Ctrl-C it returns what there is, with [cli.ErrInterrupted].
func (f *ordersFlags) search(ctx context.Context, d *orders.Definition, stderr io.Writer) (*orders.Result, error) {
	ctx, done, err := inOwnTemp(ctx, tempdir.Memory())
	if err != nil {
		return nil, err
	}
	defer done()
	show := cli.NewProgress(stderr, f.quiet)
	defer show.Done()
	o := orders.Options{Runs: f.runs, Progress: ordersProgress(show)}
	for range cmp.Or(f.workers, runtime.NumCPU()) {
		w := &seat{start: func() (*child, error) { return startSeatWorker(ctx, ordersWorker, d) }}
		defer w.stop()
		o.Runners = append(o.Runners, w.order)
	}
	res, err := d.Explore(ctx, o)
	if err == nil && errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
		err = cli.ErrInterrupted
	}
	return res, err
}

// ordersProgress shows how far a search is.
func ordersProgress(show *cli.Progress) func(orders.Progress) {
	begun := time.Now()
	return func(now orders.Progress) {
		show.Show("%s of at most %s orders of %s, %.0f runs a second, %d broke a promise", cli.Thousands(now.Level), cli.Thousands(now.Of),
			cli.Plural(now.Preemptions, "pre-emption"), float64(now.Runs)/max(time.Since(begun).Seconds(), 0.001), now.Broken)
	}
}

// What is in a search's folder.
const (
	ordersFile     = "orders.json"
	ordersCampaign = "campaign" // a folder: of the plan in its own order, and in those that broke a promise
)

// examine runs the orders that broke a promise as a campaign, which shrinks them, and for which triage looks. What it
// returns with [cli.ErrInterrupted] is nil if no run was over.
func (f *ordersFlags) examine(ctx context.Context, dir string, res *orders.Result, stderr io.Writer) (*campaign.Result, error) {
	spec := campaign.Spec{Version: campaign.SpecVersion, Name: "orders", Given: []string{res.Plan}}
	for _, found := range res.Findings {
		if found.Preemptions != "" {
			spec.Given = append(spec.Given, found.Plan)
		}
	}
	at := in(dir, ordersCampaign)
	if err := campaign.Create(at, spec); err != nil {
		return nil, cli.Fail(cli.ExitUsage, "%v", err)
	}
	broke, err := f.run(ctx, at, nil, stderr)
	if err != nil {
		return broke, err
	}
	return broke, finishFuzz(ctx, at, broke)
}

// printOrders says what the search found. broke is what came of looking into it; nil is nothing.
func printOrders(p *cli.Printer, dir string, res *orders.Result, broke *campaign.Result) {
	for _, f := range res.Findings {
		pre := f.Preemptions
		if pre == "" {
			pre = "none"
		}
		p.Line("  %s: broken in %s, first in run %d; pre-emptions: %s", strings.Join(f.Invariants, ", "), cli.Plural(f.Runs, "run"), f.Run, pre)
	}
	left := 0
	for _, l := range res.Levels {
		left += l.Left
		p.Line("  %s: %s, %d broke a promise", cli.Plural(l.Preemptions, "pre-emption"), cli.Plural(l.Runs, "run"), l.Broken)
	}
	last := res.Levels[len(res.Levels)-1].Preemptions
	switch {
	case res.Broken > 0:
		p.Line("%s  %s broke a promise", p.Paint(cli.Red, "BROKEN"), cli.Plural(res.Broken, "order"))
	case broke != nil && (len(broke.Findings) > 0 || broke.Unexamined > 0):
		p.Line("%s  no promise was broken in the search, but one was when the same orders were run alone", p.Paint(cli.Red, "BROKEN"))
	case !res.Complete:
		p.Line("%s  no promise was broken in %s", p.Paint(cli.Yellow, "UNFINISHED"), cli.Plural(res.Runs, "order"))
	case res.Inconclusive > 0:
		p.Line("%s  none of %s broke a promise, and %s could not be judged", p.Paint(cli.Yellow, "INCONCLUSIVE"), cli.Plural(res.Runs, "order"), cli.Thousands(res.Inconclusive))
	default:
		p.Line("%s  no promise was broken in any order of up to %s", p.Paint(cli.Green, "HELD"), cli.Plural(res.Preemptions, "pre-emption"))
	}
	if left > 0 {
		p.Line("  not tried: at least %s of %s, and all orders of more", cli.Plural(left, "order"), cli.Plural(last, "pre-emption"))
	}
	if res.Inconclusive > 0 {
		p.Line("  inconclusive: %s", cli.Plural(res.Inconclusive, "order"))
	}
	p.Line("%s, %s, up to %d in a run, of %s, digest %s", cli.Plural(res.Runs, "run"), cli.Plural(res.Steps, "step"), res.LongestSteps, cli.Plural(res.Actors, "actor"), res.Digest)
	p.Line("Result: %s", in(dir, ordersFile))
}
