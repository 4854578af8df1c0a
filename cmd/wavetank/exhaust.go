package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

type exhaustFlags struct {
	campaignFlags
	planFlags
	faults   int
	unpruned bool
	reduced  bool
	lengths  string
	phases   []string
	kinds    []string
	budget   time.Duration
	resume   string
	merging  bool // the folders are of others, and only read
	shard    shardFlag
	part     *campaign.Shard // nil is all
	queue    queueFlags
}

// The lengths of faults that last.
const (
	oneLength   = "one"
	everyLength = "every"
)

func newExhaust() *cobra.Command {
	var f exhaustFlags
	cmd := &cobra.Command{
		Use:   "exhaust SCENARIO|FILE|all...",
		Short: "Strike every operation of a run with every fault that can strike it, one fault a run, and write a certificate",
		Long: `Exhaust runs a plan as it is and lists the operations of the run. Then it runs the
plan once for each pair of an operation and a fault that can strike it. Such a fault is
an effect on the operation, or happens right after it: a crash of the node that made the
operation, with a restart and, if the plan heals, without one; a pause or a partition of
that node; a clock that is an hour ahead; a failover of Redis; a restart of nats-server;
a kill or a power loss of either server; or a Redis without memory.

It leaves a certificate, and a page of it, the fault map. The certificate says what was
tried, and how each run ended. It lists each invariant that was broken outside of its
promise, with the cell of the promise matrix that releases the invariant. A fault that
breaks a promise is shrunk and saved as a plan, as by fuzz.

With --faults 2, every fault at every later operation of the run follows each of these
faults, also at operations that the first fault causes. A second fault is left out
if it looks the same as another second fault, or as the same fault without a first:
it strikes the same operation, and the same is known of the operation's job, or of
everything. The time makes no difference. The closest pairs come first. With --budget,
the search ends after a time, and the same command continues it.

With --reduced, exhaust strikes only the operations of the jobs that the plan is about,
and operations of no job. If several faults look the same to those jobs at different
times, as at the polls of a long wait, it tries one of them. It strikes several
scenarios, or all of them, in this way, beginning with those of the fewest runs, and
writes an index over their certificates and a table of them, certificates.tsv.

With --lengths every, exhaust tries each fault that lasts at the lengths just below and
just above every duration in the engine's settings, up to an hour. With --phase, it
strikes only operations of those phases. With --fault, it strikes only with faults of
those kinds.

If a fault of the plan strikes an operation, or keeps it from its server, no other fault
can strike it. Exhaust leaves such faults out, and counts them.

Ctrl-C ends exhaust cleanly. --resume, or the same command, continues where it ended.

With --shard 3/16, exhaust makes the third of sixteen parts of the runs. ` + "`wavetank merge`" + `
combines the folders of all parts, and makes the certificate. With --queue,
the runs are made by the machines that join with ` + "`wavetank work`" + `.

Exit codes: 0 no promise was broken, 1 one was, 2 usage or input,
3 not every fault was tried, or could be judged, 4 not deterministic,
130 interrupted.`,
		Example: `  wavetank exhaust calm --set workload.jobs=2 --preset hardened
  wavetank exhaust saga-rollback --lengths every
  wavetank exhaust calm --set workload.jobs=1 --faults 2 --budget 1h
  wavetank exhaust publish-ack-lost --phase publish --phase running_write
  wavetank exhaust all --preset hardened --budget 2h
  wavetank exhaust --resume runs/exhaust-calm-0f3c9a51`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return append(plans.Names(), allScenarios), cobra.ShellCompDirectiveDefault
			}
			return plans.Names(), cobra.ShellCompDirectiveDefault
		},
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] == allScenarios {
				return f.exhaustAll(cmd, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return f.exhaust(cmd, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.planFlags.add(cmd)
	f.campaignFlags.add(cmd, "runs/exhaust-PLAN, and a hash behind it of what else is given")
	cmd.Flags().Lookup("out").Usage = "the folder of the certificate, `DIR` (default runs/exhaust-PLAN, and a hash behind it if more is given)"
	cmd.Flags().IntVar(&f.faults, "faults", 1, "faults in a run, `N`: 1 or 2")
	cmd.Flags().BoolVar(&f.unpruned, "unpruned", false, "with --faults 2: leave no pair out")
	cmd.Flags().DurationVar(&f.budget, "budget", 0, "real time for runs, `TIME`; the same command then continues (default no limit)")
	cmd.Flags().BoolVar(&f.reduced, "reduced", false, "strike only the jobs that the plan is about, and try one of the faults that look alike")
	cmd.Flags().StringVar(&f.lengths, "lengths", oneLength, "the lengths of faults that last, `LENGTHS`: one or every")
	_ = cmd.RegisterFlagCompletionFunc("lengths", cobra.FixedCompletions([]string{oneLength, everyLength}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringArrayVar(&f.kinds, "fault", nil, "strike only with faults of `KIND`, a column of the fault map; repeatable")
	cmd.Flags().StringArrayVar(&f.phases, "phase", nil, "strike only operations of `PHASE`, as list faults names it; repeatable")
	f.shard.add(cmd, "takes no --budget then")
	f.queue.addAll(cmd)
	cmd.Flags().StringVar(&f.resume, "resume", "", "continue the search in `DIR` that was cut short")
	return cmd
}

func (f *exhaustFlags) exhaust(cmd *cobra.Command, args []string, stdout, stderr io.Writer) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if err := f.queue.check(cmd); err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(cmd.Context(), func() {})
	defer stop()
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	d, dir, err := f.target(ctx, cmd, args, stderr)
	if err != nil {
		return err
	}
	say := f.say(stdout)
	f.sayWhat(say, dir, d)
	if f.part != nil {
		err = f.certifyPart(ctx, dir, d, stdout, stderr)
	} else {
		var c *exhaust.Certificate
		var res *campaign.Result
		if c, res, err = f.certify(ctx, dir, d, stderr); c != nil {
			err = f.tell(dir, c, res, err, stdout)
		}
	}
	if errors.Is(err, cli.ErrInterrupted) {
		return cli.Fail(cli.ExitInterrupted, "interrupted; what was finished is kept. Go on with: %s", goOnIn(dir))
	}
	return err
}

// sayWhat says what is about to be tried.
func (f *exhaustFlags) sayWhat(say *cli.Printer, dir string, d *exhaust.Definition) {
	if d.Pairs {
		say.Line("%s: %s, and after each of them every fault that looks like no other: %s", say.Paint(cli.Bold, "exhaust"), cli.Plural(len(d.Firsts), "single fault"), cli.Plural(1+len(d.Tries), "run"))
	} else {
		say.Line("%s: %s, each struck by every fault that can strike it, one fault a run: %s", say.Paint(cli.Bold, "exhaust"), cli.Plural(len(d.Sites), "operation"), cli.Plural(1+len(d.Tries), "run"))
	}
	if d.Alike > 0 {
		say.Line("  left out, since another %s: %s", exhaust.LooksTheSame(d.Reduced, d.Pairs), cli.Plural(d.Alike, "fault"))
	}
	if d.Beyond > 0 {
		say.Line("  %s by itself, so that no second fault follows: %s", say.Paint(cli.Red, "out of bounds"), cli.Plural(d.Beyond, "single fault"))
	}
	if d.Own > 0 {
		say.Line("  left out, since another fault strikes the operation or keeps it from its server: %s", cli.Plural(d.Own, "fault"))
	}
	if d.Apart > 0 {
		say.Line("  not struck: %s of compensations, replays and steps, which no fault can name", cli.Plural(d.Apart, "operation"))
	}
	if d.Aside > 0 {
		say.Line("  not struck: %s of jobs that the plan is not about", cli.Plural(d.Aside, "operation"))
	}
	if spec := f.spec(d); spec.Shard != nil {
		say.Line("  %s", spec.Part())
	}
	say.Line("  %s\n", dir)
}

// tell prints what was certified, which was stored unless that failed.
func (f *exhaustFlags) tell(dir string, c *exhaust.Certificate, res *campaign.Result, failed error, stdout io.Writer) error {
	if f.json {
		if err := cli.PrintJSON(stdout, c); err != nil {
			return err
		}
	} else {
		p := cli.NewPrinter(stdout)
		printCertificate(p, dir, c, res)
		if failed == nil {
			p.Line("Certificate: %s", in(dir, exhaust.CertificateFile))
			p.Line("Fault map:   %s", filepath.Join(dir, reports.PageFile))
		}
		if !c.Complete {
			p.Line("Go on with:  %s", goOnIn(dir))
		}
	}
	return cmp.Or(failed, exitOf(res, broke(c)+c.Beyond > 0, !c.Complete || c.Counts[exhaust.Inconclusive] > 0))
}

// target is what is tried, and its folder.
func (f *exhaustFlags) target(ctx context.Context, cmd *cobra.Command, args []string, stderr io.Writer) (*exhaust.Definition, string, error) {
	switch {
	case cmd.Flags().Changed("resume"):
		return f.resumed(ctx, cmd, args, stderr)
	case f.faults != 1 && f.faults != 2:
		return nil, "", cli.Fail(cli.ExitUsage, "--faults is %d, out of range; give 1 or 2", f.faults)
	case f.unpruned && f.faults != 2:
		return nil, "", cli.Usage(cmd, "--unpruned is about pairs; it needs --faults 2")
	case f.unpruned && f.reduced:
		return nil, "", cli.Usage(cmd, "--unpruned leaves no pair out, and --reduced leaves faults out; give one of them")
	case len(args) == 0:
		return nil, "", cli.Usage(cmd, "exhaust takes a scenario or a plan file; `wavetank list scenarios` names the scenarios")
	case f.lengths != oneLength && f.lengths != everyLength:
		return nil, "", cli.Fail(cli.ExitUsage, "--lengths is %.60q; give one or every", f.lengths)
	}
	s, err := f.load(args[0], nil)
	if err != nil {
		return nil, "", err
	}
	options := exhaust.Options{Pairs: f.faults == 2, Unpruned: f.unpruned, EveryLength: f.lengths == everyLength, Reduced: f.reduced, Phases: f.phases, Kinds: f.kinds}
	if err := options.Check(); err != nil {
		return nil, "", cli.Fail(cli.ExitUsage, "--fault %v", err)
	}
	a := asked{Options: options}
	plan := s.Plan.Clone()
	plan.Expect = plans.Expect{}
	text, err := plans.Marshal(plan)
	if err != nil {
		return nil, "", err
	}
	a.Plan = string(text)
	spec := campaign.Spec{Version: campaign.SpecVersion, Name: "exhaust", Struck: &campaign.Struck{Plan: a.Plan}}
	if err := f.shard.of(cmd, &spec); err != nil {
		return nil, "", err
	}
	if err := f.takes(&spec); err != nil {
		return nil, "", err
	}
	a.Shard = f.part
	dir := f.out
	if dir == "" {
		plain := s.variant == "" && !a.Pairs && !a.Reduced && f.lengths == oneLength && len(f.phases) == 0 && len(f.kinds) == 0
		dir = shardDir(folderOf("exhaust-"+s.Name, plain, spec.Whole(), a.Options), f.part)
	}
	if err := ownsCertificate(dir); err != nil {
		return nil, "", err
	}
	if err := f.queue.use(ctx, &f.campaignFlags, stderr); err != nil {
		return nil, "", err
	}
	d, err := f.define(ctx, dir, &a, stderr)
	return d, dir, err
}

// define lists what is to be tried, with its progress on stderr. What it takes to look for pairs is kept in dir.
func (f *exhaustFlags) define(ctx context.Context, dir string, a *asked, stderr io.Writer) (*exhaust.Definition, error) {
	plan, err := plans.Parse(exhaust.OptionsFile, []byte(a.Plan))
	if err != nil {
		return nil, err
	}
	if err := f.goesOn(plan.World.Redis == plans.RedisServer); err != nil {
		return nil, err
	}
	show := cli.NewProgress(stderr, f.quiet)
	defer show.Done()
	o, when := a.Options, "before the first run"
	o.Keep = func() (*exhaust.Kept, error) {
		show.Begin("looking for pairs in the run of each single fault")
		return f.keep(a, dir)
	}
	o.Progress = func(done, all int) {
		show.Show("looking for pairs: %d of %d runs", done, all)
		when = fmt.Sprintf("after %d of %d runs that look for pairs; they are kept. Go on with: %s", done, all, goOnIn(dir))
	}
	if o.Pairs {
		var done func()
		if ctx, done, err = inChild(ctx, &o); err != nil {
			return nil, err
		}
		defer done()
	}
	d, err := exhaust.Define(ctx, plan, o)
	switch {
	case errors.Is(context.Cause(ctx), cli.ErrInterrupted):
		return nil, cli.Fail(cli.ExitInterrupted, "interrupted %s", when)
	case ctx.Err() != nil:
		return nil, cli.Fail(cli.ExitInconclusive, "--budget, %s, has passed %s", f.budget, when)
	case errors.As(err, new(*exhaust.BrokenError)):
		return nil, cli.Fail(cli.ExitViolated, "%v", err)
	case err != nil:
		return nil, cli.Fail(cli.ExitUsage, "%v", err)
	}
	return d, nil
}

// takes takes the campaign's shard, and refuses a budget, which is a time, where there is one or a queue.
func (f *exhaustFlags) takes(spec *campaign.Spec) error {
	f.part = spec.Shard
	flag := "--queue"
	if f.part != nil {
		flag = "--shard"
	}
	if f.budget > 0 && (f.part != nil || f.queue.server.URL != "") {
		return cli.Fail(cli.ExitUsage, "%s takes no --budget: how many runs fit into a time differs from machine to machine; leave --budget out", flag)
	}
	return f.queue.inRuns(0, "", f.part)
}

// resumed is what was begun in the folder that --resume names.
func (f *exhaustFlags) resumed(ctx context.Context, cmd *cobra.Command, args []string, stderr io.Writer) (*exhaust.Definition, string, error) {
	for _, name := range []string{"out", "preset", "set", "faults", "unpruned", "reduced", "lengths", "phase", "fault", "shard"} {
		if cmd.Flags().Changed(name) || len(args) > 0 {
			return nil, "", cli.Usage(cmd, "--resume continues a search as it was begun, and takes no scenario, --out, --preset, --set, --faults, --unpruned, --reduced, --lengths, --phase, --fault and --shard")
		}
	}
	a, err := askedIn(f.resume)
	if err != nil {
		return nil, "", err
	}
	if err := f.takes(&campaign.Spec{Shard: a.Shard}); err != nil {
		return nil, "", err
	}
	if err := f.queue.use(ctx, &f.campaignFlags, stderr); err != nil {
		return nil, "", err
	}
	if err := madeHere(f.resume, "go on with that build, or begin anew in another folder"); err != nil {
		return nil, "", err
	}
	d, err := f.begunIn(ctx, f.resume, a, stderr)
	return d, f.resume, err
}

// madeHere refuses the folder of a certificate of which another build has made the runs.
func madeHere(dir, remedy string) error {
	at := in(dir, exhaust.CampaignDir)
	if state, err := campaign.Look(at); err != nil || state == campaign.None {
		return nil // nothing is made yet, or begin says what is wrong
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := campaign.MadeBy(at, self); errors.Is(err, campaign.ErrOtherBuild) {
		return cli.Fail(cli.ExitUsage, "%s: %v; %s", dir, err, remedy)
	}
	return nil
}

// begunIn is what was begun in dir.
func (f *exhaustFlags) begunIn(ctx context.Context, dir string, a *asked, stderr io.Writer) (*exhaust.Definition, error) {
	d, err := f.define(ctx, dir, a, stderr)
	if err != nil {
		return nil, err
	}
	at := in(dir, exhaust.CampaignDir)
	if state, err := campaign.Look(at); err == nil && state == campaign.None {
		return d, nil // pairs were still looked for
	}
	spec, err := campaign.Load(at)
	switch {
	case err != nil:
		return nil, cli.Fail(cli.ExitUsage, "%v", err)
	case !spec.Whole().Equal(d.Spec()):
		return nil, cli.Fail(cli.ExitUsage, "%s was begun by another build, in which the plan makes other operations; begin anew in another folder", dir)
	}
	return d, nil
}
