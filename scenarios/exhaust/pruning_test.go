package exhaust

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// pruned are worlds in which what is left out is tried, too: the operations and the kinds of fault reach everything that
// the rule tells apart.
var pruned = map[string]struct {
	plan   string
	kinds  []string
	phases []string
}{
	"servers strike a workflow": {
		plan: `
topology: {schedulers: 2, workers: 3}
workload: {jobs: 2, every: 200ms, runs: 2, steps: 4, step_delay: 20s}
seed: 20`,
		kinds:  []string{"failover of redis"},
		phases: []string{"step_read", "run_read", "snapshot_lock"},
	},
	"two jobs share a tenant's slots": {
		plan: `
topology: {schedulers: 2, workers: 1}
workload: {jobs: 2, every: 20ms, slow: {1: 1m}}
engine: {tenant_limit: 1}`,
		kinds:  []string{"fail-before", "late", "pause", "failover of redis"},
		phases: []string{"scheduled_write", "publish", "result_write", "heartbeat"},
	},
}

// What a reduced search breaks is what the whole search breaks, of each kind of fault, within its promise and outside.
func TestReducedFindsWhatTheWholeFinds(t *testing.T) {
	if testing.Short() {
		t.Skip("a night tries the whole")
	}
	for name, c := range pruned {
		t.Run(name, func(t *testing.T) {
			p, err := plans.Parse("world.yaml", []byte("version: 1\nname: world\npreset: documented"+c.plan))
			require.NoError(t, err)
			all, err := Define(t.Context(), p, Options{Kinds: c.kinds, Phases: c.phases})
			require.NoError(t, err)
			reduced, err := Define(t.Context(), p, Options{Kinds: c.kinds, Phases: c.phases, Reduced: true})
			require.NoError(t, err)
			assert.Len(t, all.Tries, len(reduced.Tries)+reduced.Alike)
			assert.Less(t, len(reduced.Tries), len(all.Tries))
			assert.Equal(t, findings(t, all), findings(t, reduced))
		})
	}
}

// Likewise pairs.
func TestPrunedPairsFindWhatAllPairsFind(t *testing.T) {
	if testing.Short() {
		t.Skip("a night tries the whole")
	}
	p, err := plans.Parse("world.yaml", []byte("version: 1\nname: world\npreset: documented\ntopology: {schedulers: 2, workers: 1}\nworkload: {jobs: 2, every: 20ms}\nengine: {tenant_limit: 1}"))
	require.NoError(t, err)
	o := Options{Pairs: true, Kinds: []string{"fail-before", "failover of redis"}, Phases: []string{"scheduled_write", "publish"}}
	some, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	o.Unpruned = true
	all, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	assert.Len(t, all.Tries, len(some.Tries)+some.Alike)
	assert.Less(t, len(some.Tries), len(all.Tries))
	assert.Equal(t, findings(t, all), findings(t, some))
}

// findings are the invariants that tries break, each by the kind of its last fault.
func findings(t *testing.T, d *Definition) map[string]bool {
	found := map[string]bool{}
	for n := range d.Tries {
		p, err := d.PlanOf(n)
		require.NoError(t, err)
		res, err := scenarios.Run(t.Context(), p, d.options(p))
		require.NoError(t, err)
		for _, v := range res.Violations {
			found[fmt.Sprintf("%s by %s, promised %t", v.Invariant, kindOf(&d.Tries[n].Fault), v.Promised)] = true
		}
	}
	return found
}
