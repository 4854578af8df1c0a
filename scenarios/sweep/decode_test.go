package sweep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const axes = "axes: [{setting: engine.max_dispatch_retries, values: 1..3}]\n"

func TestParseReadsASweep(t *testing.T) {
	d, err := Parse("s.yaml", []byte(`
version: 1
name: mine
question: What is best?
plan:
  name: inner
  preset: documented
  workload: {jobs: 4}
  seed: 3
settings:
  engine.worker_ttl: 20s
  topology.workers: 5
axes:
  - setting: engine.max_dispatch_retries
    values: 1..3
  - {setting: world.heartbeat_lag, values: [15s, 0s, 20s..40s/10s], title: how late (s)}
seeds: 7
first_seed: 11
metrics: [failed, unsettled]
pareto: {x: operations, y: failed}
notes:
  - "One: two."
`))
	require.NoError(t, err)
	assert.Equal(t, []Axis{
		{Setting: "engine.max_dispatch_retries", Title: "max dispatch retries", Values: []string{"1", "2", "3"}},
		{Setting: "world.heartbeat_lag", Title: "how late (s)", Values: []string{"0s", "15s", "20s", "30s", "40s"}, Condition: true},
	}, d.Axes)
	assert.Equal(t, 7, d.Seeds)
	assert.Equal(t, uint64(11), d.FirstSeed)
	assert.Equal(t, []string{"failed", "unsettled"}, d.Metrics)
	assert.Equal(t, Pareto{X: "operations", Y: "failed"}, d.Pareto)
	assert.Equal(t, []string{"One: two."}, d.Notes)
	p, err := d.plan()
	require.NoError(t, err)
	assert.Equal(t, 5, p.Topology.Workers)
	assert.Equal(t, 4, p.Workload.Jobs)
	assert.Equal(t, "20s", p.Engine.WorkerTTL.String())
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "name: x\nplan: calm\naxis: []\n", `s.yaml:3:1: unknown key "axis" in a sweep (did you mean "axes"?); known are version, name, question, plan`},
		{"near key", "name: x\nplan: calm\nsedes: 3\n", `(did you mean "seeds"?)`},
		{"unknown key of an axis", "name: x\nplan: calm\naxes: [{setings: a}]\n", `s.yaml:3:9: unknown key "setings" in axes[0] (did you mean "setting"?); known are setting, values, title`},
		{"unknown key of pareto", "name: x\nplan: calm\n" + axes + "pareto: {z: failed}\n", `s.yaml:4:10: unknown key "z" in pareto`},
		{"key twice", "name: x\nname: y\n", `s.yaml:2:1: broken YAML`},
		{"list", "- name: x\n", `s.yaml:1:1: a sweep is not a mapping; give keys such as version, name, question`},
		{"version", "version: 2\nname: x\nplan: calm\n" + axes, `s.yaml:1:10: the sweep's format is version 2; this build reads version 1`},
		{"version's type", "version: one\nplan: calm\n", `s.yaml:1:10: version is "one", not an integer`},
		{"no name", "plan: calm\n" + axes, `s.yaml: the sweep has no name; add name:`},
		{"name's type", "name: 7\nplan: calm\n" + axes, `s.yaml:1:7: name is 7, which is not text`},
		{"no plan", "name: x\n" + axes, `s.yaml: the sweep has no plan; add plan: with a scenario's name`},
		{"unknown plan", "name: x\nplan: clam\n" + axes, `s.yaml:2:7: unknown scenario "clam"`},
		{"missing plan", "name: x\nplan: ./clam.yaml\n" + axes, `clam.yaml: there is no such file`},
		{"standard input", "name: x\nplan: '-'\n" + axes, `s.yaml:2:7: plan is standard input`},
		{"anchor", "name: x\nplan: &a calm\n" + axes, `s.yaml:2:7: plan uses an anchor, an alias or a tag; a sweep is plain YAML`},
		{"inside the plan", "name: x\nplan:\n  name: inner\n  workload: {jobs: 0}\n" + axes, `s.yaml:4:20: workload.jobs is 0, out of range; give 1 to 100000`},
		{"key of the plan", "name: x\nplan:\n  name: inner\n  topolgy: {}\n" + axes, `s.yaml:4:3: unknown key "topolgy" in a plan`},
		{"inside a flow plan", "name: x\nplan: {name: inner, workload: {jobs: 0}}\n" + axes, `s.yaml:2:38: workload.jobs is 0`},
		{"all on a line", "{name: x, plan: {name: inner, workload: {jobs: 0}}}\n", `s.yaml:1:48: workload.jobs is 0, out of range`},
		{"unknown setting", "name: x\nplan: calm\nsettings:\n  engine.worker_tll: 3s\n" + axes, `s.yaml:4:3: unknown setting "engine.worker_tll"`},
		{"bad setting", "name: x\nplan: calm\nsettings:\n  engine.worker_ttl: 3\n" + axes, `s.yaml:4:3: engine.worker_ttl is "3", without a unit`},
		{"settings' type", "name: x\nplan: calm\nsettings: [a]\n" + axes, `s.yaml:3:11: settings is not a mapping`},
		{"settings together", "name: x\nplan: calm\nsettings:\n  engine.backoff_base: 1m\n" + axes, `engine.backoff_base is 1m, longer than engine.backoff_max`},
		{"no axes", "name: x\nplan: calm\n", `s.yaml: the sweep has no axis`},
		{"empty axes", "name: x\nplan: calm\naxes:\n", `s.yaml: the sweep has no axis`},
		{"axes' type", "name: x\nplan: calm\naxes: 3\n", `s.yaml:3:7: axes is not a list`},
		{"axis without values", "name: x\nplan: calm\naxes:\n  - setting: world.dying\n", `s.yaml:4:5: the axis has no values`},
		{"axis without setting", "name: x\nplan: calm\naxes:\n  - values: 1..3\n", `s.yaml:4:5: the axis has no setting`},
		{"no values", "name: x\nplan: calm\naxes:\n  - {setting: world.dying, values: []}\n", `s.yaml:4:36: world.dying has no values`},
		{"null value", "name: x\nplan: calm\naxes:\n  - {setting: world.dying, values: [0, ~]}\n", `s.yaml:4:40: axes[0].values[1] has no value`},
		{"nested values", "name: x\nplan: calm\naxes:\n  - {setting: world.dying, values: [[0]]}\n", `s.yaml:4:37: axes[0].values[0] is a sequence`},
		{"bad range", "name: x\nplan: calm\naxes:\n  - {setting: world.heartbeat_lag, values: [1s, 5s..9s]}\n", `s.yaml:4:49: world.heartbeat_lag has the range "5s..9s" without a step`},
		{"bad value", "name: x\nplan: calm\naxes:\n  - {setting: world.dying, values: [0, 2]}\n", `s.yaml:4:36: world.dying is 2, out of range; give 0 to 1`},
		{"unknown axis", "name: x\nplan: calm\naxes:\n  - {setting: world.dyin, values: [0]}\n", `s.yaml:4:15: unknown setting "world.dyin"; ` + "`wavetank list settings` names them" + ` (did you mean "world.dying"?)`},
		{"axis twice", "name: x\nplan: calm\naxes:\n  - {setting: world.dying, values: [0]}\n  - {setting: world.dying, values: [1]}\n", `s.yaml:5:15: world.dying is an axis already`},
		{"too many points", "name: x\nplan: calm\naxes:\n  - {setting: workload.jobs, values: 1..1000}\n  - {setting: workload.submissions, values: 1..10}\n  - {setting: topology.schedulers, values: 1..2}\n", `s.yaml:4:3: the axes have 20,000 points; a sweep has at most 10,000`},
		{"seeds", "name: x\nplan: calm\nseeds: 0\n" + axes, `s.yaml:3:8: seeds is 0, out of range`},
		{"seeds' type", "name: x\nplan: calm\nseeds: '3'\n" + axes, `s.yaml:3:8: seeds is "3", which is text; give an integer, without quotes`},
		{"first seed", "name: x\nplan: calm\nfirst_seed: -1\n" + axes, `s.yaml:3:13: first_seed is "-1", out of range; give 0 to 18446744073709551615`},
		{"metric", "name: x\nplan: calm\nmetrics: [lag]\n" + axes, `s.yaml:3:10: unknown metric "lag"`},
		{"metrics' type", "name: x\nplan: calm\nmetrics: failed\n" + axes, `s.yaml:3:10: metrics is not a list`},
		{"second document", "name: x\nplan: calm\n" + axes + "---\nname: y\n", `s.yaml:5:1: a second document begins here; a file holds one sweep`},
		{"binary", "name: x\x00", `s.yaml: this is not text; a sweep is YAML in UTF-8`},
		{"point without a plan", "name: x\nplan: state-write-failure\naxes:\n  - {setting: workload.jobs, values: [2, 5]}\n", `s.yaml:4:3: the point workload.jobs=2 of the axes makes no plan`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(c.text))
			refused(t, err, c.want)
		})
	}
}
