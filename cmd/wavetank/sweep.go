package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

type sweepFlags struct {
	campaignFlags
	planFlags
	numbers
	grids     []string
	seeds     int
	precision float64
	budget    string

	time  time.Duration // of the budget, if it is one
	queue queueFlags
	shard shardFlag
}

func newSweep() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep SWEEP|SCENARIO|FILE",
		Short: "Measure what settings do, and say which value to choose",
		Long: `Sweep runs a plan at every point of a grid of settings, under the same seeds at
every point, and measures each point: time to dispatch, attempts burnt, jobs sent to dead
workers, blind windows, duplicates. A point counts only if its runs keep every promise. For each condition it says
which value to take, by how much, and how sure that is. It leaves a page with the
map, curves and the Pareto front, and the data as sweep.csv and sweep.json.

Ready-made sweeps: ` + strings.Join(sweep.Names(), ", ") + `.
The same command continues a sweep that was cut short.

With --shard 3/16, sweep makes the third of sixteen parts of the runs, if the sweep
adds no seeds, and ` + "`wavetank merge`" + ` makes the pages of all parts. With --queue, the runs are made by
the machines that join with ` + "`wavetank work`" + `.

Exit codes: 0 it says what to take, 1 the code under test went out of bounds in some
runs, which are left out, 2 usage or input, 3 nothing differs by more than noise,
130 interrupted.`,
		Example: `  wavetank sweep stale-worker-retries
  wavetank sweep stale-worker --grid engine.max_dispatch_retries=1..10 --grid world.heartbeat_lag=0s,5s,15s
  wavetank sweep stale-worker-retries --ttl 30s --heartbeat 10s --lag lognormal:median=5s:p99=30s --dies 20%
  wavetank sweep my-sweep.yaml --seeds 50 --out /tmp/sweep`,
		Args: cli.OneArg("the sweep, scenario or file"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(sweep.Names(), plans.Names()...), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if err := f.queue.check(cmd); err != nil {
				return err
			}
			if given := cmd.Flags().Changed("precision"); given && !(f.precision >= 0) {
				return cli.Fail(cli.ExitUsage, "--precision is %g, out of range; give 0 or more", f.precision)
			} else if !given {
				f.precision = -1
			}
			return f.sweep(cmd, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.planFlags.add(cmd)
	f.campaignFlags.add(cmd, "")
	cmd.Flags().Lookup("out").Usage = "the sweep's folder, `DIR` (default runs/sweep-NAME, and a hash behind it if it is not a ready-made sweep as it is)"
	cmd.Flags().StringArrayVar(&f.grids, "grid", nil, "a setting and its values, `key=values`: 0s,5s,15s or 1..10 or 0.1..0.5/0.1; repeatable")
	cmd.Flags().IntVar(&f.seeds, "seeds", 0, "run every point under `N` seeds at first (default the sweep's)")
	f.shard.add(cmd, "the sweep must then add no seeds")
	f.queue.addAll(cmd)
	f.numbers.add(cmd)
	cmd.Flags().Float64Var(&f.precision, "precision", 0, "the difference that matters to you, `P`, in the metric that decides: seeds are added where the answer is open,\nuntil there is an answer, or differences of that size are ruled out; 0 adds none (default the sweep's)")
	cmd.Flags().StringVar(&f.budget, "budget", "", "runs or real time, `RUNS|TIME`, after which no more seeds are added, such as 4000runs or 3m (default the sweep's)")
	return cmd
}

func (f *sweepFlags) sweep(cmd *cobra.Command, arg string, stdout, stderr io.Writer) error {
	ctx := cmd.Context()
	d, err := f.definition(arg)
	if err != nil {
		return err
	}
	dir, spec := f.out, d.Spec()
	if err := f.shard.of(cmd, &spec); err != nil {
		return err
	}
	if err := f.queue.inRuns(f.time, "--budget "+f.budget, spec.Shard); err != nil {
		return err
	}
	if spec.Shard != nil && d.Precision > 0 {
		return cli.Fail(cli.ExitUsage, "--shard needs runs that are known beforehand, but this sweep adds seeds until it reaches a precision; give --precision 0, or share the runs by a queue, with --queue")
	}
	if dir == "" {
		plain := slices.Contains(sweep.Names(), arg) && len(f.overrides())+len(f.grids)+f.seeds == 0 && !f.numbers.given() && f.precision < 0 && f.budget == ""
		dir = shardDir(folderOf("sweep-"+d.Name, plain, spec.Whole()), spec.Shard)
		if d.Precision > 0 { // what is added depends on them
			dir = folderOf("sweep-"+d.Name, plain, spec, d.Precision, d.Budget, f.time)
		}
	}
	if err := f.queue.use(ctx, &f.campaignFlags, stderr); err != nil {
		return err
	}
	if _, err := fits(dir, spec); err != nil {
		return err
	}
	printSweep(f.say(stdout), d, dir)
	if spec.Shard != nil {
		return f.part(ctx, dir, spec, sweepShard{d, given(cmd, arg)}, stdout, stderr)
	}
	m, err := f.measure(ctx, dir, d, stderr)
	if err != nil {
		return err
	}
	return f.tell(ctx, dir, d, m, given(cmd, arg), stdout, stderr)
}

// tell makes the pages of a sweep, and prints its answer. The command is that which began it.
func (f *sweepFlags) tell(ctx context.Context, dir string, d *sweep.Definition, m *measured, command []string, stdout, stderr io.Writer) error {
	say := f.say(stdout)
	if err := f.pages(ctx, dir, d, m, stderr); err != nil {
		return err
	}
	res := m.res
	res.Command = command
	if err := reports.WriteSweep(dir, res); err != nil {
		return unwritable(dir, err)
	}
	nothing := func(io.Writer) error { return nil }
	if err := onGitHub(stderr, nothing, func(w io.Writer) error { return reports.SweepSummary(w, res) }); err != nil {
		return err
	}
	if f.json {
		return errors.Join(cli.PrintJSON(stdout, res), m.outOfBounds(cli.NewPrinter(io.Discard)), conclusive(res))
	}
	if err := printAnswer(stdout, res); err != nil {
		return err
	}
	say.Line("\nReport: %s", in(dir, reports.PageFile))
	say.Line("Data:   %s, %s", in(dir, reports.SweepFile), in(dir, reports.CSVFile))
	return errors.Join(m.outOfBounds(cli.NewPrinter(stderr)), conclusive(res))
}

// given are the words of the command that say what is measured, each flag with its value in one.
func given(cmd *cobra.Command, arg string) []string {
	list := []string{arg}
	names := []string{"preset", "set", "grid", "seeds"}
	for _, own := range sweep.OwnNumbers() {
		names = append(names, own.Flag)
	}
	for _, name := range append(names, "precision", "budget", "redis-server") {
		switch f := cmd.Flags().Lookup(name); v := f.Value.(type) {
		case pflag.SliceValue:
			for _, value := range v.GetSlice() {
				list = append(list, "--"+name+"="+value)
			}
		default:
			if f.Changed {
				list = append(list, "--"+name+"="+v.String())
			}
		}
	}
	return list
}

// conclusive fails if there is nothing to take.
func conclusive(res *sweep.Result) error {
	if res.Answer.Conclusive() {
		return nil
	}
	return &cli.Error{Code: cli.ExitInconclusive}
}

func (m *measured) outOfBounds(say *cli.Printer) (err error) {
	for i, runs := range m.runs {
		err = errors.Join(err, outOfBounds(say, m.dirs[i], runs))
	}
	return err
}

// definition is the sweep as the command line changed it.
func (f *sweepFlags) definition(arg string) (*sweep.Definition, error) {
	if strictyaml.FromStandardInput(arg) {
		return nil, cli.Fail(cli.ExitUsage, "sweep reads the plan in several processes, but standard input can be read only once; give a file")
	}
	d, err := sweep.Load(arg)
	if err != nil {
		return nil, err
	}
	if err := f.useRedis(); err != nil {
		return nil, err
	}
	if err := f.consistent(); err != nil {
		return nil, err
	}
	for _, o := range f.overrides() {
		if err := d.Set(o); err != nil {
			return nil, err
		}
	}
	if err := d.Grid(f.grids); err != nil {
		return nil, err
	}
	for _, o := range f.overrides() { // before the axes, which may be of what they make
		key, value := keyAndValue(o)
		if slices.ContainsFunc(d.Axes, func(a sweep.Axis) bool { return a.Setting == key }) {
			return nil, cli.Fail(cli.ExitUsage, "%s is an axis of the sweep, but is also set to %s; give it once, with --grid or with --set", key, value)
		}
	}
	if err := f.numbers.lay(d, append(f.overrides(), f.grids...)); err != nil {
		return nil, err
	}
	if f.seeds != 0 {
		d.Seeds = f.seeds
	}
	return d, errors.Join(f.stop(d), d.Validate())
}

// stop says where the sweep ends that adds seeds.
func (f *sweepFlags) stop(d *sweep.Definition) error {
	if f.precision >= 0 {
		d.Precision = f.precision
	}
	if f.budget != "" {
		b, err := parseBudget(f.budget)
		if err != nil {
			return err
		}
		if d.Precision == 0 {
			return cli.Fail(cli.ExitUsage, "--budget limits the seeds that are added, and without a precision none are added; give --precision, such as 0.5")
		}
		d.Budget, f.time = b.runs, b.time
	}
	if d.Precision > 0 && d.Budget == 0 {
		d.Budget = budgetDefault
	}
	return nil
}

// budgetDefault is how many runs a sweep has at which no more are added, if nothing says.
const budgetDefault = 10_000

// grid is how many runs a grid has.
func grid(spec campaign.Spec) int {
	return len(spec.Grid.Plans) * len(spec.Grid.Points) * spec.Grid.Seeds
}

func printSweep(p *cli.Printer, d *sweep.Definition, dir string) {
	spec := d.Spec()
	p.Line("%s: %s under %s each, %s", p.Paint(cli.Bold, d.Name), cli.Plural(len(spec.Grid.Points), "point"), cli.Plural(d.Seeds, "seed"), cli.Plural(grid(spec), "run"))
	if d.Question != "" {
		p.Line("  %s", d.Question)
	}
	if d.Precision > 0 && d.Budget > 0 && grid(spec) > d.Budget {
		p.Line("  The budget of %s is less than these runs. All of them are made, and no seeds are added. For fewer runs, give fewer seeds or fewer values.", cli.Plural(d.Budget, "run"))
	}
	for _, a := range d.Axes {
		var values []string
		for _, v := range a.Values {
			values = append(values, sweep.Shown(v))
		}
		p.Line("  %s=%s", a.Setting, strings.Join(values, ","))
	}
	p.Line("  %s\n", dir)
}

// printAnswer prints what a sweep recommends: in a sentence, with what belongs to it, and a row for each condition.
func printAnswer(w io.Writer, res *sweep.Result) error {
	p := cli.NewPrinter(w)
	word := "ANSWER"
	if !res.Answer.Conclusive() {
		word = "NO ANSWER"
	}
	p.Line("%s  %s", p.Paint(cli.Bold, word), res.Answer.Sentence)
	for _, also := range res.Answer.Also {
		p.Line("  %s", also)
	}
	if res.Answer.Alike() {
		return nil
	}
	p.Line("")
	table := cli.Table{}
	var shown []int
	for i, a := range res.Axes[1:] {
		if len(a.Values) > 1 {
			shown, table.Heads = append(shown, i), append(table.Heads, strings.ToUpper(strings.TrimSuffix(a.Title, " (s)")))
		}
	}
	table.Heads = append(table.Heads, "TAKE", "SURE", "BY HOW MUCH, IN "+strings.ToUpper(res.Metrics[0].Title), "PRICE")
	for _, r := range res.Answer.Rows[:min(len(res.Answer.Rows), answerRowsMax)] {
		var row []string
		for _, i := range shown {
			row = append(row, sweep.Shown(r.Under[i]))
		}
		table.Rows = append(table.Rows, append(row, cmp.Or(r.Take, "-"), string(r.Sure), r.Says, r.Price))
	}
	if err := table.Write(w); err != nil {
		return err
	}
	if left := len(res.Answer.Rows) - len(table.Rows); left > 0 {
		p.Line("and %d more; the report lists them all", left)
	}
	if res.Answer.Reading != "" {
		p.Line("\n%s", res.Answer.Reading)
	}
	return nil
}

// answerRowsMax is how many rows of an answer the terminal shows.
const answerRowsMax = 60
