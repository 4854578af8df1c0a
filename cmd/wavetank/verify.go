package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

type verifyFlags struct {
	planFlags
	seeds string
	busy  int
}

// Bounds of what one verify takes on.
const (
	seedsMax = 1_000_000
	busyMax  = 1024
)

func newVerify() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify SCENARIO|FILE|all",
		Short: "Check that equal seeds give equal runs, in two processes",
		Long: `Verify runs each seed in two processes at once, one with GOMAXPROCS=1 and one
with GOMAXPROCS=2, beside goroutines that only use processor time,
and compares the runs event by event. If two runs differ, it prints the first
event that differs, and keeps both traces.

With --redis-server the first process runs over miniredis, and the other over
redis-server.

Exit codes: 0 all are equal, 2 usage or input, 4 some differ, 130 interrupted.`,
		Example: `  wavetank verify publish-failure
  wavetank verify all --seeds 1-200 --load 2
  wavetank verify all --seeds 1-20 --redis-server
  wavetank verify my-plan.yaml --seeds 7`,
		Args:              cli.OneArg("the scenario, plan file or all"),
		ValidArgsFunction: completeScenarios("all"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.verify(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.seeds, "seeds", "1-100", "the seeds, `FIRST-LAST` or one")
	noShards(cmd, "runs that agree leave nothing to combine; give each machine its own seeds with --seeds")
	cmd.Flags().IntVar(&f.busy, "load", 1, "keep processors busy with `N` goroutines")
	return cmd
}

func (f *verifyFlags) verify(ctx context.Context, arg string, stdout, stderr io.Writer) error {
	seeds, err := parseSeeds(f.seeds)
	if err != nil {
		return err
	}
	if f.busy < 0 || f.busy > busyMax {
		return cli.Fail(cli.ExitUsage, "--load is %d, out of range; give 0 to %d", f.busy, busyMax)
	}
	if strictyaml.FromStandardInput(arg) {
		return cli.Fail(cli.ExitUsage, "verify reads the plan in two processes, but standard input can be read only once; give a file")
	}
	names := []string{arg}
	if arg == "all" {
		names = plans.Names()
	}
	var plans []*subject
	for _, name := range names {
		s, err := f.load(name, nil)
		if err != nil {
			return err
		}
		plans = append(plans, s)
	}
	traces, cleanUp, err := newTemp("")
	if err != nil {
		return err
	}
	defer cleanUp()
	ctx, stop := cli.Interruptible(ctx, cleanUp)
	defer stop()
	for range f.busy {
		go keepBusy(ctx)
	}
	c := comparison{plans: plans, seeds: seeds, traces: traces, say: cli.NewPrinter(stdout), show: cli.NewProgress(stderr, false), verdict: "NOT DETERMINISTIC"}
	if f.redis != "" {
		c.verdict, c.over = "DIFFERENT", ", one over miniredis and one over redis-server"
	}
	err = c.run(ctx, f.sides(names))
	c.show.Done()
	if cause := context.Cause(ctx); cause != nil {
		return &cli.Error{Code: cli.ExitInterrupted, Text: "interrupted"}
	}
	return err
}

func keepBusy(ctx context.Context) {
	for ctx.Err() == nil {
	}
}

// side is one of the two processes.
type side struct {
	name  string
	procs int // its GOMAXPROCS
	args  []string
}

// file names its folder and its traces.
func (s side) file() string { return strings.ToLower(strings.ReplaceAll(s.name, "=", "-")) }

// sides are the two processes, and what each of them runs.
func (f *verifyFlags) sides(names []string) [2]side {
	args := []string{verifyWorker}
	for _, p := range f.presets {
		args = append(args, "--preset", p)
	}
	for _, s := range f.sets {
		args = append(args, "--set", s)
	}
	names = append([]string{"--"}, names...)
	if f.redis == "" {
		args = append(args, names...)
		return [2]side{{"GOMAXPROCS=1", 1, args}, {"GOMAXPROCS=2", 2, args}}
	}
	return [2]side{
		{"miniredis", 1, slices.Concat(args, []string{"--set", "world.redis=" + plans.RedisMini}, names)},
		{"redis-server", 2, slices.Concat(args, []string{"--redis-server=" + f.redis}, names)},
	}
}

// seedRange is first to last, both included.
type seedRange struct{ first, last uint64 }

func (r seedRange) count() int { return int(r.last-r.first) + 1 }

func parseSeeds(text string) (seedRange, error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, err1 := strconv.ParseUint(from, 10, 64)
	last, err2 := strconv.ParseUint(to, 10, 64)
	switch {
	case err1 != nil || err2 != nil:
		return seedRange{}, cli.Fail(cli.ExitUsage, "--seeds is %.60q, not a range of seeds; write 1-100, or one seed", text)
	case first > last:
		return seedRange{}, cli.Fail(cli.ExitUsage, "--seeds is %q, which ends before it begins; write %d-%d", text, last, first)
	case last-first >= seedsMax:
		return seedRange{}, cli.Fail(cli.ExitUsage, "--seeds is %q, too many; give at most %d", text, seedsMax)
	}
	return seedRange{first, last}, nil
}

// comparison runs plans under every seed in two processes, and compares.
type comparison struct {
	plans  []*subject
	seeds  seedRange
	traces string
	say    *cli.Printer
	show   *cli.Progress

	over    string // what the two processes run over; empty is one Redis
	verdict string // on two runs that differ, in capitals
	differ  int    // runs that do
}

// differMost is after how many runs that differ the comparison ends.
const differMost = 100

// ahead is how many runs a process may be ahead of the comparison, which bounds the traces kept.
const ahead = 8

func (c *comparison) run(ctx context.Context, of [2]side) error {
	var sides []*worker
	for _, s := range of {
		w, err := startWorker(ctx, s, filepath.Join(c.traces, s.file()))
		if err != nil {
			return err
		}
		defer w.stop()
		sides = append(sides, w)
	}
	total, sent := len(c.plans)*c.seeds.count(), 0
	verdicts := map[string]int{}
	for k := range total {
		for ; sent < min(k+ahead, total); sent++ {
			for _, w := range sides {
				if err := w.send(c.task(sent)); err != nil {
					return err
				}
			}
		}
		t := c.task(k)
		a, err := sides[0].receive(t)
		if err != nil {
			return c.broken(t, err)
		}
		b, err := sides[1].receive(t)
		if err != nil {
			return c.broken(t, err)
		}
		if a.Digest != b.Digest || a.Verdict != b.Verdict {
			if err := c.mismatch(t, a, b, sides); err != nil {
				return err
			}
			verdicts["different"]++
		} else {
			verdicts[a.Verdict]++
		}
		for _, w := range sides {
			_ = os.Remove(w.trace(t))
		}
		c.show.Show("%s, seed %d: %d of %d", c.plans[t.Plan].Name, t.Seed, k+1, total)
		if t.Seed == c.seeds.last {
			c.show.Done()
			how := "agree in both processes"
			if verdicts["different"] > 0 {
				how = "do not agree"
			}
			c.say.Line("%-27s seeds %d-%d %s (%s)", c.plans[t.Plan].Name, c.seeds.first, c.seeds.last, how, counts(verdicts))
			clear(verdicts)
		}
	}
	if c.differ > 0 {
		return &cli.Error{Code: cli.ExitNotDeterministic, Text: fmt.Sprintf("of %s, each in two processes%s, %d differ", cli.Plural(total, "run"), c.over, c.differ)}
	}
	c.say.Line("%s  %s, each in two processes%s, and no event differs", c.say.Paint(cli.Green, "DETERMINISTIC"), cli.Plural(total, "run"), c.over)
	return nil
}

// task is the k-th run: all seeds of the first plan, then those of the next.
func (c *comparison) task(k int) task {
	n := c.seeds.count()
	return task{Plan: k / n, Seed: c.seeds.first + uint64(k%n)}
}

func (c *comparison) broken(t task, err error) error {
	return fmt.Errorf("%s, seed %d: %w", c.plans[t.Plan].Name, t.Seed, err)
}

// counts says how many runs ended in each way.
func counts[V ~string](of map[V]int, more ...string) string {
	for v, n := range of {
		more = append(more, cli.Thousands(n)+" "+string(v))
	}
	slices.Sort(more)
	return strings.Join(more, ", ")
}

// mismatch shows the first event in which two runs differ, and keeps their traces.
func (c *comparison) mismatch(t task, a, b outcome, sides []*worker) error {
	name := c.plans[t.Plan].Name
	c.show.Done()
	c.say.Line("%s  %s, seed %d: digest %s with %s, %s with %s", c.say.Paint(cli.Red, c.verdict), name, t.Seed, a.Digest, sides[0].name, b.Digest, sides[1].name)
	d, err := firstDifference(sides[0].trace(t), sides[1].trace(t))
	if err != nil {
		return err
	}
	c.say.Line("%s", d.between(sides[0].side, sides[1].side))
	dir := filepath.Join(runsDir, fmt.Sprintf("verify-%s-%d", name, t.Seed))
	for _, w := range sides {
		if err := copyInto(dir, w.trace(t), w.file()+".jsonl"); err != nil {
			return cli.Fail(cli.ExitUsage, "%s cannot be written: %v", dir, strictyaml.FileReason(err))
		}
	}
	c.say.Line("Both traces: %s", dir)
	if c.differ++; c.differ == differMost {
		return &cli.Error{Code: cli.ExitNotDeterministic, Text: fmt.Sprintf("%d runs differ; the remaining runs were not made", c.differ)}
	}
	return nil
}

// copyInto copies file into folder dir.
func copyInto(dir, file, name string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
