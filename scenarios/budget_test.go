package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// lastingCauses are plans in which what a budget is about does not end, and their last job meets it.
var lastingCauses = map[string]string{
	"an empty pool":               "topology: {schedulers: 2, workers: 1}\nworkload: {jobs: 1, every: 1m}\nfaults: [{at: 3s, do: crash, node: worker-1}]\nthen: {heal: false, settle_within: 3h}\n",
	"a busy pool":                 "topology: {schedulers: 2, workers: 1, max_parallel: 1}\nworkload: {jobs: 2, every: 20s, work: 1h}\n",
	"its tenant's limit":          "engine: {tenant_limit: 1}\ntopology: {schedulers: 2, workers: 2}\nworkload: {jobs: 2, every: 20s, work: 1h}\n",
	"a publish that fails":        "topology: {schedulers: 2, workers: 2}\nworkload: {jobs: 1}\nfaults: [{on: {job: 1, phase: publish}, do: fail-before, times: 10000}]\n",
	"a store that cannot be read": "topology: {schedulers: 2, workers: 2}\nworkload: {jobs: 1}\nfaults: [{on: {job: 1, phase: state_read}, do: fail-before, times: 200}]\n",
}

// survived is for how long the plan's last job was tried.
func survived(t *testing.T, cause, preset string) time.Duration {
	t.Helper()
	p, err := plans.Parse("lasting.yaml", []byte("version: 1\nname: lasting\nstory: It does not end.\npreset: "+preset+"\n"+lastingCauses[cause]+"seed: 1\n"))
	require.NoError(t, err)
	res, err := Run(t.Context(), p, RunOptions{Modified: true})
	require.NoError(t, err)
	for _, v := range res.Violations {
		if v.Invariant == "no-message-given-up" {
			return v.At - res.Jobs[0].Submitted
		}
	}
	j := res.Jobs[len(res.Jobs)-1]
	require.Equal(t, "FAILED", j.State, "%s, %s", cause, preset)
	require.Equal(t, "max_scheduling_retries", j.Reason)
	return j.Settled - j.Submitted
}

// A job survives a cause for as long as the table says, which is worked out from the settings.
func TestRetryBudgets(t *testing.T) {
	presets := []string{plans.PresetDocumented, plans.PresetHardened}
	var table strings.Builder
	table.WriteString("| a job meets | reason code | `documented` | `hardened` | and then |\n|---|---|---|---|---|\n")
	budgets := map[string][]engine.Budget{}
	for _, preset := range presets {
		s := plans.PresetSettings(preset)
		budgets[preset] = engine.Budgets(&s)
	}
	for i, b := range budgets[plans.PresetDocumented] {
		code := "none"
		if b.ReasonCode != "" {
			code = "`" + b.ReasonCode + "`"
		}
		hardened := budgets[plans.PresetHardened][i]
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", b.Cause, code, b.Lasts.Round(time.Second), hardened.Lasts.Round(time.Second), b.Ends)
		for _, preset := range presets {
			want := budgets[preset][i].Lasts
			assert.InEpsilon(t, want.Seconds(), survived(t, b.Cause, preset).Seconds(), 0.04, "%s, %s", b.Cause, preset)
		}
	}
	generated(t, "README.md", "budgets", table.String())
}
