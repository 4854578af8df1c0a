package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
	"github.com/wavetank-sim/wavetank/sim"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

type runFlags struct {
	planFlags
	seed    seedFlag
	out     string
	json    bool
	quiet   bool
	junit   string
	noWhy   bool
	debugAt int // a step; 0 is none
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO|FILE",
		Short: "Run one scenario, or a plan file, and judge it",
		Long: `Run runs one plan and says whether every invariant held, what happened to the
jobs that the plan is about, and how to repeat the run. It leaves a folder with
plan.yaml, result.json, trace.jsonl, samples.json and report.html. A plan given
as - is read from standard input. samples.json has the samples that Prometheus would have
scraped; ` + "`make alerts SCENARIO=NAME`" + ` evaluates the alerting rules over it.

If an invariant is broken, run makes some more runs to find what the first
violation depends on. The command why goes further.

Run replaces the folder of an earlier run, with the file that --junit wrote there. It
does not touch any other folder.

With --debug-at, the folder also has debug.dlv, and run prints the command with which
the debugger Delve stops at that step. This needs Wavetank's source, and Delve:
go install github.com/go-delve/delve/cmd/dlv@latest. Run then makes no more runs, and
its page has no cause, since a debugger would stop in each of those runs.

Exit codes: 0 held, 1 violated, 2 usage or input, 3 inconclusive, 5 internal,
130 interrupted.`,
		Example: `  wavetank run publish-failure
  wavetank run publish-failure --seed 42 --preset hardened
  wavetank run state-write-failure --set engine.dispatch_order=publish-first
  wavetank run calm --set workload.jobs=1000 --set topology.workers=10 --out /tmp/big
  wavetank run lone-worker --preset hardened --set engine.stale_reason_code=no_workers --judge stale-worker-has-its-own-reason
  wavetank run runs/latest/plan.yaml --json | jq .verdict
  wavetank run publish-failure --debug-at 341`,
		Args:              cli.OneArg("the scenario or plan file"),
		ValidArgsFunction: completeScenarios(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkStep(cmd, f.debugAt); err != nil {
				return err
			}
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd)
	f.addJudge(cmd, "also count violations of `INVARIANT` outside of its promise; repeatable")
	cmd.Flags().Var(&f.seed, "seed", "the root of every draw, `N` (default the plan's)")
	cmd.Flags().StringVar(&f.out, "out", "", "the run's folder, `DIR` (default runs/SCENARIO-SEED, and a hash behind it for a changed scenario, or a plan of your own)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print only result.json on standard output")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write the result for CI, as JUnit XML, to `FILE`, whose folder is made if it is missing")
	cmd.Flags().BoolVar(&f.noWhy, "no-why", false, "do not look for what a violation depends on")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print only the verdict")
	cmd.Flags().IntVar(&f.debugAt, "debug-at", 0, "print the command that stops Delve at `STEP` (on standard error with --json)")
	return cmd
}

func (f *runFlags) run(ctx context.Context, arg string, stdout, stderr io.Writer) error {
	s, err := f.load(arg, &f.seed)
	if err != nil {
		return err
	}
	dir, err := newFolder(f.out, fmt.Sprintf("%s-%d%s", s.Name, s.Seed, s.variant))
	if err != nil {
		return err
	}
	defer dir.discard()
	if err := dir.flat(f.junit); err != nil {
		return err
	}
	if err := fitJUnit(f.junit, reports.RunFiles, dir.names()...); err != nil {
		return err
	}
	removeTemp, err := ownTemp(tempdir.Memory())
	if err != nil {
		return err
	}
	defer removeTemp()
	say := cli.NewPrinter(stdout)
	if f.json || f.quiet {
		say.W = io.Discard
	}
	printPlan(say, s)
	ctx, stop := cli.Interruptible(ctx, func() {
		dir.discard()
		removeTemp()
	})
	defer stop()

	stalled := func(dump string) {
		if f.debugAt > 0 {
			return // a debugger may hold the run
		}
		dir.discard()
		removeTemp()
		cause := "an actor waits for something that no step can bring about"
		if s.World.Redis == plans.RedisServer {
			cause += ", or the redis-server does not answer"
		}
		fmt.Fprintf(stderr, "wavetank: %s, seed %d: the world makes no progress; %s\n\n%s", s.Name, s.Seed, cause, dump)
		os.Exit(cli.ExitInternal)
	}
	show := cli.NewProgress(stderr, f.quiet)
	res, err := f.simulate(ctx, s, dir, show, stalled)
	if res == nil {
		return err
	}
	if f.debugAt > res.Steps {
		return cli.Fail(cli.ExitUsage, "--debug-at is %d, but the run has %s; give one of these steps", f.debugAt, cli.Plural(res.Steps, "step"))
	}
	debug := ""
	if err == nil {
		debug, err = writeDebug(dir, res, f.debugAt, f.out)
	}
	page := filepath.Join(dir.path, reports.PageFile)
	if err == nil {
		err = dir.keep()
	}
	var unexplained error
	if len(res.Violations) > 0 && !f.noWhy && f.debugAt == 0 { // who debugs looks at one run
		unexplained = f.explain(ctx, s, res, show, stalled)
		if err == nil && res.Cause != nil {
			if wrong := reports.Write(dir.path, s.Plan, res); wrong != nil {
				err = unwritable(dir.path, wrong)
			}
		}
	}
	if err != nil {
		page = ""
	}
	if f.junit != "" {
		if wrong := cli.WriteFile(f.junit, func(w io.Writer) error { return reports.JUnitRun(w, res) }); err == nil {
			err = wrong
		}
	}
	if wrong := f.print(res, page, debug, stdout, stderr); err == nil {
		err = wrong
	}
	if err != nil {
		return err
	}
	switch {
	case unexplained != nil && context.Cause(ctx) == nil:
		return unexplained
	case unexplained != nil:
		return cli.Fail(cli.ExitInterrupted, "interrupted while looking for the cause; the run is kept. Find the cause with: %s", res.WhyCommand(res.Violations[0].Invariant))
	}
	return verdictError(res.Verdict)
}

// print says what came of the run; its page and the command for a debugger may be "".
func (f *runFlags) print(res *scenarios.Result, page, debug string, stdout, stderr io.Writer) error {
	p := cli.NewPrinter(stdout)
	switch {
	case f.json:
		if err := cli.PrintJSON(stdout, res); err != nil {
			return err
		}
		p = cli.NewPrinter(stderr)
	case f.quiet:
		printVerdict(p, res)
	default:
		printResult(p, res, page)
	}
	if debug != "" {
		p.Line("Debug: %s", debug)
	}
	return nil
}

// onOneThread is for a process that runs one world after the other. A world moves one step at a time, and a second thread only
// has it handed to and fro.
func onOneThread() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// runPlan makes a run; tests make it go astray, as another build does.
var runPlan = scenarios.Run

// simulate runs the plan and fills the folder. A result with an error is of a run that could not be stored.
func (f *runFlags) simulate(ctx context.Context, s *subject, dir *folder, show *cli.Progress, stalled func(string)) (*scenarios.Result, error) {
	trace, err := dir.create(reports.TraceFile)
	if err != nil {
		return nil, err
	}
	source := s.source
	if strictyaml.FromStandardInput(source) {
		source = filepath.Join(dir.path, reports.PlanFile) // what was read is gone; this can be read again
	}
	onOneThread()
	res, err := runPlan(ctx, s.Plan, scenarios.RunOptions{
		Trace: trace, Progress: ofRun(show), OnStall: stalled, Source: source, Overrides: s.overrides, Sample: true,
	})
	show.Done()
	closed := trace.close()
	switch cause := context.Cause(ctx); {
	case cause != nil && (errors.Is(err, context.Canceled) || err == nil):
		return nil, cause
	case errors.Is(err, sim.ErrNoRedisServer): // somebody else has ended it
		return nil, cli.Fail(cli.ExitUsage, "%s, seed %d: %w; run it again", s.Name, s.Seed, err)
	case errors.Is(err, syscall.ENOSPC):
		return nil, cli.Fail(cli.ExitUsage, "%s, seed %d: %w", s.Name, s.Seed, err)
	case err != nil:
		return nil, fmt.Errorf("%s, seed %d: the run broke down: %w", s.Name, s.Seed, err)
	}
	res.RepeatedBy(scenarios.Command{Program: cli.ProgramName(), Source: source, Seeded: true, Redis: f.redis})
	if closed == nil {
		closed = reports.Write(dir.temp, s.Plan, res)
	}
	if closed != nil {
		return res, unwritable(dir.path, closed)
	}
	return res, nil
}

// explain looks for what the first violation hangs on. The run is kept already: to find that, the plan is run again and again.
func (f *runFlags) explain(ctx context.Context, s *subject, res *scenarios.Result, show *cli.Progress, stalled func(string)) (err error) {
	show.Begin("looking for what the violation depends on; an interrupt keeps the run without that")
	res.Cause, err = whatif.Explain(ctx, s.Plan, whatif.Options{Whole: res, Quick: true, OnStall: stalled, Progress: func(what string) { show.Show("why: %s", what) }})
	show.Done()
	if err != nil {
		return fmt.Errorf("%s, seed %d: the run is kept without its cause; looking for the cause, the run broke down: %w", s.Name, s.Seed, err)
	}
	return nil
}

// verdictError carries a run's exit code; the verdict is printed already.
func verdictError(v scenarios.Verdict) error {
	switch v {
	case scenarios.Held:
		return nil
	case scenarios.Violated:
		return &cli.Error{Code: cli.ExitViolated}
	default:
		return &cli.Error{Code: cli.ExitInconclusive}
	}
}
