package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
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

// What is taken for one has come to the same: what has equal classes is in equal states, and a search that takes nothing for
// one comes to no other class of runs.
func TestRunsAreRightlyTakenForOne(t *testing.T) {
	if testing.Short() {
		t.Skip("LEFT OUT: two pre-emptions, which it takes, are many runs")
	}
	for _, w := range worlds {
		classes(t, w, false, map[uint64]state{})
	}
	w := world{preemptions: 2, sets: tiny.sets}
	states := map[uint64]state{}
	all, runs := classes(t, w, false, states)
	reduced, fewer := classes(t, w, true, states)
	assert.Less(t, fewer, runs)
	t.Logf("%d runs, and %d that are taken for one; %d states, and %d of them at the end", runs, fewer, len(states), len(all))
	for class := range all {
		assert.True(t, reduced[class], "%d", class)
	}
}

// classes are those of the runs of a search, each at its end. After each step the run must be in the state in which others of
// that class have been.
func classes(t *testing.T, w world, apart bool, states map[uint64]state) (ends map[uint64]bool, runs int) {
	d := w.define(t)
	require.True(t, d.Apart)
	d.Apart = apart
	ends = map[uint64]bool{}
	res := explore(t, d, Options{Runners: []Runner{func(ctx context.Context, list []sim.Preemption) (*Run, error) {
		var trace bytes.Buffer
		after, c := map[int]uint64{}, newClass(true)
		r, err := d.try(ctx, list, &trace, func(ch *sim.Choice) {
			op := ch.Ready[ch.Chosen]
			c.begin(ch.Step)
			c.add(op, c.operation(op))
			after[ch.Step] = c.sum
		})
		if err != nil {
			return nil, err
		}
		ends[r.Class] = true
		now := replay{map[string]string{}, map[string]uint64{}}
		for lines := json.NewDecoder(&trace); lines.More(); {
			var e sim.Event
			if err := lines.Decode(&e); err != nil {
				return nil, err
			}
			now.step(&e)
			class, chosen := after[e.Step]
			if !chosen {
				continue
			}
			s := state{now.hash(), e.Words(), sim.Preemptions(list), e.Step}
			if before, been := states[class]; been && before.hash != s.hash {
				return nil, fmt.Errorf("two states are taken for one: %+v and %+v", before, s)
			}
			states[class] = s
		}
		return r, nil
	}}})
	require.True(t, res.Complete)
	return ends, res.Runs
}

// state is what the world has come to by a step of a run.
type state struct {
	hash  uint64
	last  string // event
	order string
	step  int
}

// replay is what Redis and the streams hold, and what has come of the steps of each node, as the trace tells it: whatever the
// operations use.
type replay struct {
	holds map[string]string
	nodes map[string]uint64
}

// instant is one since 1970, in milliseconds or nanoseconds. Equal states may differ in them.
var instant = regexp.MustCompile(`\b[0-9]{13}([0-9]{6})?\b`)

func (r replay) step(e *sim.Event) {
	told := []string{number(r.nodes[e.Node]), e.Words(), e.Data}
	for _, c := range e.Changes {
		place := fmt.Sprintf("%s %d %s ", c.Stream, c.Seq, c.Key)
		if c.Field != "" {
			place += c.Field + "\n"
		}
		what := instant.ReplaceAllString(fmt.Sprint(c.Subject, c.Header, c.Value), "then")
		if c.Gone { // a key with all its fields
			maps.DeleteFunc(r.holds, func(p, _ string) bool { return strings.HasPrefix(p, place) })
			what = "gone"
		} else {
			r.holds[place] = what
		}
		told = append(told, place, what)
	}
	r.nodes[e.Node] = hash(0, told...)
}

func (r replay) hash() (sum uint64) {
	for place, what := range r.holds {
		sum += hash(0, place, what)
	}
	for node, h := range r.nodes {
		sum += hash(h, node)
	}
	return sum
}

// What two nodes do with the same keys comes out as one if it is taken for one: each is answered alike, and Redis holds the same.
// Whether a transaction is carried out hangs on what its connection WATCHes, also where it does not write that.
func TestOperationsApartHaveTheSameEffect(t *testing.T) {
	transact := func(ctx context.Context, r *redis.Client, watched string) error {
		return r.Watch(ctx, func(tx *redis.Tx) error {
			_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error { return q.Incr(ctx, "l").Err() })
			return err
		}, watched)
	}
	does := map[string]func(ctx context.Context, r *redis.Client) any{
		"get":              func(ctx context.Context, r *redis.Client) any { return r.Get(ctx, "k").Val() },
		"incr":             func(ctx context.Context, r *redis.Client) any { return r.Incr(ctx, "k").Val() },
		"set":              func(ctx context.Context, r *redis.Client) any { return r.Set(ctx, "k", 5, 0).Err() },
		"setnx":            func(ctx context.Context, r *redis.Client) any { return r.SetNX(ctx, "k", 7, 0).Val() },
		"mget":             func(ctx context.Context, r *redis.Client) any { return r.MGet(ctx, "l", "k").Val() },
		"keys":             func(ctx context.Context, r *redis.Client) any { return r.Keys(ctx, "*").Val() },
		"other":            func(ctx context.Context, r *redis.Client) any { return r.Incr(ctx, "m").Val() },
		"transact":         func(ctx context.Context, r *redis.Client) any { return transact(ctx, r, "k") },
		"transact, writes": func(ctx context.Context, r *redis.Client) any { return transact(ctx, r, "l") },
	}
	run := func(of [2]string, preemptions string) (class uint64, came string) {
		list, err := sim.ParsePreemptions(preemptions)
		require.NoError(t, err)
		c := newClass(true)
		watch := func(ch *sim.Choice) {
			op := ch.Ready[ch.Chosen]
			c.begin(ch.Step)
			c.add(op, c.operation(op))
		}
		_, err = sim.Run(sim.Config{Seed: 1, Strategy: &sim.Bounded{Preemptions: list, Watch: watch}}, func(w *sim.World) error {
			var answers [2]any
			for i, name := range []string{"a", "b"} {
				w.Node(name, func(p *sim.Process) { answers[i] = does[of[i]](p.Context(), p.Redis()) }).Start()
			}
			w.Step(time.Second, nil)
			came = fmt.Sprint(answers, w.Redis())
			return nil
		})
		require.NoError(t, err)
		return c.sum, came
	}
	orders := []string{"", "1=a", "2=a", "3=a", "2=a,3=b", "2=a,4=b", "3=a,4=b", "1=a,2=b", "1=a,3=b", "1=a,4=b"}
	for a := range does {
		for b := range does {
			states := map[uint64]string{}
			for _, order := range orders {
				class, came := run([2]string{a, b}, order)
				if before, been := states[class]; been {
					assert.Equal(t, before, came, "%s and %s, %s", a, b, order)
				}
				states[class] = came
			}
			if b == "other" && a != "keys" && a != "other" {
				assert.Len(t, states, 1, "%s has nothing to do with it", a)
			}
		}
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

// Who ends a search while it waits for a run is not told of orders that need none any more.
func TestASearchThatIsEndedLeavesOutWhatIsCovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := tiny.define(t)
		ctx, cancel := context.WithCancel(context.Background())
		res, err := d.Explore(ctx, Options{Runners: []Runner{func(ctx context.Context, list []sim.Preemption) (*Run, error) {
			switch {
			case len(list) == 0:
				return &Run{Points: []Point{{State: 1, Others: []Other{{1, "first", 1, 10}, {1, "second", 1, 20}, {1, "third", 1, 30}}}}}, nil
			case list[0].To == "first":
				return &Run{Points: []Point{{State: 30}}}, nil // where the third leads
			}
			synctest.Wait() // the search waits for this run
			cancel()
			return nil, ctx.Err()
		}}})
		require.NoError(t, err)
		assert.Equal(t, []Level{{Runs: 1}, {Preemptions: 1, Runs: 1, Left: 1}}, res.Levels)
	})
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
