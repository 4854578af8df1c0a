package orders

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// A world is so tiny that every order of few pre-emptions can be tried.
type world struct {
	name        string
	preemptions int
	sets        []string
}

// In each world two replicas have to do with the same at the same time. The times of the second are such that a result
// and a cancellation come together.
var worlds = []world{
	{"two-requests", 1, []string{"preset=documented", "workload.submissions=2", "workload.every=1ns", "workload.work=1ns"}},
	{"a-result-and-a-cancellation", 1, []string{"preset=documented", "workload.work=50ms", "workload.cancel.1=50000020ns"}},
	{"two-jobs-of-a-tenant", 1, []string{"preset=hardened", "workload.jobs=2", "workload.every=1ns", "engine.tenant_limit=1"}},
}

// plan is calm with two replicas, one worker and, unless the world says otherwise, one job.
func (w world) plan(t require.TestingT) *plans.Plan {
	p, err := plans.Load("calm")
	require.NoError(t, err)
	for _, set := range append([]string{"workload.jobs=1", "topology.workers=1"}, w.sets...) {
		require.NoError(t, p.Set(set))
	}
	return p
}

func (w world) define(t require.TestingT) *Definition {
	d, err := Define(w.plan(t), w.preemptions)
	require.NoError(t, err)
	return d
}

func explore(t require.TestingT, d *Definition, o Options) *Result {
	res, err := d.Explore(context.Background(), o)
	require.NoError(t, err)
	return res
}

// Nothing is broken in any order of few pre-emptions. The mutants of scenarios/testdata/mutants.yaml that name this test
// break something here.
func TestEveryOrder(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			res := explore(t, w.define(t), Options{})
			assert.True(t, res.Complete)
			assert.Zero(t, res.Broken, "%+v", res.Findings)
			assert.Zero(t, res.Inconclusive)
			assert.Greater(t, res.Levels[1].Runs, 20)
		})
	}
}

// tiny is the smallest world with two replicas.
var tiny = world{"tiny", 1, []string{"preset=hardened"}}

func TestASearchIsDeterministic(t *testing.T) {
	d := tiny.define(t)
	once := explore(t, d, Options{})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, threads := range []int{1, 2} {
		runtime.GOMAXPROCS(threads)
		assert.Equal(t, once, explore(t, d, Options{Runners: []Runner{d.Try, d.Try, d.Try}}), "%d threads", threads)
	}
}

// An order is a plan, which runs alone as it did in the search.
func TestAnOrderIsAPlan(t *testing.T) {
	d := tiny.define(t)
	base, err := d.Try(context.Background(), nil)
	require.NoError(t, err)
	point := base.Points[len(base.Points)/3]
	for len(point.Others) == 0 {
		base.Points = base.Points[1:]
		point = base.Points[0]
	}
	list := []sim.Preemption{point.Others[0].preemption()}
	r, err := d.Try(context.Background(), list)
	require.NoError(t, err)
	assert.NotEqual(t, base.Digest, r.Digest)
	p, err := d.PlanOf(list)
	require.NoError(t, err)
	text, err := plans.Marshal(p)
	require.NoError(t, err)
	again, err := plans.Parse("again.yaml", text)
	require.NoError(t, err)
	assert.Equal(t, plans.Bounded, again.Schedule.Strategy)
	assert.Equal(t, sim.Preemptions(list), again.Schedule.Preemptions)
}

// What is taken for one has come to the same: a search that takes nothing for one comes to no other class of runs.
func TestRunsAreRightlyTakenForOne(t *testing.T) {
	if testing.Short() {
		t.Skip("LEFT OUT: two pre-emptions, which it takes, are many runs")
	}
	classes := func(apart bool) (map[uint64]bool, int) {
		d := world{preemptions: 2, sets: tiny.sets}.define(t)
		require.True(t, d.Apart)
		d.Apart = apart
		met := map[uint64]bool{}
		res := explore(t, d, Options{Runners: []Runner{func(ctx context.Context, list []sim.Preemption) (*Run, error) {
			r, err := d.Try(ctx, list)
			if err == nil {
				met[r.Class] = true
			}
			return r, err
		}}})
		require.True(t, res.Complete)
		return met, res.Runs
	}
	all, runs := classes(false)
	reduced, fewer := classes(true)
	assert.Less(t, fewer, runs)
	t.Logf("%d runs, and %d that are taken for one; %d classes", runs, fewer, len(all))
	for class := range all {
		assert.True(t, reduced[class], "%d", class)
	}
}

func TestASearchSaysWhatItLeft(t *testing.T) {
	d := tiny.define(t)
	res := explore(t, d, Options{Runs: 5})
	assert.Equal(t, 5, res.Runs)
	assert.False(t, res.Complete)
	whole := explore(t, d, Options{})
	assert.True(t, whole.Complete)
	assert.Equal(t, whole.Levels[1].Runs, res.Levels[1].Runs+res.Levels[1].Left)
	assert.Less(t, whole.LongestSteps, 100)

	ctx, cancel := context.WithCancel(context.Background())
	res, err := d.Explore(ctx, Options{Progress: func(now Progress) {
		if now.Runs == 3 {
			cancel()
		}
	}})
	require.NoError(t, err)
	assert.Equal(t, 3, res.Runs)
	assert.False(t, res.Complete)
	assert.Positive(t, res.Levels[1].Left)
}

func TestDefine(t *testing.T) {
	p := tiny.plan(t)
	_, err := Define(p, 11)
	require.EqualError(t, err, "there are 11 pre-emptions; give 0 to 10")
	require.NoError(t, p.Set("schedule.strategy=random"))
	d, err := Define(p, 0)
	require.NoError(t, err)
	assert.Contains(t, d.Plan, "strategy: bounded")
	assert.Equal(t, plans.Random, p.Schedule.Strategy, "the plan given is not changed")
	res := explore(t, d, Options{})
	assert.Equal(t, []Level{{Runs: 1}}, res.Levels)

	p, err = plans.Load("publish-failure")
	require.NoError(t, err)
	d, err = Define(p, 1)
	require.NoError(t, err)
	assert.False(t, d.Apart, "a fault may touch anything")
}
