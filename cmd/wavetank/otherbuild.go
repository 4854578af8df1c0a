package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// otherBuild is another build of wavetank, which is to run a plan as this one does.
type otherBuild struct {
	ctx     context.Context
	program string // with its path
	plan    *plans.Plan
	dir     string // where both runs are kept
}

// newOtherBuild keeps the runs in the folder for temporary files.
func newOtherBuild(ctx context.Context, program string, plan *plans.Plan) (*otherBuild, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--against is %s, no program that can be run; give another build of wavetank", program)
	}
	text, err := plans.Marshal(plan)
	if err != nil {
		return nil, err
	}
	b := &otherBuild{ctx, path, plan, os.TempDir()}
	return b, os.WriteFile(filepath.Join(b.dir, reports.PlanFile), text, 0o644)
}

// ownRun makes the plan's run in this build.
func (b *otherBuild) ownRun() (res *scenarios.Result, err error) {
	err = cli.WriteFile(filepath.Join(b.dir, reports.TraceFile), func(w io.Writer) error {
		res, err = runPlan(b.ctx, b.plan, scenarios.RunOptions{Trace: w})
		return err
	})
	return res, err
}

// beside makes it in the other, and says where the two part.
func (b *otherBuild) beside(invariant string) (*why.Build, error) {
	dir := filepath.Join(b.dir, "other")
	_, err := command(b.ctx, b.dir, b.program, "run", reports.PlanFile, "--out", dir)
	if cause := context.Cause(b.ctx); cause != nil {
		return nil, cause
	}
	res, err := resultIn(dir, err)
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--against %s: %v", b.program, err)
	}
	own, err := os.Open(filepath.Join(b.dir, reports.TraceFile))
	if err != nil {
		return nil, err
	}
	defer own.Close()
	other, err := os.Open(filepath.Join(dir, reports.TraceFile))
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--against %s: its run has no trace: %v", b.program, strictyaml.FileReason(err))
	}
	defer other.Close()
	build := &why.Build{Name: cmp.Or(res.Build, "without a name"), Standing: res.standing(invariant)}
	build.Parts, build.Parting, err = whatif.PartingOf(own, other)
	return build, err
}

// standing is what an invariant comes to; "" if there is no such.
func (r *otherResult) standing(invariant string) why.Standing {
	for _, i := range r.Invariants {
		if i.Name == invariant {
			return map[scenarios.Status]why.Standing{
				scenarios.StatusHeld: why.Holds, scenarios.StatusViolated: why.Breaks, scenarios.StatusUnpromised: why.Beyond, scenarios.StatusNotExercised: why.Idle,
			}[i.Status]
		}
	}
	return ""
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
	case readErr != nil && err == nil:
		return nil, strictyaml.FileReason(readErr)
	case readErr != nil:
		return nil, fmt.Errorf("it does not run the plan: %s", strings.TrimPrefix(err.Error(), "wavetank: "))
	}
	res := &otherResult{}
	if err := json.Unmarshal(data, res); err != nil {
		return nil, fmt.Errorf("its result cannot be read: %w", err)
	}
	return res, nil
}

// failure is how a program ended that failed.
type failure struct {
	code int    // -1: a signal ended it
	said string // on standard error
}

func (f *failure) Error() string { return firstOf(f.said, fmt.Sprintf("exit status %d", f.code)) }

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
