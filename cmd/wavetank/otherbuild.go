package main

import (
	"bufio"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// otherTimeout is how long a run of another build may take, unless somebody says so.
const otherTimeout = 5 * time.Minute

// otherBuild is another build of wavetank, which is to run a plan as this one does.
type otherBuild struct {
	program string // with its path
	dir     string // where both runs are kept
	timeout time.Duration
}

// findOtherBuild looks for the program.
func findOtherBuild(program, dir string, timeout time.Duration) (*otherBuild, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--against is %s, which is not a program that can be run; give another build of wavetank", program)
	}
	return &otherBuild{path, dir, timeout}, nil
}

// ownRun makes the plan's run in this build.
func (b *otherBuild) ownRun(ctx context.Context, plan *plans.Plan) (*scenarios.Result, error) {
	trace, err := os.Create(filepath.Join(b.dir, reports.TraceFile))
	if err != nil {
		return nil, err
	}
	defer trace.Close()
	w := bufio.NewWriter(trace)
	res, err := runPlan(ctx, plan, scenarios.RunOptions{Trace: w, Drawn: true})
	if err != nil {
		return nil, err
	}
	return res, w.Flush()
}

// handedOver is the plan as another build is to run it: what it expects to break, or somebody asks for, is judged, and nothing is expected.
func handedOver(plan *plans.Plan, invariant string) ([]byte, error) {
	plan = plan.Clone()
	judged := slices.Concat(plan.Expect.Violates, plan.Expect.Judged)
	if invariant != "" {
		judged = append(judged, invariant)
	}
	slices.Sort(judged)
	plan.Expect = plans.Expect{Judged: slices.Compact(judged)}
	return plans.Marshal(plan)
}

// run makes it in the other.
func (b *otherBuild) run(ctx context.Context, plan *plans.Plan, invariant string) (*otherResult, error) {
	text, err := handedOver(plan, invariant)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(b.dir, reports.PlanFile), text, 0o644); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	_, err = command(limited, b.dir, b.program, "run", reports.PlanFile, "--out", b.runDir())
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return nil, cause
	case limited.Err() != nil:
		return nil, cli.Fail(cli.ExitUsage, "--against %s: the run took longer than %s; give another build, or more --timeout", b.program, b.timeout)
	}
	res, err := resultIn(b.runDir(), err)
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--against %s: %v; give another build of wavetank", b.program, err)
	}
	return res, nil
}

func (b *otherBuild) runDir() string { return filepath.Join(b.dir, "other") }

// compare says what an invariant comes to in the other's run, and where the two part.
func (b *otherBuild) compare(res *otherResult, invariant string) (*why.Build, error) {
	own, err := os.Open(filepath.Join(b.dir, reports.TraceFile))
	if err != nil {
		return nil, err
	}
	defer own.Close()
	other, err := os.Open(filepath.Join(b.runDir(), reports.TraceFile))
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--against %s: its run has no trace: %v", b.program, strictyaml.FileReason(err))
	}
	defer other.Close()
	build := &why.Build{Name: cmp.Or(res.Build, "without a name")}
	build.Standing, build.Unknown = res.comesTo(invariant)
	if build.PartsAt, build.Parting, err = whatif.PartingOf(own, other); err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--against %s: its trace cannot be compared: %v", b.program, err)
	}
	return build, nil
}
