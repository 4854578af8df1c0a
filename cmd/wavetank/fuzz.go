package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/shell"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

type fuzzFlags struct {
	campaignFlags
	planFlags
	budget string
	seed   seedFlag
	resume string
	junit  string
	shard  shardFlag
	queue  queueFlags
}

func newFuzz() *cobra.Command {
	var f fuzzFlags
	cmd := &cobra.Command{
		Use:   "fuzz [SCENARIO|FILE...]",
		Short: "Look for plans that break a promise, and shrink what is found",
		Long: `Fuzz runs plans drawn at random (nodes, workload, settings, faults, the order of
steps, the seed), or perturbations of the given scenarios, in one process for each
processor. A plan that breaks a promise is run again, to see whether it does so each
time. Then it is shrunk to the smallest plan that still breaks the promise, and saved
with its page and the command that replays it. Panics, hangs, leaked goroutines and
heaps without bound of the code under test are findings, too.

Ctrl-C ends fuzz cleanly: each finding has its page, and --resume continues the
campaign. A budget in runs gives the same result for the same --seed, whatever the
number of workers.

With --shard 3/16, fuzz runs the third of sixteen parts of such a budget, and
examines the runs of that part that break a promise. ` + "`wavetank merge`" + ` combines the folders of all
parts. The result equals that of one machine, byte for byte.

With --queue, fuzz leaves the runs of such a budget to the machines that join with
` + "`wavetank work`" + `, and examines what they find. The result is the same again. If this command
or a machine is killed, nothing is lost: --resume DIR --queue URL continues.

Exit codes: 0 no promise was broken, or the shard has no run, 1 one was, 2 usage or
input, 3 no run could be judged, 4 not deterministic, 130 interrupted.`,
		Example: `  wavetank fuzz
  wavetank fuzz --budget 1h --preset hardened
  wavetank fuzz publish-failure stale-worker --budget 10000runs --seed 7
  wavetank fuzz --set engine.dispatch_order=publish-first
  wavetank fuzz --preset documented --judge one-dispatch-per-job
  wavetank fuzz --budget 100000runs --seed 7 --shard 3/16 --out runs/shard-3
  wavetank fuzz --budget 100000runs --seed 7 --queue nats://nats:4222`,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return plans.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.fuzz(cmd, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.planFlags.add(cmd)
	f.campaignFlags.add(cmd, "runs/fuzz-SEED, and a hash behind it, of the budget too, if scenarios, --preset, --set or --judge are given")
	cmd.Flags().Lookup("preset").Usage = "settings of the engine and its servers to start from, `NAME`: documented or hardened (default both; for a scenario, its own)"
	cmd.Flags().StringVar(&f.budget, "budget", "60s", "real time for runs, `TIME|RUNS`, such as 60s or 10000runs")
	cmd.Flags().Var(&f.seed, "seed", "the root of every draw, `N` (default drawn from the clock)")
	f.addJudge(cmd, "also count violations of `INVARIANT` outside of its promise; repeatable")
	cmd.Flags().StringVar(&f.resume, "resume", "", "continue the campaign in `DIR` that was cut short")
	f.shard.add(cmd, "the budget must then be in runs, not a time")
	f.queue.addAll(cmd)
	cmd.Flags().StringVar(&f.junit, "junit", "", "write the result for CI, as JUnit XML, to `FILE`, whose folder is made if it is missing")
	return cmd
}

func (f *fuzzFlags) fuzz(cmd *cobra.Command, args []string, stdout, stderr io.Writer) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if err := f.queue.check(cmd); err != nil {
		return err
	}
	dir, spec, err := f.target(cmd, args)
	if err != nil {
		return err
	}
	if err := f.queue.use(cmd.Context(), &f.campaignFlags, stderr); err != nil {
		return err
	}
	if cmd.Flags().Changed("resume") {
		err = f.goOn(dir, stderr)
	} else {
		err = f.prepare(dir, there(in(dir, reports.PageFile)), spec, stderr)
	}
	if err != nil {
		return err
	}
	say := f.say(stdout)
	printCampaign(say, dir, spec)
	res, err := f.run(cmd.Context(), dir, nil, stderr)
	return f.tell(cmd.Context(), dir, spec, res, err, stdout, stderr)
}

// tell prints what came of the campaign in dir, which ended with err, and leaves its pages.
func (f *fuzzFlags) tell(ctx context.Context, dir string, spec campaign.Spec, res *campaign.Result, err error, stdout, stderr io.Writer) error {
	say := f.say(stdout)
	interrupted := errors.Is(err, cli.ErrInterrupted)
	if err != nil && !interrupted {
		if res != nil && !f.json {
			p := cli.NewPrinter(stdout)
			p.Line("%s  What follows is of the runs that were over, which are kept. Go on with: %s", p.Paint(cli.Yellow, "CUT SHORT"), f.resumeCommand(dir, spec))
			printFound(p, dir, res)
		}
		return err
	}
	if f.json {
		if err := cli.PrintJSON(stdout, res); err != nil {
			return err
		}
	} else {
		printFound(cli.NewPrinter(stdout), dir, res)
	}
	err = f.publish(ctx, dir, res, stderr, interrupted)
	interrupted = interrupted || errors.Is(err, cli.ErrInterrupted)
	if err != nil && !interrupted {
		return err
	}
	if !interrupted || res.Runs > 0 && !res.Complete {
		say.Line("Report: %s", in(dir, reports.PageFile))
	}
	if !interrupted && spec.Shard != nil {
		say.Line("With the other shards: %s", mergeCommand())
	}
	if interrupted {
		return cli.Fail(cli.ExitInterrupted, "interrupted; what was finished is kept. Go on with: %s", f.resumeCommand(dir, spec))
	}
	empty := spec.Shard != nil && res.Runs == 0 // of more shards than there are runs
	return exitOf(res, false, res.Conclusive == 0 && !empty)
}

// resumeCommand is how the campaign in dir is gone on with, at its queue if it has one.
func (f *fuzzFlags) resumeCommand(dir string, spec campaign.Spec) string {
	command := resumeCommand(dir, spec)
	if f.elsewhere != nil {
		command += " --queue " + shell.Word(f.queue.server.Public())
	}
	return command
}

// publish writes what others read of a campaign: its pages, JUnit, and what GitHub shows. What one of
// them fails with does not keep the others.
func (f *fuzzFlags) publish(ctx context.Context, dir string, res *campaign.Result, stderr io.Writer, interrupted bool) error {
	var junit, pages error
	if f.junit != "" {
		junit = cli.WriteFile(f.junit, func(w io.Writer) error { return reports.JUnit(w, res) })
	}
	if !interrupted || res.Runs > 0 {
		pages = finishFuzz(ctx, dir, res)
	}
	github := onGitHub(stderr, func(w io.Writer) error { return reports.Annotations(w, res) }, func(w io.Writer) error { return reports.Summary(w, res) })
	for _, err := range []error{pages, junit, github} {
		if err != nil {
			return err
		}
	}
	return nil
}

// campaignFiles are those of a campaign's folder.
var campaignFiles = []string{campaign.SpecFile, campaign.JournalFile, campaign.LockFile, campaign.ResultFile, reports.PageFile}

// target is the campaign's folder, and what it runs.
func (f *fuzzFlags) target(cmd *cobra.Command, args []string) (string, campaign.Spec, error) {
	if cmd.Flags().Changed("resume") {
		for _, name := range []string{"out", "seed", "budget", "preset", "set", "judge", "shard"} {
			if cmd.Flags().Changed(name) {
				return "", campaign.Spec{}, cli.Usage(cmd, "--resume continues the campaign as it was begun, and takes no --%s", name)
			}
		}
		if len(args) > 0 {
			return "", campaign.Spec{}, cli.Usage(cmd, "--resume continues the campaign as it was begun, and takes no scenario")
		}
		spec, err := campaign.Load(f.resume)
		if err == nil && spec.Drawn == nil {
			err = fmt.Errorf("%s holds a sweep or a comparison; the command that began it goes on with it", f.resume)
		}
		if err != nil {
			return "", campaign.Spec{}, cli.Fail(cli.ExitUsage, "%v", err)
		}
		if err := f.goesOn(spec.RedisServer()); err != nil {
			return "", campaign.Spec{}, err
		}
		if err := f.queue.inRuns(spec.Budget, spec.Budget.String(), spec.Shard); err != nil {
			return "", campaign.Spec{}, err
		}
		return f.resume, spec, fitJUnit(f.junit, campaignFiles, f.resume)
	}
	spec, err := f.spec(args)
	if err != nil {
		return "", campaign.Spec{}, err
	}
	if err := f.part(cmd, &spec); err != nil {
		return "", campaign.Spec{}, err
	}
	if err := f.queue.inRuns(spec.Budget, "--budget "+f.budget, spec.Shard); err != nil {
		return "", campaign.Spec{}, err
	}
	if cmd.Flags().Changed("queue") && !f.seed.given {
		return "", campaign.Spec{}, cli.Fail(cli.ExitUsage, "--queue needs a --seed: without one, the same command begins another campaign and does not continue this one")
	}
	dir := f.out
	if dir == "" {
		plain := len(args)+len(f.presets)+len(f.settings())+len(f.judge) == 0
		dir = shardDir(folderOf(fmt.Sprintf("fuzz-%d", spec.Seed), plain, spec.Whole()), spec.Shard)
	}
	return dir, spec, fitJUnit(f.junit, campaignFiles, dir)
}

// part makes spec that of a shard, if one is asked for.
func (f *fuzzFlags) part(cmd *cobra.Command, spec *campaign.Spec) error {
	if err := f.shard.of(cmd, spec); err != nil || spec.Shard == nil {
		return err
	}
	if err := notInTime(spec, spec.Budget, "--budget "+f.budget); err != nil {
		return err
	}
	if !f.seed.given {
		return cli.Fail(cli.ExitUsage, "--shard needs a --seed: without one, each shard draws plans of its own")
	}
	return nil
}

func (f *fuzzFlags) spec(args []string) (campaign.Spec, error) {
	spec := campaign.Spec{Version: campaign.SpecVersion, Name: "fuzz"}
	b, err := parseBudget(f.budget)
	if err != nil {
		return spec, err
	}
	spec.Runs, spec.Budget = b.runs, b.time
	spec.Seed = f.rootSeed()
	if err := f.useRedis(); err != nil {
		return spec, err
	}
	if err := errors.Join(f.noFlags(), once(f.settings())); err != nil {
		return spec, err
	}
	for _, name := range f.judge {
		if err := checkJudge(name); err != nil {
			return spec, err
		}
	}
	drawn := &campaign.Drawn{Presets: f.presets, Sets: f.settings(), Judged: f.judge}
	if len(drawn.Presets)+len(args) == 0 {
		drawn.Presets = []string{plans.PresetDocumented, plans.PresetHardened}
	}
	for _, arg := range args {
		if strictyaml.FromStandardInput(arg) {
			return spec, cli.Fail(cli.ExitUsage, "fuzz reads the plan in several processes, but standard input can be read only once; give a file")
		}
		plan, err := plans.Load(arg)
		if err != nil {
			return spec, err
		}
		text, err := plans.Marshal(plan)
		if err != nil {
			return spec, err
		}
		drawn.Plans = append(drawn.Plans, string(text))
	}
	spec.Drawn = drawn
	if err := spec.Validate(); err != nil {
		var pe *strictyaml.Error
		if errors.As(err, &pe) {
			return spec, err
		}
		return spec, cli.Fail(cli.ExitUsage, "%v", err)
	}
	return spec, nil
}

// rootSeed is --seed, or one that nobody has fuzzed under yet.
func (f *fuzzFlags) rootSeed() uint64 {
	if !f.seed.given {
		return uint64(time.Now().UnixNano()) / 1000 % 1_000_000_000
	}
	return f.seed.n
}

// findingPage runs a finding's plan once more, in this process, for its page. One that takes its
// process down, or may do so, has none: what is known of it is on the campaign's page.
func findingPage(ctx context.Context, dir string, f *campaign.Finding) error {
	if f.Verdict == "" || f.Flaky {
		return nil
	}
	return planPage(ctx, dir, f.File, f.Plan, reports.FindingPage(f), f.Explained)
}

// findingPlan writes a finding's plan again where somebody has taken it away.
func findingPlan(dir string, f *campaign.Finding) error {
	if _, err := os.Stat(in(dir, f.File)); err == nil {
		return nil
	}
	return cli.WriteFile(in(dir, f.File), func(w io.Writer) error { _, err := io.WriteString(w, f.Plan); return err })
}

// finishFuzz writes the pages: one for each finding, and last the campaign's. A Ctrl-C leaves out those of findings that are
// not made yet, and its error is [cli.ErrInterrupted]. A campaign that is over is without its page then, by which the command
// that began it knows what is left to do.
func finishFuzz(ctx context.Context, dir string, res *campaign.Result) error {
	ctx, done, err := inOwnTemp(ctx, tempdir.Memory())
	if err != nil {
		return err
	}
	defer done()
	var bad error
	for i := range res.Findings {
		if err := findingPlan(dir, &res.Findings[i]); err != nil && bad == nil {
			bad = err
		}
		if err := findingPage(ctx, dir, &res.Findings[i]); err != nil && bad == nil && ctx.Err() == nil {
			bad = err
		}
	}
	interrupted := errors.Is(context.Cause(ctx), cli.ErrInterrupted)
	if interrupted && res.Complete {
		return cli.ErrInterrupted
	}
	if err := reports.WriteCampaign(dir, cli.ProgramName(), res); err != nil {
		return cli.Fail(cli.ExitUsage, "%s cannot be written: %v; the result is kept: make room, and make the page with `wavetank report %s`", in(dir, reports.PageFile), strictyaml.FileReason(err), shell.Operand(dir))
	}
	if interrupted {
		return cli.ErrInterrupted
	}
	return bad
}
