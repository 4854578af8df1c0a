package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

func overCalm(t *testing.T) *Definition {
	d, err := Load("calm")
	require.NoError(t, err)
	return d
}

// refused says that err is one clear line with all the parts.
func refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	var e *strictyaml.Error
	if assert.True(t, errors.As(err, &e), "%v", err) {
		for _, part := range parts {
			assert.Contains(t, err.Error(), part)
		}
		assert.NotContains(t, err.Error(), "\n")
		assert.NotEmpty(t, e.Remedy)
	}
}

func TestGridsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		grid string
		want []string
	}{
		"empty":              {"engine.max_dispatch_retries=", []string{`the grid "engine.max_dispatch_retries=" has no values`, "write engine.max_dispatch_retries=1,2,5 or =1..10"}},
		"no values":          {"engine.max_dispatch_retrys", []string{"has no values", `did you mean "engine.max_dispatch_retries"?`}},
		"unknown":            {"engine.max_dispatch_retrys=1..3", []string{`unknown setting "engine.max_dispatch_retrys"`, "`wavetank list settings`", `did you mean "engine.max_dispatch_retries"?`}},
		"wrong type":         {"engine.max_dispatch_retries=1,two", []string{`engine.max_dispatch_retries is "two", not an integer; give 1 to 1000`}},
		"no unit":            {"world.heartbeat_lag=0s,5", []string{`world.heartbeat_lag is "5", without a unit`}},
		"out of range":       {"engine.max_dispatch_retries=0..3", []string{"engine.max_dispatch_retries is 0, out of range; give 1 to 1000"}},
		"choice":             {"engine.dispatch_order=state-first,publish-furst", []string{`engine.dispatch_order is "publish-furst"`, `did you mean "publish-first"?`}},
		"range of durations": {"world.heartbeat_lag=0s..30s", []string{"world.heartbeat_lag has the range", "without a step; write one, such as 0s..30s/10s"}},
		"twice":              {"world.heartbeat_lag=60s,1m", []string{"world.heartbeat_lag has the value 1m twice; give each value once"}},
		"the same amount":    {"world.dying=0.1,0.10", []string{"world.dying has the value 0.10 twice"}},
		"seed":               {"seed=1..10", []string{"the seed is no setting to sweep over", "--seeds"}},
		"a million":          {"workload.jobs=1..1000000", []string{"the axes have 1,000,000 points; a sweep has at most 10,000"}},
		"no end of them":     {"workload.jobs=1..99999999999999999999", []string{"workload.jobs has the range", "more values than can be counted; take fewer"}},
		"nothing":            {"=1,2", []string{"unknown setting"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := overCalm(t)
			refused(t, d.Grid([]string{c.grid}), c.want...)
			assert.Empty(t, d.Axes)
		})
	}
	refused(t, overCalm(t).Grid([]string{"world.dying=0,1", "world.dying=0.5"}), "world.dying is an axis already")
	refused(t, overCalm(t).Validate(), "the sweep has no axis; give one with --grid")
}

func TestDefinitionsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Definition)
		want   string
	}{
		"seeds":          {func(d *Definition) { d.Seeds = 0 }, "seeds is 0, out of range; give 1 to 10,000"},
		"many seeds":     {func(d *Definition) { d.Seeds = 1 << 60 }, "out of range"},
		"runs":           {func(d *Definition) { d.Seeds = 10_000; d.grid(t, "workload.jobs=2..500") }, "998 points under 10,000 seeds are 9,980,000 runs; a sweep has at most 1,000,000"},
		"points":         {func(d *Definition) { d.grid(t, "workload.jobs=1..1000", "engine.max_dispatch_retries=1..1000") }, "the axes have 1,000,000 points; a sweep has at most 10,000"},
		"last seed":      {func(d *Definition) { d.FirstSeed = 1<<64 - 2 }, "are more than there are"},
		"metric":         {func(d *Definition) { d.Metrics = []string{"dispatch_p99"} }, `unknown metric "dispatch_p99"; known are stale_exhausted`},
		"metric twice":   {func(d *Definition) { d.Metrics = []string{"failed", "failed"} }, "failed is there already"},
		"pareto":         {func(d *Definition) { d.Pareto.X = "costs" }, `unknown metric "costs"`},
		"pareto alone":   {func(d *Definition) { d.Pareto.X = d.Pareto.Y }, "against itself"},
		"version":        {func(d *Definition) { d.Version = 2 }, "the sweep's format is version 2; this build reads version 1"},
		"invalid points": {func(d *Definition) { d.grid(t, "engine.backoff_max=500ms,30s", "engine.backoff_base=100ms,1s") }, "the point engine.max_dispatch_retries=1, engine.backoff_max=500ms, engine.backoff_base=1s of the axes makes no plan: engine.backoff_base is 1s, longer than engine.backoff_max"},
	} {
		t.Run(name, func(t *testing.T) {
			d := overCalm(t)
			d.grid(t, "engine.max_dispatch_retries=1,2")
			require.NoError(t, d.Validate())
			c.change(d)
			refused(t, d.Validate(), c.want)
		})
	}
}

func (d *Definition) grid(t *testing.T, assignments ...string) {
	require.NoError(t, d.Grid(assignments))
}

func TestGridReplacesAnAxisAndAddsOthers(t *testing.T) {
	d, err := Load("stale-worker-retries")
	require.NoError(t, err)
	n := len(d.Axes)
	d.grid(t, "world.heartbeat_lag=20s,5s", "engine.worker_ttl=10s..30s/10s", "topology.deduplicate=true,false")
	assert.Equal(t, []string{"5s", "20s"}, d.Axes[1].Values, "amounts ascend")
	assert.Equal(t, Axis{Setting: "engine.worker_ttl", Title: "worker ttl (s)", Values: []string{"10s", "20s", "30s"}}, d.Axes[n])
	assert.Equal(t, []string{"true", "false"}, d.Axes[n+1].Values, "choices stay as listed")
	assert.True(t, d.Axes[1].Condition)
	require.NoError(t, d.Validate())

	require.NoError(t, d.Set("topology.workers=7"))
	assert.Contains(t, d.Plan, "workers: 7")
	refused(t, d.Set("engine.worker_ttl=20s"), "engine.worker_ttl is an axis of the sweep")
	refused(t, d.Set("topology.worker=7"), "unknown setting")
}

func TestSpecOrdersPoints(t *testing.T) {
	d := overCalm(t)
	d.grid(t, "engine.max_dispatch_retries=1,2", "world.dying=0,0.5")
	d.Seeds, d.FirstSeed = 3, 10
	spec := d.Spec()
	require.NoError(t, spec.Validate())
	assert.Equal(t, [][]string{
		{"engine.max_dispatch_retries=1", "world.dying=0"}, {"engine.max_dispatch_retries=1", "world.dying=0.5"},
		{"engine.max_dispatch_retries=2", "world.dying=0"}, {"engine.max_dispatch_retries=2", "world.dying=0.5"},
	}, spec.Grid.Points, "the last axis is the fastest")
	p, err := spec.Plan(4*2 + 3)
	require.NoError(t, err)
	assert.Equal(t, uint64(12), p.Seed)
	assert.Equal(t, 2, p.Engine.MaxDispatchRetries)
	assert.Equal(t, 0.5, p.World.Dying)
}

// What a run is judged by gates the points of a sweep, and the page of a point's run says the same.
func TestASweepJudgesWhatItsScenarioDoes(t *testing.T) {
	d, err := Load("publish-ack-lost")
	require.NoError(t, err)
	require.NoError(t, d.Set("topology.workers=2"))
	require.NoError(t, d.Grid([]string{"engine.epochs=true,false"}))
	for i, want := range []plans.Expect{{Changed: []string{"topology.workers=2", "engine.epochs=true"}}, {Changed: []string{"topology.workers=2"}}} {
		spec := d.Spec()
		p, err := spec.Plan(i)
		require.NoError(t, err)
		assert.True(t, p.Expect.Judges("one-dispatch-per-job"))
		text, err := d.PlanOf(i, 1)
		require.NoError(t, err)
		p, err = plans.Parse("plan", []byte(text))
		require.NoError(t, err)
		assert.Equal(t, want.Changed, p.Expect.Changed)
	}
}

func TestReadyMadeSweeps(t *testing.T) {
	assert.Equal(t, []string{"backoff", "dispatch-timeout", "retry-budget", "stale-worker-retries"}, Names())
	for _, name := range Names() {
		d, err := Load(name) // which makes every plan
		require.NoError(t, err)
		assert.Equal(t, name, d.Name)
		assert.NotEmpty(t, d.Question)
		assert.NotEmpty(t, d.Notes)
		spec := d.Spec()
		require.NoError(t, spec.Validate())
		assert.LessOrEqual(t, len(spec.Grid.Points)*d.Seeds, 2000, "it answers in minutes")
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	d, err := Load(write("plan.yaml", "version: 1\nname: mine\npreset: documented\nworkload: {jobs: 3}\nseed: 5\n"))
	require.NoError(t, err)
	assert.Equal(t, "mine", d.Name)
	assert.Equal(t, uint64(5), d.FirstSeed)

	d, err = Load(write("sweep.yaml", "name: of-mine\nplan: plan.yaml\naxes: [{setting: workload.jobs, values: 1..3}]\n"))
	require.NoError(t, err)
	assert.Contains(t, d.Plan, "name: mine", "a plan's file is found from the sweep's")
	assert.Equal(t, []string{"1", "2", "3"}, d.Axes[0].Values)

	for arg, want := range map[string]string{
		"stale-worker-retry":            `unknown sweep "stale-worker-retry"; there are backoff, dispatch-timeout, retry-budget, stale-worker-retries, or give a scenario's name or a file's path (did you mean "stale-worker-retries"?)`,
		"stale-worke":                   `did you mean "stale-worker"?`,
		filepath.Join(dir, "none.yaml"): "there is no such file",
		dir:                             "this is a directory",
		write("broken.yaml", "name: [x\nplan: {\n"):       "broken YAML",
		write("empty.yaml", ""):                           "this is empty",
		write("big.yaml", strings.Repeat("# x\n", 1<<19)): "this is longer than a plan can be",
		write("old.yaml", "version: 0\nplan: calm\n"):     "the sweep's format is version 0; this build reads version 1",
	} {
		_, err := Load(arg)
		refused(t, err, want)
	}
}
