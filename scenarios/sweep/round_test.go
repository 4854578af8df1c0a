package sweep

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// toTheEnd runs a made-up sweep with all that is added to it.
func toTheEnd(t *testing.T, d *Definition, run func(values []string, seed uint64) madeUp) (res *Result, records []*campaign.Record) {
	play := func(spec campaign.Spec, points [][]string, place func(*campaign.Record)) {
		for n := range len(spec.Grid.Points) * spec.Grid.Seeds {
			_, point, seed := spec.Grid.At(n)
			m := run(points[point], spec.Seed+uint64(seed))
			r := &campaign.Record{N: n, Verdict: scenarios.Held, Measures: campaign.Measures{d.Metrics[0]: m.failed, "stale_picks": m.picks}}
			place(r)
			records = append(records, r)
		}
	}
	play(d.Spec(), d.points(), func(*campaign.Record) {})
	res = analysed(t, d, records)
	for n := 1; ; n++ {
		round := d.Next(res, n, d.Budget-len(records))
		if round == nil {
			return res, records
		}
		var points [][]string
		for _, i := range round.Points {
			points = append(points, d.points()[i])
		}
		before := len(records)
		play(d.SpecOf(round), points, round.Place)
		assert.Len(t, records, before+round.Runs())
		res = analysed(t, d, records)
	}
}

// chanceOf is noise of a seed that is the same at whatever time it is asked for.
func chanceOf(seed uint64, value string) *rand.Rand {
	n, _ := strconv.ParseUint(value, 10, 64)
	return rand.New(rand.NewPCG(seed, n))
}

func TestSeedsAreAddedWhereTheAnswerIsOpen(t *testing.T) {
	d := gridOf(t, 12, "engine.max_dispatch_retries=1,2,4", "world.dying=0,0.5")
	d.Precision, d.Budget = 0.5, 5000
	res, records := toTheEnd(t, d, func(v []string, seed uint64) madeUp {
		if v[1] == "0" { // plain from the first seeds
			return madeUp{failed: 9 - 2*nth(v), picks: nth(v)}
		}
		return madeUp{failed: 10 - nth(v) + 2*chanceOf(seed, v[0]).NormFloat64(), picks: nth(v)}
	})
	assert.Equal(t, []string{"4", "4"}, []string{res.Answer.Rows[0].Take, res.Answer.Rows[1].Take})
	assert.Equal(t, []Sureness{Sure, Sure}, []Sureness{res.Answer.Rows[0].Sure, res.Answer.Rows[1].Sure})
	assert.Equal(t, 12, res.Points[0].Runs, "of a row that is closed")
	assert.Contains(t, []int{24, 48, 96, 192}, res.Points[1].Runs, "of one that was open")
	assert.Equal(t, len(records)-72, res.Added)
	assert.True(t, res.Complete)
	assert.Contains(t, res.Notes[2], " runs were added where the answer was open")
}

func TestNoSignalStaysNone(t *testing.T) {
	noise := func(v []string, seed uint64) madeUp {
		return madeUp{failed: 20 + 3*chanceOf(seed, v[0]).NormFloat64(), picks: 5}
	}
	d := gridOf(t, 10, "engine.max_dispatch_retries=1,2")
	d.Precision, d.Budget = 0.01, 300
	res, records := toTheEnd(t, d, noise)
	assert.Len(t, records, 300, "to the end of the budget")
	assert.False(t, res.Answer.Conclusive())
	assert.Equal(t, NoSignal, res.Answer.Rows[0].Sure)
	assert.True(t, res.Answer.Rows[0].Open)
	assert.Contains(t, res.Answer.Sentence, "no difference beyond noise: ")
	assert.Empty(t, res.Answer.Take)

	d.Precision, d.Budget = 2.5, 10_000
	res, records = toTheEnd(t, d, noise)
	assert.Less(t, len(records), 1000, "until a difference that would matter is ruled out")
	assert.False(t, res.Answer.Rows[0].Open)
	assert.Contains(t, res.Answer.Rows[0].Says, "equal to within 2.5 %, and none in stale picks per job")
}

// However often one looks, few rows say that something is there that is not.
func TestLookingAgainFindsNoMore(t *testing.T) {
	const trials = 200
	seen := 0
	for trial := range uint64(trials) {
		d := gridOf(t, 10, "engine.max_dispatch_retries=1,2,3")
		d.Precision, d.Budget, d.FirstSeed = 0.01, 10*3*8, 1+1000*trial
		res, _ := toTheEnd(t, d, func(v []string, seed uint64) madeUp {
			return madeUp{failed: 20 + 3*chanceOf(seed, v[0]).NormFloat64(), picks: 5}
		})
		if res.Answer.Conclusive() {
			seen++
		}
	}
	assert.LessOrEqual(t, float64(seen)/trials, 0.05)
}

// lateHeartbeats is a question of somebody's own numbers: how many picks, if heartbeats are lognormally late?
func lateHeartbeats(t *testing.T) *Definition {
	d, err := Load("stale-worker-retries")
	require.NoError(t, err)
	for _, set := range []string{"engine.worker_ttl=30s", "topology.heartbeat_every=10s"} {
		require.NoError(t, d.Set(set))
	}
	require.NoError(t, d.Grid([]string{"world.heartbeat_lag=lognormal:median=5s:p99=30s"}))
	require.NoError(t, d.Validate())
	return d
}

// The runs are recorded, so that this is of how seeds are added. That the engine still gives them is another test's.
func TestAQuestionTakesNoMoreRunsThanItNeeds(t *testing.T) {
	data, err := os.ReadFile("testdata/late-heartbeats.tsv")
	require.NoError(t, err)
	recorded := map[string]madeUp{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] != "#" {
			sent, err := strconv.Atoi(f[4])
			require.NoError(t, err)
			picks, err := strconv.Atoi(f[5])
			require.NoError(t, err)
			recorded[strings.Join(f[:4], " ")] = madeUp{failed: 100 * float64(sent) / 60, picks: float64(picks) / 60}
		}
	}
	d := lateHeartbeats(t)
	res, records := toTheEnd(t, d, func(v []string, seed uint64) madeUp {
		return recorded[strings.Join([]string{v[0], v[2], v[3], strconv.FormatUint(seed, 10)}, " ")]
	})
	assert.Len(t, records, 1600, "320, twice 320, and 640")
	assert.Equal(t, "By the mean over all 2 conditions, take engine.max_dispatch_retries=10 with engine.stale_worker=jittered-retries, engine.stale_retry_jitter=1s and engine.running_timeout=30s (sure): "+
		"jobs sent back for stale workers 0.333 % rather than 0.979 % at 5, the next best: -0.646 % [-1.21, -0.08]; larger ones were not tried.", res.Answer.Sentence)
	assert.Contains(t, res.Answer.Also, "With engine.stale_worker=fixed-retries, take engine.max_dispatch_retries=1 under 2 of 2 conditions, all sure. "+
		"With engine.stale_worker=jittered-retries, take engine.max_dispatch_retries=10 under 2 of 2 conditions, all sure.")
	assert.Equal(t, "0.458 % rather than 1.46 % at 5, the next best: -1 % [-1.82, -0.183]; larger ones were not tried", res.Answer.Rows[3].Says)
}

// A run takes some 0.15 s of a core, so that 2,000 are two and a half minutes on two cores.
func TestAQuestionEndsWithItsBudget(t *testing.T) {
	for name, d := range map[string]*Definition{"somebody's own numbers": lateHeartbeats(t), "the sweep as it is": lateHeartbeats(t)} {
		if name == "the sweep as it is" {
			require.NoError(t, d.Grid([]string{"world.heartbeat_lag=0s,5s,15s,25s,35s"}))
		}
		res, records := toTheEnd(t, d, func(v []string, seed uint64) madeUp {
			return madeUp{failed: 20 + 10*chanceOf(seed, v[0]).NormFloat64(), picks: 5 + chanceOf(seed, v[0]).NormFloat64()}
		})
		assert.False(t, res.Answer.Conclusive(), name)
		assert.Len(t, records, 2000, name)
	}
}

func TestPrecisionIsRead(t *testing.T) {
	d, err := Load("stale-worker-retries")
	require.NoError(t, err)
	assert.InDelta(t, 0.5, d.Precision, 0)
	assert.Equal(t, 2000, d.Budget)
	d.Precision = -1
	require.ErrorContains(t, d.Validate(), "precision is -1, out of range")
	d.Precision, d.Budget = 1, -1
	require.ErrorContains(t, d.Validate(), "budget is -1, out of range")
}

// What differs by less than 1 % of the mean is nobody's choice, and asks for no more seeds once that is sure.
func TestATrifleIsNoOpenQuestion(t *testing.T) {
	low, high, wide := []float64{100, 101, 99, 100, 100, 101}, []float64{100.4, 101.2, 99.5, 100.3, 100.4, 101.3}, []float64{90, 120, 85, 118, 100, 93}
	c := newContest("dispatch_p99_s", [][]float64{low, high}, 1)
	assert.True(t, c.close(0), "for sure by less than 1 %%")
	assert.Equal(t, "1.01 s, 1 % of the mean", c.within(0.5))
	assert.Equal(t, "2 s", c.within(2))
	assert.False(t, newContest("dispatch_p99_s", [][]float64{low, wide}, 1).close(0), "the mean is as near, and not for sure")
}
