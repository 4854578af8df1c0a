package reports

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The panels of a run show what happened in it: retries by what failed and why, failures of Redis, the worker that was
// silent, and the replay that was denied.
func TestPanelsShowWhatHappened(t *testing.T) {
	const (
		retries = iota
		failClosed
		stale
		dead
	)
	for scenario, want := range map[string]map[int][]string{
		"publish-failure":    {retries: {"publish dispatch_failed up to 2"}},
		"fail-closed-streak": {retries: {"state_read up to 123"}, failClosed: {"fail-closed retries up to 123", "failed on Redis: read up to 123"}},
		"stale-worker":       {retries: {"pick no_workers up to 4"}, stale: {"picks of stale workers up to 12", "age: 50th percentile up to 9.02 s", "age: 90th percentile up to 34 s", "age: oldest up to 34 s"}},
		"replay-denied":      {dead: {"dependency_unavailable up to 2", "denied up to 0.5"}},
	} {
		plan, err := plans.Load(scenario)
		require.NoError(t, err)
		res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario, Sample: true})
		require.NoError(t, err)
		figures := plots.Run(plan, withDerived(res), plots.Traced{})
		figures = figures[len(figures)-4:]
		for i, f := range figures {
			var said string
			for at := &f; at != nil; at = at.Under {
				for _, svg := range at.SVGs {
					said += string(svg)
				}
			}
			for _, words := range want[i] {
				assert.Contains(t, said, "; "+words, "%s: %s", scenario, f.Title)
			}
			assert.Equal(t, len(want[i]) == 0, f.Empty != "", "%s: %s", scenario, f.Title)
		}
	}
}
