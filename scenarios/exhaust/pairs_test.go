package exhaust

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
)

const pairsTable = "WAVETANK_PAIRS_TABLE" // over how many seeds TestPairsTable measures; without it the test is skipped

// stale gives what was read first in the place of a state read that fails, from some moment on.
type stale struct {
	redis.UniversalClient
	last  *map[string]string
	wrote func(p phase.Phase, err error) // is told of what writes of states came to
	now   *bool
}

func (c stale) HGetAll(ctx context.Context, key string) *redis.MapStringStringCmd {
	cmd := c.UniversalClient.HGetAll(ctx, key)
	switch {
	case phase.From(ctx).Phase != phase.StateRead:
	case cmd.Err() == nil && *c.last == nil:
		*c.last = cmd.Val()
	case cmd.Err() != nil && *c.now && *c.last != nil:
		cmd.SetErr(nil)
		cmd.SetVal(*c.last)
	}
	return cmd
}

func (c stale) TxPipelined(ctx context.Context, queue func(redis.Pipeliner) error) ([]redis.Cmder, error) {
	cmds, err := c.UniversalClient.TxPipelined(ctx, queue)
	c.wrote(phase.From(ctx).Phase, err)
	return cmds, err
}

// twoFaults are mistakes that no single fault shows: it takes one that leads to them, and a read that fails after it.
var twoFaults = map[string]func() scheduler.Variant{
	"believes a stale record where a write of RUNNING failed":  believes(func(p phase.Phase, err error) bool { return p == phase.RunningWrite && err != nil }, 0),
	"believes a stale record where a dispatch was rolled back": believes(func(p phase.Phase, _ error) bool { return p == phase.RollbackWrite }, 0),
	"believes a stale record where the process began anew":     believes(func(phase.Phase, error) bool { return false }, 1),
}

// believes gives variants that believe what was read first since a write that is like the given one, or after so many starts.
func believes(since func(phase.Phase, error) bool, starts int) func() scheduler.Variant {
	return func() scheduler.Variant {
		began, last := 0, map[string]string(nil)
		return func(_ string, cfg *engine.Config) {
			began++
			now := starts > 0 && began > starts
			cfg.Redis = stale{cfg.Redis, &last, func(p phase.Phase, err error) { now = now || since(p, err) }, &now}
		}
	}
}

// broke runs the tries, or those up to the first that breaks a promise, and lists the invariants whose promise they break,
// each with how many tries it took.
func broke(t *testing.T, d *Definition, first bool) map[string]int {
	found := map[string]int{}
	for n := range d.Tries {
		p, err := d.PlanOf(n)
		require.NoError(t, err)
		res, err := scenarios.Run(t.Context(), p, d.options(p))
		require.NoError(t, err)
		for _, v := range res.Violations {
			if _, there := found[v.Invariant]; v.Promised && !there {
				found[v.Invariant] = n + 1
			}
		}
		if first && len(found) > 0 {
			break
		}
	}
	return found
}

// searched is what the two mistaken faults are looked for in: one scheduler, one job, and the operations of its path.
func searched(t *testing.T, variant func() scheduler.Variant) (*plans.Plan, Options) {
	p, err := plans.Parse("one.yaml", []byte(`
name: one
preset: documented
topology: {schedulers: 1, workers: 1}
workload: {jobs: 1}
engine: {dispatch_timeout: 10s, running_timeout: 15s, poll_interval: 5s}
`))
	require.NoError(t, err)
	o := Options{Phases: []string{"running_write", "publish", "state_read"}, Variant: variant}
	for _, k := range faults.Kinds() {
		if !k.OnNode() || k.Effect == faults.Crash {
			o.Kinds = append(o.Kinds, string(k.Effect))
		}
	}
	return p, o
}

// Each of three mistakes that no single fault shows is found by a pair. Pairs that are left out would have shown no promise
// broken that those that are tried do not show.
func TestPairsFindWhatNeedsTwoFaults(t *testing.T) {
	for name, variant := range twoFaults {
		t.Run(name, func(t *testing.T) {
			p, o := searched(t, variant)
			singles, err := Define(t.Context(), p, o)
			require.NoError(t, err)
			assert.Empty(t, broke(t, singles, false))
			o.Pairs = true
			pruned, err := Define(t.Context(), p, o)
			require.NoError(t, err)
			found := broke(t, pruned, !*everyWorld)
			assert.NotEmpty(t, found)
			if !*everyWorld {
				t.Skip("-single.all tries the pairs that are left out as well")
			}
			o.Unpruned = true
			all, err := Define(t.Context(), p, o)
			require.NoError(t, err)
			assert.Len(t, all.Tries, len(pruned.Tries)+pruned.Alike)
			t.Logf("%d single faults, %d of %d pairs: %v", len(singles.Tries), len(pruned.Tries), len(all.Tries), found)
			assert.Equal(t, slices.Sorted(maps.Keys(broke(t, all, false))), slices.Sorted(maps.Keys(found)))
		})
	}
}

// TestPairsTable measures the table in scenarios/README.md: how many runs it takes until a promise is broken, over as many
// seeds of the world as pairsTable says. The pairs come in their own order, or in one drawn by the seed.
func TestPairsTable(t *testing.T) {
	seeds, err := strconv.Atoi(os.Getenv(pairsTable))
	if err != nil {
		t.Skip(pairsTable + "=30 measures the table of scenarios/README.md, for some minutes")
	}
	for name, variant := range twoFaults {
		t.Run(name, func(t *testing.T) {
			var closest, drawn []int
			for seed := range seeds {
				p, o := searched(t, variant)
				p.Seed, o.Pairs = uint64(seed+1), true
				d, err := Define(t.Context(), p, o)
				require.NoError(t, err)
				closest = append(closest, len(d.Firsts)+least(t, broke(t, d, true)))
				rand.New(rand.NewPCG(p.Seed, 1)).Shuffle(len(d.Tries), func(i, j int) { d.Tries[i], d.Tries[j] = d.Tries[j], d.Tries[i] })
				drawn = append(drawn, len(d.Firsts)+least(t, broke(t, d, true)))
			}
			fmt.Printf("%s\tclosest first %s\tshuffled %s\n", name, spread(closest), spread(drawn))
		})
	}
}

// spread is the median, the least and the most.
func spread(runs []int) string {
	slices.Sort(runs)
	return fmt.Sprintf("%d (%d to %d)", runs[len(runs)/2], runs[0], runs[len(runs)-1])
}

// least is the first try that broke anything.
func least(t *testing.T, found map[string]int) int {
	require.NotEmpty(t, found)
	return slices.Min(slices.Collect(maps.Values(found)))
}

// Pairs of a reduced search count what is left out first, and what is left out second.
func TestPairsCountEveryFaultThatIsLeftOut(t *testing.T) {
	p, err := plans.Parse("two.yaml", []byte("name: two\npreset: documented\ntopology: {schedulers: 1, workers: 1}\nworkload: {jobs: 2, slow: {1: 1m}}\nabout: [1]"))
	require.NoError(t, err)
	o := Options{Reduced: true, Phases: []string{"snapshot_write"}, Kinds: []string{"crash"}}
	singles, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	require.Positive(t, singles.Alike)
	all := *singles
	all.Unpruned = true
	require.NoError(t, all.pair(t.Context(), p, nil))
	o.Pairs = true
	pairs, err := Define(t.Context(), p, o)
	require.NoError(t, err)
	assert.Equal(t, len(all.Tries)+singles.Alike, len(pairs.Tries)+pairs.Alike)
	o.Unpruned = true
	_, err = Define(t.Context(), p, o)
	assert.EqualError(t, err, "a reduced search leaves faults out, and an unpruned search leaves none out; ask for one of the two")
}

// A pair's second fault strikes after its first, at an operation that the run of the first alone makes. The closest pairs
// come first. The certificate of pairs says both of each.
func TestPairsAreOfTheRunOfTheirFirst(t *testing.T) {
	d := define(t, "preset: documented", Options{Pairs: true, Phases: []string{"publish", "rollback_write"}})
	require.NotEmpty(t, d.Tries)
	brought := 0
	for n := range d.Tries {
		p, err := d.PlanOf(n)
		require.NoError(t, err)
		require.Len(t, p.Faults, 2)
		assert.Equal(t, d.Firsts[d.Tries[n].First].Fault.String(), p.Faults[0].String())
		if d.Sites[d.Tries[n].Site].Phase == "rollback_write" {
			brought++
			assert.Equal(t, "publish", d.Sites[d.Firsts[d.Tries[n].First].Site].Phase)
		}
	}
	assert.Positive(t, brought, "a failed publish brings a rollback about")
	spec := d.Spec()
	require.NoError(t, spec.Validate())
	assert.Equal(t, len(d.Tries), spec.Struck.Size())
	last, err := spec.Plan(len(d.Tries))
	require.NoError(t, err)
	own, err := d.PlanOf(len(d.Tries) - 1)
	require.NoError(t, err)
	assert.Equal(t, own.Faults, last.Faults)

	c, err := d.Certify([]*campaign.Record{{Digest: d.Calm}, {N: 1, Verdict: scenarios.Held, Missed: []int{1}}, {N: 2, Verdict: scenarios.Held, Missed: []int{0}}}, &campaign.Result{})
	require.NoError(t, err)
	require.NoError(t, c.Check())
	assert.Equal(t, map[Outcome]int{Missed: 1, Held: 1}, c.Counts)
	assert.Empty(t, d.Differs(c))
	assert.Equal(t, d.Firsts[d.Tries[0].First].Fault.String()+"; then "+d.Tries[0].Fault.String(), c.Words(0))
	c.Tries[1].First = len(c.Firsts) + 1
	assert.ErrorContains(t, c.Check(), "run 2 names an operation or a fault that the certificate does not list")
}

// A process in which pairs are looked for lists what this one does. A first fault that takes it down has no second, and is
// counted.
func TestPairsAreLookedForInAnotherProcess(t *testing.T) {
	o := Options{Pairs: true, Phases: []string{"publish", "rollback_write"}, Kinds: []string{"fail-before", "fail-after"}}
	here := define(t, "preset: documented", o)
	there, down := o, o
	there.Lists = func(ctx context.Context, plan string) (Listed, error) {
		l, err := o.List(ctx, plan)
		text, _ := json.Marshal(l)
		l = Listed{}
		require.NoError(t, json.Unmarshal(text, &l))
		return l, err
	}
	d := define(t, "preset: documented", there)
	assert.Equal(t, here.Tries, d.Tries)
	runs := 0
	down.Lists = func(ctx context.Context, plan string) (Listed, error) {
		if runs++; runs == 2 {
			return Listed{Beyond: true}, nil
		}
		return o.List(ctx, plan)
	}
	d = define(t, "preset: documented", down)
	assert.Equal(t, 1, d.Beyond)
	assert.NotEmpty(t, d.Tries)
	assert.False(t, slices.ContainsFunc(d.Tries, func(try Try) bool { return try.First == 1 }))
}
