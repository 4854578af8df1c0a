package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// runToggled runs a scenario under the preset hardened, with further settings, judged by the invariant
// whatever its promise.
func runToggled(t *testing.T, scenario, invariant string, sets ...string) *Result {
	t.Helper()
	p, err := plans.Load(scenario)
	require.NoError(t, err)
	for _, set := range append([]string{"preset=" + plans.PresetHardened}, sets...) {
		require.NoError(t, p.Set(set))
	}
	p.Expect = plans.Expect{}
	if invariant != "" {
		p.Expect.Violates = []string{invariant}
	}
	res, err := Run(context.Background(), p, RunOptions{Source: scenario, Modified: true})
	require.NoError(t, err)
	return res
}

func violated(res *Result) (names []string) {
	for _, v := range res.Violations {
		if v.Promised && !slices.Contains(names, v.Invariant) {
			names = append(names, v.Invariant)
		}
	}
	return names
}

// With a toggle on its scenario holds; with it off the invariant named for it is violated.
func TestToggles(t *testing.T) {
	for _, toggle := range plans.Toggles() {
		t.Run(toggle.Setting, func(t *testing.T) {
			with := runToggled(t, toggle.Scenario, toggle.Invariant)
			assert.Equal(t, Held, with.Verdict, "%s", told(with))
			without := runToggled(t, toggle.Scenario, toggle.Invariant, toggle.Setting+"="+toggle.Off)
			assert.Contains(t, violated(without), toggle.Invariant, "%s", told(without))
		})
	}
}

func told(res *Result) string {
	lines := append([]string{res.Reason}, res.Telling...)
	for _, v := range res.Violations {
		lines = append(lines, fmt.Sprintf("%s (promised: %v) %s: %s", v.Invariant, v.Promised, v.Job, v.Message))
	}
	return strings.Join(append(lines, res.Unfired...), "\n")
}

// Every hardening, and every part that can be taken away, is in the table.
func TestTogglesAreAllThereAre(t *testing.T) {
	alternatives := []string{"engine.dispatch_order", "engine.publish_dedup", "engine.read_error", "engine.stale_worker", // of the documented design, each with scenarios of its own
		"engine.policy.fail_mode",
		"engine.output.enabled"} // a part that plans turn on: it is off in both presets
	listed := map[string]plans.Toggle{}
	for _, toggle := range plans.Toggles() {
		assert.NotContains(t, listed, toggle.Setting)
		listed[toggle.Setting] = toggle
		assert.NotEqual(t, toggle.On, toggle.Off, toggle.Setting)
		assert.NotRegexp(t, `^[A-Z][a-z]|\.$`, strings.TrimPrefix(toggle.Says, "Redis "), "%s: a clause", toggle.Setting)
		assert.Contains(t, plans.Names(), toggle.Scenario)
		assert.Contains(t, plans.Violable(), toggle.Invariant)
		require.NoError(t, plans.Defaults().Set(toggle.Setting+"="+toggle.Off))
	}
	for _, s := range plans.Settings() {
		is := s.Type == "boolean" || s.Type == "choice"
		if strings.HasPrefix(s.Name, "engine.") && is && !slices.Contains(alternatives, s.Name) {
			assert.Contains(t, listed, s.Name, "a toggle without a scenario that shows its worth")
		} else if s.Hardened != "" {
			assert.Contains(t, listed, s.Name, "the presets differ in it")
		}
	}
}

// A lock that is given back after each tick is the other way to find what is overdue at every poll, and
// costs what the lock is for.
func TestAReleasedTickLockLetsEveryReplicaTick(t *testing.T) {
	assert.Empty(t, violated(runToggled(t, "deadline-between-ticks", "overdue-job-found-within-a-poll")))
	assert.Contains(t, violated(runToggled(t, "tick-lock", "", "engine.tick_lock=released")), "one-writer-a-tick")
	assert.Empty(t, violated(runToggled(t, "tick-lock", "", "engine.tick_lock=until-expiry")))
}

// settingsOf are the settings of a preset, by name.
func settingsOf(preset string) map[string]string {
	values := map[string]string{}
	for _, s := range plans.Settings() {
		values[s.Name] = s.Default
		if preset == plans.PresetHardened && s.Hardened != "" {
			values[s.Name] = s.Hardened
		}
	}
	return values
}
