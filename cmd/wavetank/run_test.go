package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// runIn is a run of its own folder.
func runIn(t *testing.T, out string, args ...string) (code int, said string) {
	t.Helper()
	t.Setenv("GOMAXPROCS", "1") // what a run would set for the whole process
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"run", "--out", out}, args...), &stdout, &stderr)
	for line := range strings.Lines(stderr.String()) { // on a slow machine it says how far it is
		require.Regexp(t, `^(looking for what the violation depends on|why: |\d+ steps, )`, line)
	}
	return code, stdout.String()
}

// What is printed of a toggle shows that its part is missed. With -short it is so of one in six.
func TestTogglesCommandsAreViolated(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, toggle := range plans.Toggles() {
		if testing.Short() && i%6 != 0 {
			continue // TestToggles runs each
		}
		words := strings.Fields(toggle.Command)
		require.Equal(t, []string{"wavetank", "run"}, words[:2])
		code, said := runIn(t, "out", append(words[2:], "--quiet", "--no-why")...)
		assert.Equal(t, cli.ExitViolated, code, toggle.Command)
		assert.Regexp(t, `^VIOLATED .*\b`+toggle.Invariant+`\b.* violated\.\n$`, said, toggle.Command)
	}
}

// The plan that a run leaves is judged as the run was, whatever was changed in it.
func TestPlanOfARunReplays(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{
		"publish-failure", "topic-timeout --preset hardened",
		"state-write-failure --set engine.dispatch_order=publish-first",
		"rollback-failure --preset hardened", "dlq-write-failure --preset hardened", // a fault has nothing to strike
		"paused-holder --preset hardened", "stale-result --preset hardened --seed 5", // what they expect does not come about
		"calm --set workload.jobs=60 --set workload.slow.50=1m", "stale-worker --set workload.jobs=40",
		"publish-ack-lost --judge result-of-current-epoch",
		"stale-result --preset hardened --set engine.refuse_stale_results=false --judge result-of-current-epoch",
	} {
		code, said := runIn(t, "first", append(strings.Fields(args), "--no-why")...)
		again, replayed := runIn(t, "again", filepath.Join("first", reports.PlanFile), "--no-why")
		assert.Equal(t, code, again, args)
		said, _, _ = strings.Cut(said, "\nReport: ")
		replayed, _, _ = strings.Cut(replayed, "\nReport: ")
		assert.Equal(t, said, replayed, args)
		first, err := os.ReadFile(filepath.Join("first", reports.PlanFile))
		require.NoError(t, err)
		second, err := os.ReadFile(filepath.Join("again", reports.PlanFile))
		require.NoError(t, err)
		assert.Equal(t, string(first), string(second), args)
	}
}

// A story is of the plan as it stands: above a run of other settings it says so.
func TestStoryOfAModifiedPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	const lead, story = "\n  Unmodified, the plan shows: ", "The broker stores the dispatch of job 3, but the ack is lost"
	_, said := runIn(t, "out", "publish-ack-lost", "--preset", "hardened")
	assert.Contains(t, said, lead+story)
	page, err := os.ReadFile(filepath.Join("out", reports.PageFile))
	require.NoError(t, err)
	assert.Contains(t, string(page), strings.TrimSpace(lead)+" "+story)
	assert.Contains(t, said, "At 3.844s the stream refused the publish of job-3 by scheduler-1, as it holds a message of this epoch.")
	_, said = runIn(t, "out", "publish-ack-lost", "--seed", "3", "--preset", "documented", "--judge", "one-dispatch-per-job", "--no-why")
	assert.NotContains(t, said, lead)
	assert.Contains(t, said, "\n  one-dispatch-per-job is judged even outside of its promise\n")
}
