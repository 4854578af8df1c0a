package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
		return nil, cli.Fail(cli.ExitUsage, "--against is %s, no program that can be run; give another build of wavetank", program)
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

// otherResult is what came of a run of another build: what every version of a result has.
type otherResult struct {
	Build      string `json:"build"`
	Invariants []struct {
		Name   string           `json:"name"`
		Status scenarios.Status `json:"status"`
	} `json:"invariants"`
	Violations []struct {
		Invariant string `json:"invariant"`
		Promised  bool   `json:"promised"`
	} `json:"violations"`
	Verdict    scenarios.Verdict `json:"verdict"`
	Reason     string            `json:"reason"`
	OutOfSteps bool              `json:"out_of_steps"`
}

// resultIn reads what a program has left in the folder of a run, and ended with err.
func resultIn(dir string, err error) (*otherResult, error) {
	data, readErr := os.ReadFile(filepath.Join(dir, reports.ResultFile))
	switch {
	case errors.Is(readErr, fs.ErrNotExist) && err == nil:
		return nil, fmt.Errorf("it left no %s", reports.ResultFile)
	case readErr != nil && err == nil:
		return nil, fmt.Errorf("its %s cannot be read: %w", reports.ResultFile, strictyaml.FileReason(readErr))
	case readErr != nil:
		return nil, fmt.Errorf("it does not run the plan: %s", strings.TrimPrefix(err.Error(), "wavetank: "))
	}
	res := &otherResult{}
	if err := json.Unmarshal(data, res); err != nil {
		return nil, fmt.Errorf("its result cannot be read: %w", err)
	}
	return res, nil
}

// broken is the first invariant whose promise the run breaks, or that one if it does; "" if there is none. An invariant of "" is any.
func (r *otherResult) broken(invariant string) string {
	for _, v := range r.Violations {
		if v.Promised && (invariant == "" || v.Invariant == invariant) {
			return v.Invariant
		}
	}
	return ""
}

// undecided says why the run does not tell that nothing breaks; "" if it does.
func (r *otherResult) undecided() string {
	switch {
	case r.Verdict != scenarios.Inconclusive:
		return ""
	case r.OutOfSteps:
		return "the run used up its steps"
	}
	return "the run was inconclusive: " + firstOf(r.Reason, "it does not say why")
}

// comesTo says what an invariant comes to in the run, or why that is not known.
func (r *otherResult) comesTo(invariant string) (s why.Standing, unknown string) {
	if r.broken(invariant) != "" {
		return why.Breaks, ""
	}
	for _, i := range r.Invariants {
		if i.Name != invariant {
			continue
		}
		switch {
		case i.Status == scenarios.StatusUnpromised:
			return why.Beyond, ""
		case i.Status == scenarios.StatusNotExercised:
			return why.Idle, ""
		case r.undecided() != "":
			return "", r.undecided()
		case i.Status == scenarios.StatusHeld:
			return why.Holds, ""
		}
		return "", fmt.Sprintf("its result calls it %q", i.Status)
	}
	return "", "it has no such invariant"
}

// failure is how a program ended that failed.
type failure struct {
	code int    // -1: a signal ended it
	said string // on standard error
}

func (f *failure) Error() string {
	if f.code < 0 {
		return firstOf(f.said, "a signal ended it")
	}
	return firstOf(f.said, fmt.Sprintf("exit status %d", f.code))
}

// firstOf is the first line that says anything, or other.
func firstOf(said, other string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			return cli.Visible(line, false)
		}
	}
	return other
}

// command runs a program in dir. It ends when the context does.
func command(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "NO_COLOR=1", "GITHUB_ACTIONS=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it cleans up
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = &failure{exit.ExitCode(), stderr.String()}
	}
	return stdout.String(), err
}
