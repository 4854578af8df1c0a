package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/shell"
	"github.com/wavetank-sim/wavetank/sim"
)

// debugBuild builds without optimisation what is the project's own, so that Delve sees every variable.
const debugBuild = "go build -gcflags='github.com/wavetank-sim/wavetank/...=-N -l' -o bin/wavetank-debug ./cmd/wavetank"

const simPackage = "github.com/wavetank-sim/wavetank/sim."

// Where a step is met. The goroutine whose operation it is passes wokenAt next once the stepper has granted it. What no
// goroutine waits for has its effect within grantedAt, before which the step is not counted yet.
const (
	wokenAt   = "(*Process).exitIfDead"
	woken     = "p.node.world.steps == %d"
	grantedAt = "(*World).grant"
	granted   = "w.steps == %d"
)

// wokenByNone are the kinds of step that no goroutine waits for.
var wokenByNone = []sim.Kind{sim.KindControl, sim.KindLate, sim.KindTimer}

// checkStep refuses a step that no run has.
func checkStep(cmd *cobra.Command, step int) error {
	if cmd.Flags().Changed("debug-at") && step < 1 {
		return cli.Usage(cmd, "--debug-at is %d, but the steps of a run count from 1", step)
	}
	return nil
}

// writeDebug writes the file for Delve into the folder, and returns the command that uses it. Step 0 is none.
func writeDebug(dir *folder, res *scenarios.Result, step int, out string) (command string, err error) {
	if step == 0 {
		return "", nil
	}
	e, err := stepOf(filepath.Join(dir.temp, reports.TraceFile), step)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir.temp, reports.DebugFile), []byte(delveInit(e)), 0o644); err != nil {
		return "", unwritable(dir.path, err)
	}
	command = fmt.Sprintf("%s && dlv exec bin/wavetank-debug --init %s -- %s --debug-at %d",
		debugBuild, shell.Word(filepath.Join(dir.path, reports.DebugFile)), res.Arguments(), step)
	if out != "" {
		command += " --out " + shell.Word(out)
	}
	return command, nil
}

// delveInit is the file for Delve that goes to the step e.
func delveInit(e sim.Event) string {
	at, when, number, where := wokenAt, woken, e.Step, "The goroutine that makes the step has been granted it. Continue once, and the step takes effect."
	if slices.Contains(wokenByNone, e.Kind) {
		at, when, number, where = grantedAt, granted, e.Step-1, "No goroutine waits for the step: the stepper is about to grant it."
	}
	what := strings.Join(slices.DeleteFunc([]string{string(e.Kind), e.Name, e.Target, e.Phase, e.Job, e.Node}, func(s string) bool { return s == "" }), ", ")
	return fmt.Sprintf("# Step %d, %s: %s.\n# %s\nbreak wanted %s%s\ncondition wanted %s\ncontinue\nstack 20\n",
		e.Step, words.Instant(e.At), what, where, simPackage, at, fmt.Sprintf(when, number))
}

// stepOf reads one step of a trace.
func stepOf(trace string, step int) (sim.Event, error) {
	f, err := os.Open(trace)
	if err != nil {
		return sim.Event{}, err
	}
	defer f.Close() // read only: nothing to lose
	for e, err := range reports.Trace(f) {
		if err != nil || e.Step == step {
			return e, err
		}
	}
	return sim.Event{}, fmt.Errorf("%s has no step %d", trace, step)
}
