package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/invariants"
)

// number of a point's first value.
func nth(values []string) float64 {
	x, _ := strconv.ParseFloat(values[0], 64)
	return x
}

func TestAnswers(t *testing.T) {
	noise := func(seed int) float64 { return []float64{0.2, -0.1, 0, 0.1, -0.2, 0.3, -0.3, 0}[seed%8] }
	for name, c := range map[string]struct {
		grid []string
		run  func(values []string, seed int) madeUp
		want string
		take string
	}{
		"flat to the last run": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp { return madeUp{failed: float64(seed), picks: nth(v)} },
			"Take engine.max_dispatch_retries=1 (sure): jobs failed 7.5 % at every value; stale picks per job 1 rather than 2 at 2, the next best: -1 [-1.22, -0.781].",
			"engine.max_dispatch_retries=1",
		},
		"flat, and so is what it costs": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func([]string, int) madeUp { return madeUp{} },
			"There is no value of engine.max_dispatch_retries to take: no difference in any run, and none in stale picks per job.",
			"",
		},
		"flat but for noise": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp { return madeUp{failed: 5 + noise((seed+int(nth(v)))%8)} },
			"There is no value of engine.max_dispatch_retries to take: no difference beyond noise: 0 % [-0.2, 0.2] at 1 rather than 3.",
			"",
		},
		"too few seeds to tell the best from the worst": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp { return madeUp{failed: 9 - nth(v) + 30*noise((seed+int(nth(v)))%8)} },
			"There is no value of engine.max_dispatch_retries to take: no difference beyond noise: -2 % [-8, 4] at 3 rather than 1.",
			"",
		},
		"too few seeds to tell the best from one that is loud": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp {
				m := madeUp{failed: 9 - nth(v) + noise(seed)}
				if nth(v) == 1 {
					m.failed += 30 * noise(seed)
				}
				return m
			},
			"Take engine.max_dispatch_retries=3 (not sure): jobs failed 6 % rather than 7 % at 2, the next best: -1 % [-1.02, -0.978]; 1 cannot be told from it; larger ones were not tried.",
			"engine.max_dispatch_retries=3",
		},
		"the same, and too few seeds to tell what it costs": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp { return madeUp{picks: 9 - nth(v) + 30*noise((seed+int(nth(v)))%8)} },
			"There is no value of engine.max_dispatch_retries to take: no difference in any run, and none beyond noise in stale picks per job.",
			"",
		},
		"the more the better, at a price": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp { return madeUp{failed: 9 - 2*nth(v) + noise(seed), picks: nth(v)} },
			"Take engine.max_dispatch_retries=3 (sure): jobs failed 3 % rather than 5 % at 2, the next best: -2 % [-2.02, -1.98]; larger ones were not tried. The price: stale picks per job 3 rather than 1 at 1.",
			"engine.max_dispatch_retries=3",
		},
		"the more the better, and the more harm": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp {
				return madeUp{failed: 9 - 2*nth(v) + noise(seed), picks: nth(v), timedOut: 20*nth(v) + noise(seed)}
			},
			"Take engine.max_dispatch_retries=3 (not sure): jobs failed 3 % rather than 5 % at 2, the next best: -2 % [-2.02, -1.98]; larger ones were not tried. " +
				"The price: stale picks per job 3 rather than 1 at 1; jobs timed out 60 % rather than 20 % at 1. It is not sure, as there is less harm without it: whether it is worth that, no run can tell.",
			"engine.max_dispatch_retries=3",
		},
		"the more the better, and harm that is noise": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp {
				return madeUp{failed: 9 - 2*nth(v) + noise(seed), timedOut: 20 + nth(v)/10 + 30*noise((seed+int(nth(v)))%8)}
			},
			"Take engine.max_dispatch_retries=3 (sure): jobs failed 3 % rather than 5 % at 2, the next best: -2 % [-2.02, -1.98]; larger ones were not tried.",
			"engine.max_dispatch_retries=3",
		},
		"a choice does harm": {
			[]string{"engine.max_dispatch_retries=1,2", "engine.stale_reason_code=no_workers,stale_worker"},
			func(v []string, seed int) madeUp {
				m := madeUp{failed: 8 - 3*nth(v) + noise(seed)}
				if v[1] == "stale_worker" {
					m.failed, m.timedOut = m.failed-1, 40
				}
				return m
			},
			"The price: jobs timed out 40 % rather than 0 % with engine.stale_reason_code=no_workers. It is not sure, as there is less harm without it: ",
			"engine.max_dispatch_retries=2 engine.stale_reason_code=stale_worker",
		},
		"enough is enough": {
			[]string{"engine.max_dispatch_retries=1..5"},
			func(v []string, seed int) madeUp {
				return madeUp{failed: max(2, 6-2*nth(v)) + noise((seed+int(nth(v)))%8)/10}
			},
			"Take engine.max_dispatch_retries=2 (not sure): jobs failed 2 % rather than 2 % at 3, the next best: 0 % [-0.0321, 0.0321]; 5 is as good to within 0.04 %, 1 % of the mean; 3 and 4 cannot be told from it; 1 is worse, 4 %: -2 % [-2.03, -1.97].",
			"engine.max_dispatch_retries=2",
		},
		"the less the better": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp { return madeUp{failed: nth(v) + noise(seed)} },
			"Take engine.max_dispatch_retries=1 (sure): jobs failed 1 % rather than 2 % at 2, the next best: -1 % [-1.02, -0.978].",
			"engine.max_dispatch_retries=1",
		},
		"unsound where it would be best": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func(v []string, seed int) madeUp {
				m := madeUp{failed: 9 - 2*nth(v) + noise(seed)}
				if nth(v) == 3 && seed == 5 {
					m.broken = "one-dispatch-per-job"
				}
				return m
			},
			"Take engine.max_dispatch_retries=2 (sure): jobs failed 5 % rather than 7 % at 1, the next best: -2 % [-2.02, -1.98]; 3 is out: a promise was broken there.",
			"engine.max_dispatch_retries=2",
		},
		"unsound everywhere": {
			[]string{"engine.max_dispatch_retries=1..3"},
			func([]string, int) madeUp { return madeUp{broken: "one-dispatch-per-job"} },
			"There is no value of engine.max_dispatch_retries to take: a promise was broken at every value.",
			"",
		},
		"a choice decides": {
			[]string{"engine.max_dispatch_retries=1,2", "engine.stale_reason_code=no_workers,stale_worker"},
			func(v []string, seed int) madeUp {
				if v[1] == "no_workers" {
					return madeUp{failed: 8 + noise(seed)}
				}
				return madeUp{failed: 8 - 3*nth(v) + noise(seed)}
			},
			"Take engine.max_dispatch_retries=2 with engine.stale_reason_code=stale_worker (sure): jobs failed 2 % rather than 5 % at 1, the next best: -3 % [-3.02, -2.98]; larger ones were not tried. With engine.stale_reason_code=no_workers it is 8 % at best; with engine.stale_reason_code=stale_worker it differs by -6 % [-6.02, -5.98].",
			"engine.max_dispatch_retries=2 engine.stale_reason_code=stale_worker",
		},
		"as good, and cheaper": {
			[]string{"engine.max_dispatch_retries=1,2", "engine.stale_reason_code=no_workers,stale_worker"},
			func(v []string, seed int) madeUp {
				m := madeUp{failed: 8 - 3*nth(v) + noise(seed), picks: 4}
				if v[1] == "stale_worker" {
					m.picks = 3
				}
				return m
			},
			"Take engine.max_dispatch_retries=2 with engine.stale_reason_code=stale_worker (sure): jobs failed 2 % rather than 5 % at 1, the next best: -3 % [-3.02, -2.98]; larger ones were not tried. With engine.stale_reason_code=no_workers it is 2 % at best; with engine.stale_reason_code=stale_worker it differs by 0 % [-0.0154, 0.0154], as good to within 0.02 %, 1 % of the mean; stale picks per job 3 rather than 4.",
			"engine.max_dispatch_retries=2 engine.stale_reason_code=stale_worker",
		},
		"a condition decides": {
			[]string{"engine.max_dispatch_retries=1,2", "world.dying=0,0.5"},
			func(v []string, seed int) madeUp { return madeUp{failed: 4*float64(len(v[1])) + noise(seed)} },
			"There is no value of engine.max_dispatch_retries to take under any of 2 conditions: no difference in any run, and none in stale picks per job.",
			"",
		},
		"nothing decides": {
			[]string{"engine.max_dispatch_retries=1,2", "world.dying=0,0.5"},
			func(_ []string, seed int) madeUp { return madeUp{failed: 4 + noise(seed)} },
			"There is no value of engine.max_dispatch_retries to take under any of 2 conditions: no difference in any run, and none in stale picks per job.",
			"",
		},
		"a knob without order": {
			[]string{"engine.stale_reason_code=stale_worker,no_workers"},
			func(v []string, seed int) madeUp { return madeUp{failed: float64(len(v[0])) + noise(seed)} },
			"Take engine.stale_reason_code=no_workers (sure): jobs failed 10 % rather than 12 % at stale_worker, the next best: -2 % [-2.02, -1.98].",
			"engine.stale_reason_code=no_workers",
		},
		"one value": {
			[]string{"engine.max_dispatch_retries=4"},
			func(_ []string, seed int) madeUp { return madeUp{failed: 4 + noise(seed)} },
			"There is no value of engine.max_dispatch_retries to take: 4 is its only value, so there is nothing to choose.",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := gridOf(t, 16, c.grid...)
			res := analysed(t, d, recordsOf(d, c.run))
			assert.Contains(t, strings.Join(append([]string{res.Answer.Sentence}, res.Answer.Also...), " "), c.want)
			assert.Equal(t, c.take, strings.Join(res.Answer.Take, " "))
		})
	}
}

func TestOneSeedTellsNothing(t *testing.T) {
	d := gridOf(t, 1, "engine.max_dispatch_retries=1..3", "engine.stale_reason_code=no_workers,stale_worker")
	res := analysed(t, d, recordsOf(d, func(v []string, _ int) madeUp {
		if v[1] == "no_workers" {
			return madeUp{failed: 2}
		}
		return madeUp{failed: 4 - nth(v)}
	}))
	assert.Equal(t, "There is no value of engine.max_dispatch_retries to take under any of 2 combinations: 1 seed is too few to tell; it takes at least 8 (--seeds 8).", res.Answer.Sentence)
	assert.Empty(t, res.Answer.Take)
	assert.Empty(t, res.Answer.Evidence, "there are no intervals to show")
	assert.Equal(t, "Every point was run under one seed, 1: there are no intervals.", res.Notes[0])
}

// Shares of few jobs take few values, so that few seeds agree by chance.
func TestFewSeedsTellNothingThoughTheyAgree(t *testing.T) {
	for seeds := 2; seeds <= 12; seeds++ {
		d := gridOf(t, seeds, "engine.max_dispatch_retries=1,3,5,10")
		d.Precision = 0.5
		res := analysed(t, d, recordsOf(d, func(v []string, _ int) madeUp { return madeUp{failed: 50 - 5*nth(v), picks: nth(v)} }))
		row := res.Answer.Rows[0]
		if seeds < 12 { // 12 comparisons, each at six looks
			assert.Equal(t, Advice{Under: []string{}, Sure: NoSignal, Metric: "failed", Says: fmt.Sprintf("%d seeds are too few to tell; it takes at least 12 (--seeds 12)", seeds), Open: true}, row)
			assert.False(t, res.Answer.Conclusive())
			assert.Empty(t, res.Answer.Take)
		} else {
			assert.Equal(t, []string{"10", "sure"}, []string{row.Take, string(row.Sure)})
			assert.Less(t, row.Gap.Low, row.Gap.Mean, "the interval of differences that agree has a width")
		}
	}
}

// oracle says the same of the made-up numbers in another way: one combination of the other choices,
// and what each of the knob's values gives by seed, mean over the conditions.
type oracle struct {
	values []string
	pooled map[string][]float64
	runs   map[string]string // every number of every run
	broken map[string]bool
	among  int // comparisons that the 5 % of chance are shared by
}

// step is the least distance of two numbers of values that are sound.
func (o *oracle) step() (least float64) {
	var all []float64
	for v, list := range o.pooled {
		if !o.broken[v] {
			all = append(all, list...)
		}
	}
	for _, x := range all {
		for _, y := range all {
			if x-y > 1e-6 && (least == 0 || x-y < least) {
				least = x - y
			}
		}
	}
	return least
}

// few says whether seeds would agree by chance too often.
func (o *oracle) few() bool {
	return math.Pow(2, 1-float64(len(o.pooled[o.values[0]]))) > 0.05/float64(max(1, o.among))
}

func (o *oracle) gap(a, b string) (mean, half float64) {
	n := float64(len(o.pooled[a]))
	for i := range o.pooled[a] {
		mean += (o.pooled[a][i] - o.pooled[b][i]) / n
	}
	for i := range o.pooled[a] {
		d := o.pooled[a][i] - o.pooled[b][i] - mean
		half += d * d
	}
	sd := max(math.Sqrt(half/(n-1)), o.step()/math.Sqrt(12))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(1-0.025/float64(max(1, o.among))) * sd / math.Sqrt(n)
}

func (o *oracle) mean(a string) (mean float64) {
	for _, x := range o.pooled[a] {
		mean += x / float64(len(o.pooled[a]))
	}
	return mean
}

func (o *oracle) better(a, b string) bool {
	mean, half := o.gap(a, b)
	return !o.few() && mean+half < 0 && -mean >= 0.01*max(o.mean(a), o.mean(b))
}

// close says whether some pair is so near to a bound that rounding decides.
func (o *oracle) close() bool {
	for _, a := range o.values {
		for _, b := range o.values {
			mean, half := o.gap(a, b)
			bound := 0.01 * max(o.mean(a), o.mean(b))
			if mean < -bound/2 && min(math.Abs(mean+half), math.Abs(-mean-bound)) < 1e-9 {
				return true
			}
		}
	}
	return false
}

func (o *oracle) anyBetter(than string) bool {
	return slices.ContainsFunc(o.values, func(v string) bool { return !o.broken[v] && o.better(v, than) })
}

// Whatever the numbers are, the sentence says nothing that they do not.
func TestTheSentenceIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		knobs, conditions, choices := rapid.IntRange(1, 5).Draw(t, "values"), rapid.IntRange(1, 3).Draw(t, "conditions"), rapid.IntRange(1, 2).Draw(t, "choices")
		seeds := rapid.SampledFrom([]int{2, 6, 7, 10, 13}).Draw(t, "seeds")
		shape := rapid.SampledFrom([]string{"flat", "falling", "rising", "valley", "any"}).Draw(t, "shape")
		loud := rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "noise")
		unsound := rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "unsound, of ten")
		d := gridOf(t, seeds, fmt.Sprintf("engine.max_dispatch_retries=1..%d", knobs),
			"world.dying="+strings.Join([]string{"0", "0.2", "0.4"}[:conditions], ","),
			"engine.stale_reason_code="+strings.Join([]string{"no_workers", "stale_worker"}[:choices], ","))
		small := func(label string, most int) float64 { return float64(rapid.IntRange(0, most).Draw(t, label)) }
		among := 0
		for value := range knobs {
			among += 2 * value // each with those before it, in two metrics
		}
		oracles := map[string]*oracle{}
		bad := map[string]bool{}
		res := analysed(t, d, recordsOf(d, func(v []string, seed int) madeUp {
			o := oracles[v[2]]
			if o == nil {
				o = &oracle{values: d.Axes[0].Values, pooled: map[string][]float64{}, runs: map[string]string{}, broken: map[string]bool{}, among: among}
				oracles[v[2]] = o
			}
			x := map[string]float64{"flat": 6, "falling": 8 - nth(v), "rising": 2 + nth(v), "valley": 3 + math.Abs(nth(v)-3), "any": small("level", 9)}[shape]
			m := madeUp{failed: 4*x + float64(3*seed) + small("noise", loud), picks: nth(v) + small("picks", 2)}
			key := strings.Join(v, " ")
			if seed == 0 {
				bad[key] = small("unsound", 9) < float64(unsound)
			}
			if bad[key] {
				m.broken, o.broken[v[0]] = "one-dispatch-per-job", true
			}
			if len(o.pooled[v[0]]) <= seed {
				o.pooled[v[0]] = append(o.pooled[v[0]], 0)
			}
			o.pooled[v[0]][seed] += m.failed / float64(conditions)
			o.runs[v[0]] += fmt.Sprint(m.failed, " ")
			return m
		}))
		rows := res.Answer.Means
		if rows == nil {
			rows = res.Answer.Rows
		}
		assert.Len(t, rows, choices)
		for _, row := range rows {
			if o := oracles[row.Under[1]]; !o.close() {
				o.check(t, row)
			}
		}
		if take := res.Answer.Take; take != nil {
			v, _ := strings.CutPrefix(take[0], "engine.max_dispatch_retries=")
			i := slices.IndexFunc(rows, func(r Advice) bool { return slices.Contains(take, "engine.stale_reason_code="+r.Under[1]) })
			assert.Equal(t, rows[i].Take, v)
			assert.Contains(t, res.Answer.Sentence, rows[i].Says)
			assert.Contains(t, res.Answer.Sentence, take[0]+" with "+invariants.List(take[1:]))
			assert.True(t, rows[i].Sure == Sure || !strings.Contains(res.Answer.Sentence, "(sure)"), res.Answer.Sentence)
		}
	})
}

// Where nothing has an effect, few answers to a question say that something has.
func TestNoEffectIsSeldomSeen(t *testing.T) {
	const trials, most = 300, 0.08
	for name, grid := range map[string][]string{
		"ten values":     {"engine.max_dispatch_retries=1..10"},
		"two conditions": {"engine.max_dispatch_retries=3", "world.heartbeat_lag=0s,5s,15s,25s,35s", "world.dying=0,0.5"},
		"some of all":    {"engine.max_dispatch_retries=1..4", "world.dying=0,0.5", "engine.stale_reason_code=no_workers,stale_worker"},
	} {
		t.Run(name, func(t *testing.T) {
			d := gridOf(t, 20, grid...)
			random := rand.New(rand.NewPCG(1, 2))
			rows, taken, conditions := 0, 0, 0
			for range trials {
				res := analysed(t, d, recordsOf(d, func([]string, int) madeUp {
					return madeUp{failed: 20 + 3*random.NormFloat64(), picks: 5 + random.NormFloat64()}
				}))
				for _, r := range append(res.Answer.Rows, res.Answer.Means...) {
					if rows++; r.Take != "" {
						taken++
					}
				}
				if strings.Contains(strings.Join(res.Answer.Evidence, " "), "whatever else is chosen: ") {
					conditions++
				}
			}
			assert.LessOrEqual(t, float64(taken)/float64(rows), most, "%d of %d rows", taken, rows)
			assert.LessOrEqual(t, float64(conditions)/trials, most, "%d of %d answers", conditions, trials)
			t.Logf("what is not there is seen in %d of %d rows, and of conditions in %d of %d answers", taken, rows, conditions, trials)
		})
	}
}

func TestItIsSaidWhatAnIntervalHoldsFor(t *testing.T) {
	said := func(seeds int, precision float64, grid ...string) string {
		d := gridOf(t, seeds, grid...)
		d.Precision = precision
		assert.Empty(t, analysed(t, d, recordsOf(d, func([]string, int) madeUp { return madeUp{} })).Answer.Reading, "there is no difference")
		return d.reading()
	}
	assert.Contains(t, said(2, 0, "engine.max_dispatch_retries=1..10"), "hold together at 95 % (Bonferroni): a row takes 90 comparisons. A difference is beyond noise if its interval leaves out 0")
	assert.Contains(t, said(2, 0.5, "engine.max_dispatch_retries=1..4", "engine.stale_reason_code=no_workers,stale_worker", "world.heartbeat_lag=0s,5s,15s", "world.dying=0,0.5"),
		"a row takes 72 comparisons, the other choices take 6 comparisons, world.heartbeat_lag takes 36 comparisons, world.dying takes 12 comparisons, which counts up to 6 looks at the numbers.")
	assert.Empty(t, said(2, 0, "engine.max_dispatch_retries=1"), "nothing is compared")
	assert.Empty(t, said(1, 0, "engine.max_dispatch_retries=1..10"), "one seed has no noise")
}

// One rule says what is sure: an answer, its row and the statistics have the same interval.
func TestOneIntervalIsOfADifference(t *testing.T) {
	d := gridOf(t, 20, "engine.max_dispatch_retries=1,3,5", "engine.stale_reason_code=no_workers,stale_worker")
	d.Precision = 0.01
	res := analysed(t, d, recordsOf(d, func(v []string, seed int) madeUp {
		m := madeUp{failed: 9 - nth(v) + float64((seed*seed+int(nth(v)))%5)/4}
		if v[1] == "no_workers" {
			m.failed += 5
		}
		return m
	}))
	row, list := res.Answer.Rows[1], strings.Join(res.Answer.Evidence, " ")
	assert.Equal(t, d.reading(), res.Answer.Reading)
	assert.Equal(t, []string{"5", "sure", "3"}, []string{row.Take, string(row.Sure), row.Than})
	interval := row.Says[strings.Index(row.Says, "["):strings.Index(row.Says, "]")]
	assert.Contains(t, res.Answer.Sentence, interval)
	assert.Contains(t, list, "engine.max_dispatch_retries from 3 to 5: "+strings.Fields(row.Says)[11]+" % "+interval)
	assert.Contains(t, res.Answer.Also[0], "With engine.stale_reason_code=no_workers it is ")
}

// What was measured with another setting than the default is a part of the answer, and of what to take.
func TestSettingsThatAreNotDefaultGoWithTheAnswer(t *testing.T) {
	d := gridOf(t, 20, "engine.max_dispatch_retries=1,3")
	require.NoError(t, d.Set("engine.stale_retry_jitter=1s"))
	require.NoError(t, d.Set("engine.worker_ttl=30s")) // which is the default
	res := analysed(t, d, recordsOf(d, func(v []string, _ int) madeUp { return madeUp{failed: 9 - nth(v)} }))
	assert.Equal(t, []string{"engine.max_dispatch_retries=3", "engine.stale_retry_jitter=1s"}, res.Answer.Take)
	assert.Contains(t, res.Answer.Sentence, "Take engine.max_dispatch_retries=3 with engine.stale_retry_jitter=1s (sure): jobs failed 6 % rather than 8 % at 1, the next best: ")
	assert.Equal(t, []string{"It was measured with engine.stale_retry_jitter=1s, by default 100ms; with another value the answer may be another."}, res.Answer.Also)
}

// check holds what is said of one choice against the numbers.
func (o *oracle) check(t *rapid.T, row Advice) {
	var sound, out []string
	for _, v := range o.values {
		if o.broken[v] {
			out = append(out, v)
		} else {
			sound = append(sound, v)
		}
	}
	text := row.Says
	assert.Equal(t, out, row.Out)
	assert.NotContains(t, out, row.Take, text)
	assert.Equal(t, row.Take == "", row.Sure == NoSignal, text)
	if len(sound) == 0 || len(o.values) == 1 {
		assert.Empty(t, row.Take, text)
		return
	}
	if len(sound) == 1 {
		assert.Equal(t, sound[0], row.Take, text)
		return
	}
	same := !slices.ContainsFunc(sound, func(v string) bool { return o.runs[v] != o.runs[sound[0]] })
	apart := slices.ContainsFunc(sound, o.anyBetter)
	switch {
	case o.few():
		assert.Contains(t, text, "too few to tell; it takes at least ")
		assert.Empty(t, row.Take, text)
	case strings.Contains(text, "in any run"), strings.Contains(text, " at every value; "):
		assert.True(t, same, text)
	case strings.Contains(text, "equal to within"):
		assert.False(t, apart, text)
	case row.Take == "":
		assert.Contains(t, text, "no difference beyond noise: ")
		assert.False(t, same || apart, text)
	default:
		assert.True(t, apart, text)
		assert.False(t, o.anyBetter(row.Take), text)
		assert.InDelta(t, o.mean(row.Take), row.Mean, 1e-9, text)
		mean, half := o.gap(row.Take, row.Than)
		assert.InDelta(t, mean, row.Gap.Mean, 1e-9, text)
		assert.InDelta(t, mean+half, row.Gap.High, 1e-6, text)
		var rivals []string
		for _, v := range sound {
			if v == row.Take {
				continue
			}
			assert.GreaterOrEqual(t, o.mean(v), o.mean(row.Than)-1e-9, "another is the next best: %s", text)
			assert.GreaterOrEqual(t, o.mean(v), 0.99*row.Mean-1e-9, "another has a lower mean: %s", text)
			m, h := o.gap(row.Take, v)
			if !o.better(row.Take, v) && max(h-m, m+h) >= 0.01*max(o.mean(v), row.Mean) {
				rivals = append(rivals, v)
			}
		}
		assert.Equal(t, rivals, row.Rivals, text)
		assert.Equal(t, rivals == nil, row.Sure == Sure, text)
		assert.Equal(t, row.Take == o.values[len(o.values)-1], strings.Contains(text, "larger ones were not tried"), text)
	}
}

func TestAGapOfRoundingAloneIsNone(t *testing.T) {
	assert.Equal(t, "0 % [-10.4, 10.4]", gap(Estimate{Mean: 2.37e-15, Low: -10.4, High: 10.4}, "failed"))
	assert.Equal(t, "+0.00000237 % [0.00000100, 0.00000300]", gap(Estimate{Mean: 2.37e-6, Low: 1e-6, High: 3e-6}, "failed"))
	assert.Equal(t, "-5 % [-5, -5]", gap(Estimate{Mean: -5, Low: -5, High: -5}, "failed"))
}
