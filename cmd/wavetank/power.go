package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/power"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

type powerFlags struct {
	campaignFlags
	mutants int
	seed    seedFlag
	budget  time.Duration
}

func newPower() *cobra.Command {
	f := powerFlags{seed: seedFlag{n: 1}}
	cmd := &cobra.Command{
		Use:   "power",
		Short: "Measure how many mutants of the scheduler the searches find",
		Long: `Power plants mistakes in the code of package engine, one in each mutant: a condition
that is negated, an error that is ignored, < for <=, a call or an assignment that is
left out, two statements that are swapped, another field of the same type. The mistakes
are drawn by the seed. Six searches look for each mutant: single faults, pairs of faults,
random plans, random plans under pct, the scenarios, and perturbed scenarios. Each has
the same time at most, and one process with one thread. A search ends when it breaks a
promise that the same plan keeps without the mistake. A mutant counts only if it changes
an event of some run; otherwise it changes nothing, or no plan reached it. First, each
search runs once without a mistake, for twice its time. If it does not execute the code
of a mistake by then, it is not run with that mistake.

Power builds the testbed anew for each mutant, so it needs Go and the source. Run it in
the folder of the repository, and do not change the source until it ends. It writes each
measurement to power.json in its folder, beside a page. After a Ctrl-C, the same command
continues.

Exit codes: 0 all were measured, 2 usage or input, 130 interrupted.`,
		Example: `  wavetank power
  wavetank power --mutants 6 --budget 5s`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.power(cmd, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.campaignFlags.add(cmd, "")
	cmd.Flags().Lookup("out").Usage = "the folder of power.json, `DIR` (default runs/power)"
	noShards(cmd, "each search has a time, and how many runs fit into a time differs from machine to machine")
	cmd.Flags().IntVar(&f.mutants, "mutants", 60, "measure `N` mutants that change an event")
	cmd.Flags().Var(&f.seed, "seed", "the seed of the mutants and the random plans, `N`")
	cmd.Flags().DurationVar(&f.budget, "budget", time.Minute, "how long each search looks for each mutant, `TIME`")
	return cmd
}

const powerFile = "power.json"

func (f *powerFlags) power(cmd *cobra.Command, stdout, stderr io.Writer) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	switch {
	case f.mutants < 1:
		return cli.Fail(cli.ExitUsage, "--mutants is %d, out of range; give 1 or more", f.mutants)
	case f.budget <= 0:
		return cli.Fail(cli.ExitUsage, "--budget is %s, out of range; give a time such as 60s", f.budget)
	}
	if f.out == "" {
		f.out = filepath.Join(runsDir, "power")
	}
	if data, err := os.ReadFile("go.mod"); err != nil || !strings.HasPrefix(string(data), "module github.com/wavetank-sim/wavetank\n") {
		return cli.Fail(cli.ExitUsage, "there is no source of the scheduler here; run power in the folder of the repository")
	}
	if err := owned(f.out, "a measurement of power", there(in(f.out, powerFile)), named(powerFile, reports.PageFile)); err != nil {
		return err
	}
	res, err := f.begun()
	if err != nil {
		return err
	}
	all, err := power.Mutations(".", "./engine/...")
	if err != nil {
		return cli.Fail(cli.ExitUsage, "the source cannot be read: %v", err)
	}
	err = f.measure(cmd.Context(), res, power.Draw(all, f.seed.n, len(all)), stderr)
	interrupted := errors.Is(err, cli.ErrInterrupted)
	if err != nil && !interrupted {
		return err
	}
	if f.json {
		if err := cli.PrintJSON(stdout, res); err != nil {
			return err
		}
	} else {
		printPower(cli.NewPrinter(stdout), f.out, res)
	}
	if len(res.Rows) > 0 { // without one there is no power.json, by which the folder is known to be ours
		if err := cli.WriteFile(in(f.out, reports.PageFile), func(w io.Writer) error { return reports.PowerPage(w, res) }); err != nil {
			return err
		}
	}
	if interrupted {
		return cli.Fail(cli.ExitInterrupted, "interrupted; the measurements are kept, and the same command goes on")
	}
	return nil
}

// begun is what an earlier run of the same command has measured, or a result without rows.
func (f *powerFlags) begun() (*power.Result, error) {
	fresh := &power.Result{Version: power.ResultVersion, Build: buildname.Of(), Seed: f.seed.n, Budget: f.budget, Rows: []power.Row{}}
	data, err := os.ReadFile(in(f.out, powerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	var res power.Result
	if err == nil {
		err = json.Unmarshal(data, &res)
	}
	switch {
	case err != nil:
		return nil, cli.Fail(cli.ExitUsage, "%s cannot be read: %v; choose another folder with --out", in(f.out, powerFile), strictyaml.FileReason(err))
	case res.Version != fresh.Version || res.Build != fresh.Build || res.Seed != fresh.Seed || res.Budget != fresh.Budget:
		return nil, f.otherPower()
	}
	return &res, nil
}

func (f *powerFlags) otherPower() error {
	return cli.Fail(cli.ExitUsage, "%s was measured by another build, over another source, or with another --seed or --budget; choose another folder with --out", in(f.out, powerFile))
}

// measure adds rows to the result until so many mutants change an event of a run. Mutations are begun in the order in which they were drawn.
// The workers finish what they have begun, so that a few more may be measured than were asked for.
func (f *powerFlags) measure(ctx context.Context, res *power.Result, drawn []power.Mutation, stderr io.Writer) error {
	ctx, done, err := inOwnTemp(ctx, "")
	if err != nil {
		return err
	}
	defer done()
	if len(res.Changing()) >= f.mutants {
		return nil
	}
	show := cli.NewProgress(stderr, f.quiet)
	defer show.Done()
	show.Show("building the testbed without a mistake")
	bench := &power.Bench{Root: "."}
	if err := bench.Begin(ctx, filepath.Join(os.TempDir(), "wavetank"), campaignWorker); err != nil {
		return failedPower(ctx, err)
	}
	if len(res.Rows) > 0 && res.Program != bench.Program {
		return f.otherPower()
	}
	res.Program = bench.Program
	show.Show("running the scenarios, and looking for pairs of faults")
	if bench.Searches, err = power.Searches(ctx, f.seed.n, f.budget); err != nil {
		return err
	}
	workers := cmp.Or(f.workers, runtime.NumCPU())
	show.Show("recording the code that each search executes")
	if err := bench.Cover(ctx, workers); err != nil {
		return failedPower(ctx, err)
	}
	var mu sync.Mutex
	next := func() (power.Mutation, bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(drawn) == 0 || len(res.Changing()) >= f.mutants {
			return power.Mutation{}, false
		}
		m := drawn[0]
		drawn = drawn[1:]
		return m, true
	}
	keep := func(row power.Row) error {
		mu.Lock()
		defer mu.Unlock()
		res.Rows = append(res.Rows, row)
		show.Show("%d of %d mutants", len(res.Changing()), f.mutants)
		return cli.WriteFile(in(f.out, powerFile), func(w io.Writer) error { return cli.PrintJSON(w, res) })
	}
	drawn = slices.DeleteFunc(drawn, func(m power.Mutation) bool {
		return slices.ContainsFunc(res.Rows, func(r power.Row) bool { return r.Mutation == m })
	})
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return unwritable(f.out, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error {
			for m, ok := next(); ok; m, ok = next() {
				row, err := bench.Measure(ctx, m)
				if err != nil {
					return err
				}
				if err := keep(row); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return failedPower(ctx, group.Wait())
}

// failedPower is how a measurement ends that err ends, if anything does.
func failedPower(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
		return cli.ErrInterrupted
	}
	if errors.Is(err, power.ErrChanged) {
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	if failed := new(power.BuildError); errors.As(err, &failed) {
		return &cli.Error{Code: cli.ExitUsage, Text: failed.Error(), Detail: failed.Output, Cause: failed}
	}
	return err
}

func printPower(p *cli.Printer, dir string, res *power.Result) {
	p.Line("%s: %s, seed %d, %s for each search", p.Paint(cli.Bold, "power"), cli.Plural(len(res.Mutants()), "mutant"), res.Seed, res.Budget)
	if n := len(res.Unchanging()); n > 0 {
		p.Line("  left out, since they changed no event of any run: %s", cli.Plural(n, "mutant"))
		p.Line("    of these, in code that no search executes within its time: %d", len(res.Unexecuted()))
	}
	for _, r := range res.Rates() {
		soon := ""
		if r.Killed > 0 {
			soon = ", half of them within " + r.Median.Round(100*time.Millisecond).String()
		}
		p.Line("  %-20s found %d of %d (%.0f to %.0f %%)%s", r.Search, r.Killed, r.Of, 100*r.Low, 100*r.High, soon)
	}
	for _, m := range res.Survivors() {
		runs, search, plan := m.Changed()
		p.Line("  not found: %s: %s", m.Mutation, fmt.Sprintf("%.100q -> %.100q", m.Old, m.New))
		p.Line("    changed %s, such as %s in %s", cli.Plural(runs, "run"), plan, search)
	}
	if n := res.FalseKills(); n > 0 {
		p.Line("  not counted as found: %s broke only promises that the plan breaks without the mistake, too", cli.Plural(n, "run"))
	}
	p.Line("Report: %s", in(dir, reports.PageFile))
}
