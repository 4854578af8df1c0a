package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// folder is that of a run of the scenario, as `wavetank run` leaves it.
func folder(t *testing.T, scenario string, sample bool) string {
	t.Helper()
	dir := t.TempDir()
	plan, err := plans.Load(scenario)
	require.NoError(t, err)
	trace, err := os.Create(filepath.Join(dir, reports.TraceFile))
	require.NoError(t, err)
	res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario, Trace: trace, Sample: sample})
	require.NoError(t, err)
	require.NoError(t, trace.Close())
	require.NoError(t, reports.Write(dir, plan, res))
	return dir
}

// An alert is the faster control loop: it fires within a scrape, and the reconciler notices after the dispatch timeout.
func TestAnAlertIsToldBesideWhoElseNoticed(t *testing.T) {
	dir := folder(t, "rollback-failure", true)
	const told = "At 15s the alert SchedulerRollbackFailed fired: A dispatch of topic job.default was neither published nor rolled back. " +
		"job-3 had been blind for 12.381s then, of 6m27.404s. The first TIMEOUT, of job-3, came 6m15.022s after it. " +
		"The first violation, of every-intent-is-published, was found 6m15.022s after it."
	const late = "At 6m45s, at the scrape after the end of the run, the alert SchedulerJobsTimedOut fired: Jobs of topic job.default were timed out. " +
		"The first TIMEOUT, of job-3, came 14.978s before it. The first violation, of every-intent-is-published, was found 14.978s before it."
	for range 2 { // again changes nothing
		var out, errs bytes.Buffer
		require.Zero(t, run([]string{dir}, &out, &errs), errs.String())
		assert.Equal(t, told+"\n"+late+"\nReport: "+filepath.Join(dir, "report.html")+"\n", out.String())
		page, err := os.ReadFile(filepath.Join(dir, "report.html"))
		require.NoError(t, err)
		assert.Equal(t, 1, bytes.Count(page, []byte("<li>"+told+"</li>")))
		assert.Contains(t, string(page), "alert SchedulerRollbackFailed</li>", "in the legends of the plots")
	}
	for _, name := range []string{"alerts.json", "alerts.yaml", "promtool.yaml"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
}

func TestACalmRunIsQuiet(t *testing.T) {
	var out, errs bytes.Buffer
	dir := folder(t, "calm", true)
	require.Zero(t, run([]string{dir}, &out, &errs), errs.String())
	assert.Equal(t, "No alert fired.\nReport: "+filepath.Join(dir, "report.html")+"\n", out.String())
}

func TestWhatCannotBeEvaluatedIsRefused(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("groups: [{name: a, rules: [{alert: A, expr: 'sum('}]}]"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	calm := folder(t, "calm", true)
	for want, args := range map[string][]string{
		"holds no samples":           {folder(t, "calm", false)},
		"there is no such folder":    {filepath.Join(calm, "none")},
		"one folder too many":        {calm, calm},
		"no such file or direct":     {calm, "--rules", "none.yaml"},
		"could not parse expression": {calm, "--rules", broken},
		broken + ": ":                {calm, "--rules", broken},
		empty + ": there is no alerting rule; write one, as in groups: ": {calm, "--rules", empty},
		"unknown flag": {"--nonsense"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, 2, run(args, &out, &errs), want)
		assert.Contains(t, errs.String(), want)
	}
}
