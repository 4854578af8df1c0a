package campaign

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Each night's seed gives plans of its own: not those of the night before, one further.
func TestSeedsShareNoPlan(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(3) {
		spec := Spec{Version: SpecVersion, Name: "fuzz", Seed: seed, Runs: 20, Drawn: &Drawn{}}
		for n := range spec.Runs {
			plan, err := spec.Plan(n)
			require.NoError(t, err)
			text, err := plans.Marshal(plan)
			require.NoError(t, err)
			assert.False(t, seen[string(text)], "seed %d, plan %d", seed, n)
			seen[string(text)] = true
		}
	}
}

// A plan is struck by each set of faults in turn, after it was run as it is.
func TestSetsOfFaults(t *testing.T) {
	struck := &Struck{Plan: "name: one", Faults: []faults.Fault{{On: &faults.Match{Phase: "publish"}, Do: faults.FailBefore}, {At: 1, Do: faults.Crash, Node: "scheduler-1"}}}
	spec := Spec{Version: SpecVersion, Name: "struck", Struck: struck}
	require.NoError(t, spec.Validate())
	assert.Equal(t, 3, spec.size())
	struck.Sets = [][2]int{{1, 0}}
	require.NoError(t, spec.Validate())
	assert.Equal(t, 2, spec.size())
	calm, err := spec.Plan(0)
	require.NoError(t, err)
	assert.Empty(t, calm.Faults)
	both, err := spec.Plan(1)
	require.NoError(t, err)
	assert.Equal(t, []faults.Fault{struck.Faults[1], struck.Faults[0]}, both.Faults)
	struck.Sets = [][2]int{{0, 2}}
	assert.EqualError(t, spec.Validate(), "a set names a fault that the plan does not have")
}

// A finding accounts for runs that have its settings with the values that matter, not with any.
func TestExplainsGoesByTheChoice(t *testing.T) {
	f := &Finding{Invariant: "x", Kinds: []string{"fail-after publish"}, Settings: []string{"engine.dispatch_order=publish-first", "a lower engine.max_deliver"}}
	run := func(settings ...string) *Record {
		return &Record{Fired: []string{"fail-after publish", "lose heartbeat"}, Settings: settings}
	}
	assert.True(t, f.explains("x", run("a lower engine.max_deliver", "engine.dispatch_order=publish-first", "workload.jobs")))
	assert.False(t, f.explains("x", run("a higher engine.max_deliver", "engine.dispatch_order=publish-first")))
	assert.False(t, f.explains("x", run("a lower engine.max_deliver", "engine.dispatch_order=outbox")))
	assert.False(t, f.explains("y", run("a lower engine.max_deliver", "engine.dispatch_order=publish-first")))
	assert.Equal(t, "engine.max_deliver", settingOf("a lower engine.max_deliver"))
	assert.Equal(t, "engine.dispatch_order", settingOf("engine.dispatch_order=outbox"))
	assert.Equal(t, "workload.jobs", settingOf("workload.jobs"))
}

func TestSpecsOverARedisServer(t *testing.T) {
	const mini, server, set = "version: 1\nname: a\n", "version: 1\nname: a\nworld: {redis: server}\n", "world.redis=server"
	for name, c := range map[string]struct {
		spec Spec
		is   bool
	}{
		"drawn":               {Spec{Drawn: &Drawn{}}, false},
		"drawn over one":      {Spec{Drawn: &Drawn{Sets: []string{set}}}, true},
		"perturbed":           {Spec{Drawn: &Drawn{Plans: []string{mini, server}}}, true},
		"one that is set off": {Spec{Drawn: &Drawn{Plans: []string{server}, Sets: []string{"world.redis=mini"}}}, false},
		"a grid":              {Spec{Grid: &Grid{Plans: []string{mini}, Points: [][]string{{}, {set}}, Seeds: 1}}, true},
		"struck":              {Spec{Struck: &Struck{Plan: server}}, true},
		"struck over another": {Spec{Struck: &Struck{Plan: mini}}, false},
	} {
		assert.Equal(t, c.is, c.spec.RedisServer(), name)
	}
}

// Plans have the numbers of their campaign: who has some of them shares them, whatever part of it or budget he was given.
func TestWhichSpecsShareRuns(t *testing.T) {
	of := func(runs, k, n int) Spec {
		spec := small(runs)
		if n > 0 {
			spec.Shard = &Shard{k, n}
		}
		return spec
	}
	timed := small(0)
	timed.Budget = 1
	other := small(10)
	other.Seed = 99
	for _, c := range []struct {
		a, b   Spec
		shares bool
	}{
		{of(10, 0, 0), of(10, 0, 0), true}, {of(10, 0, 0), of(10, 3, 4), true}, {of(10, 0, 0), of(20, 0, 0), true}, {of(10, 0, 0), timed, true},
		{of(10, 1, 2), of(10, 2, 2), false}, {of(10, 1, 2), of(10, 2, 3), true}, {of(10, 2, 2), of(5, 0, 0), false}, {of(10, 0, 0), other, false},
	} {
		assert.Equal(t, c.shares, c.a.Shares(c.b), "%v %v", c.a.Shard, c.b.Shard)
		assert.Equal(t, c.shares, c.b.Shares(c.a), "%v %v", c.b.Shard, c.a.Shard)
	}
}
