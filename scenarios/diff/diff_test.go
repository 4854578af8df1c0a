package diff

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func load(t *testing.T, name string, sets ...string) *plans.Plan {
	p, err := plans.Load(name)
	require.NoError(t, err)
	for _, set := range sets {
		require.NoError(t, p.Set(set))
	}
	return p
}

func made(t *testing.T, dir, name string, sets ...string) Run {
	p, trace := load(t, name, sets...), &bytes.Buffer{}
	res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Trace: trace})
	require.NoError(t, err)
	return Run{dir, p, res, trace}
}

func TestEqualPlansGiveEqualRuns(t *testing.T) {
	d, err := Of(made(t, "a", "publish-ack-lost"), made(t, "b", "publish-ack-lost"))
	require.NoError(t, err)
	assert.True(t, d.Equal)
	assert.Nil(t, d.Parting)
	assert.Empty(t, d.Plans)
	assert.Empty(t, d.Story)
	assert.Empty(t, d.A.Alone)
	assert.Equal(t, "The traces are equal. The verdict of both: violated.", d.Says())
	assert.Equal(t, "Neither build has a name, as both were made outside of git, or by go run or go test. They may be two.", d.Builds())
	d.A.Build, d.B.Build = "1a2b3c4d5e6f+dirty", "1a2b3c4d5e6f+dirty"
	assert.Equal(t, "Both are of build 1a2b3c4d5e6f+dirty, a commit with changes that it does not have. They may be two.", d.Builds())
	d.A.Build, d.B.Build = "v1.2.3", "v1.2.3"
	assert.Equal(t, "Both are of build v1.2.3.", d.Builds())
}

func TestAPresetPartsTwoRuns(t *testing.T) {
	a, b := made(t, "a", "publish-ack-lost"), made(t, "b", "publish-ack-lost", "preset=hardened")
	d, err := Of(a, b)
	require.NoError(t, err)
	assert.False(t, d.Equal)
	given, follow := d.Given()
	assert.Equal(t, []Value{{Key: "preset", A: "documented", B: "hardened"}}, given)
	assert.Contains(t, follow, Value{Key: "engine.epochs", A: "false", B: "true", Follows: true})
	require.NotEmpty(t, d.A.Alone)
	assert.Equal(t, "one-dispatch-per-job", d.A.Alone[0].Invariant)
	assert.Empty(t, d.B.Alone)
	p := d.Parting
	require.NotNil(t, p)
	assert.Len(t, p.Common, commonShown)
	assert.Equal(t, p.Step-1, p.Common[commonShown-1].Step)
	assert.Equal(t, "scheduler-2", p.A.Node)
	assert.Equal(t, "job-1", p.A.Job)
	assert.Equal(t, "lock_acquire", p.A.Phase)
	assert.Contains(t, p.A.Says, "redis set (lock_acquire) of job-1")
	assert.Contains(t, p.B.Says, "redis info (replica_read) of job-1")
	assert.Contains(t, p.Differ, Value{Key: "name", A: "set", B: "info"})
	assert.Equal(t, "The traces part at step 48, 2.217s. The verdicts: A violated, B inconclusive.", d.Says())
	var of []string
	for i := range d.Story {
		of = append(of, d.Story[i].Of())
		if i > 0 && d.Story[i].At() > 0 {
			assert.GreaterOrEqual(t, d.Story[i].At(), d.Story[i-1].At().Truncate(time.Millisecond))
		}
	}
	assert.Subset(t, of, []string{"A", "B", "both"})
	assert.Equal(t, after(a.Result, p), storyOf(d.Story, func(t *Told) *Moment { return t.A }))
	assert.Equal(t, after(b.Result, p), storyOf(d.Story, func(t *Told) *Moment { return t.B }))
	assert.Equal(t, "The other 9 jobs succeeded at the first attempt.", d.Story[len(d.Story)-1].Says)
}

// after is what a run's story tells from the parting on, and storyOf what a difference tells of it there.
func after(res *scenarios.Result, at *Parting) (says []string) {
	_, list := cut(res, at)
	for _, s := range list {
		says = append(says, s.says)
	}
	return says
}

func storyOf(list []Told, side func(*Told) *Moment) (says []string) {
	for i := range list {
		if side(&list[i]) != nil {
			says = append(says, list[i].Says)
		}
	}
	return says
}

// Each story keeps its order: a sentence that both have, but not in the same place among the others, is there twice.
func TestAStoryKeepsItsOrder(t *testing.T) {
	story := func(says ...string) (list []sentence) {
		for i, s := range says {
			list = append(list, sentence{s, Moment{Step: i + 1, At: time.Duration(i+1) * time.Millisecond}})
		}
		return append(list, sentence{says: "The others succeeded."})
	}
	for _, c := range []struct {
		a, b []sentence
		want string
	}{
		{story("x", "y"), story("x", "y"), "both x, both y, both The others succeeded."},
		{story("publish", "write"), story("write", "publish"), "A publish, both write, B publish, both The others succeeded."},
		{story("x", "publish", "end"), story("x", "write", "publish", "end"), "both x, B write, both publish, both end, both The others succeeded."},
		{story("a", "b"), story("c"), "A a, B c, A b, both The others succeeded."},
		{story("a")[:1], story("b", "c"), "A a, B b, B c, B The others succeeded."},
		{nil, nil, ""},
	} {
		list := joined(c.a, c.b)
		var of []string
		for i := range list {
			of = append(of, list[i].Of()+" "+list[i].Says)
		}
		assert.Equal(t, c.want, strings.Join(of, ", "))
	}
}

func TestASettingThatIsNeverMetMakesNoDifference(t *testing.T) {
	d, err := Of(made(t, "a", "calm", "workload.jobs=2"), made(t, "b", "calm", "workload.jobs=2", "engine.dispatch_timeout=9m"))
	require.NoError(t, err)
	assert.True(t, d.Equal)
	require.Len(t, d.Plans, 1)
	assert.Equal(t, "engine.dispatch_timeout", d.Plans[0].Key)
	assert.Equal(t, "9m", d.Plans[0].B)
	assert.Contains(t, d.Says(), "The plans differ, and it makes no difference.")
}

func TestAVerdictMayDifferOverEqualTraces(t *testing.T) {
	a, b := made(t, "a", "publish-ack-lost"), made(t, "b", "publish-ack-lost")
	b.Result.Violations = b.Result.Violations[1:]
	b.Result.Verdict, b.Result.Build = scenarios.Held, "v1.2.3"
	d, err := Of(a, b)
	require.NoError(t, err)
	assert.False(t, d.Equal)
	assert.Nil(t, d.Parting)
	assert.Len(t, d.A.Alone, 1)
	assert.Equal(t, "A is of build devel, B of build v1.2.3.", d.Builds())

	a, b = made(t, "a", "publish-ack-lost"), made(t, "b", "publish-ack-lost")
	b.Result.Violations[0].Message += ", as another build says it"
	d, err = Of(a, b)
	require.NoError(t, err)
	assert.False(t, d.Equal)
	assert.Len(t, d.B.Alone, 1)
}

func TestStoriesOfOtherJobsSaySo(t *testing.T) {
	d, err := Of(made(t, "a", "calm"), made(t, "b", "state-write-failure"))
	require.NoError(t, err)
	assert.Equal(t, "A tells of job-1, B of job-3.", d.TellsOf())
	d, err = Of(made(t, "a", "calm"), made(t, "b", "calm", "seed=2"))
	require.NoError(t, err)
	assert.Empty(t, d.TellsOf())
}

func TestViolationsAreCounted(t *testing.T) {
	v := func(name, job string) scenarios.Violation { return scenarios.Violation{Invariant: name, Job: job} }
	twice := []scenarios.Violation{v("x", "job-1"), v("x", "job-1"), v("y", "")}
	of := func(list ...scenarios.Violation) *scenarios.Result {
		return &scenarios.Result{Violations: list, Invariants: []scenarios.InvariantResult{{Name: "x"}, {Name: "y"}}}
	}
	assert.Equal(t, twice[1:2], alone(of(twice...), of(v("y", ""), v("x", "job-1")), false))
	other := of(v("x", "job-2"))
	assert.Len(t, alone(of(twice...), other, false), 3)
	other.Invariants[0].Unlisted = 1
	assert.Equal(t, twice[2:], alone(of(twice...), other, false), "which of x only one has is not known")
}

func TestValuesOfPlans(t *testing.T) {
	a, err := plans.Parse("a.yaml", []byte(`version: 1
name: one
preset: documented
workload: {slow: {1: 10s, 2: 20s}}
faults:
  - {on: {job: 3, phase: publish}, do: fail-after}
  - {on: {job: 1, phase: publish}, do: fail-before}
about: [3]
`))
	require.NoError(t, err)
	b, err := plans.Parse("b.yaml", []byte(`version: 1
name: two
preset: documented
engine: {max_dispatch_retries: 7}
topology: {workers: 5}
kernel: {default: ALLOW, rules: [{topic: job.default, decision: DENY}]}
workload: {slow: {1: 10s, 3: 30s}}
faults:
  - {on: {job: 1, phase: publish}, do: fail-before}
seed: 9
`))
	require.NoError(t, err)
	list := valuesOf(a, b)
	for _, want := range []Value{
		{Key: "name", A: "one", B: "two"},
		{Key: "engine.max_dispatch_retries", A: "3", B: "7"},
		{Key: "seed", A: "1", B: "9"},
		{Key: "workload.slow.2", A: "20s"},
		{Key: "workload.slow.3", B: "30s"},
		{Key: "fault", A: "fail-after on publish of job 3"},
		{Key: "about", A: "[3]"},
	} {
		assert.Contains(t, list, want)
	}
	var keys []string
	for _, v := range list {
		keys = append(keys, v.Key)
	}
	assert.Contains(t, keys, "topology.workers")
	assert.Contains(t, keys, "kernel.default")
	assert.Contains(t, keys, "kernel.rules")
	assert.NotContains(t, strings.Join(keys, " "), "workload.slow.1")
	assert.Empty(t, valuesOf(a, a.Clone()))
}
