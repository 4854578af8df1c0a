package sweep

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEstimateByHand(t *testing.T) {
	// Mean 3, standard deviation sqrt(2.5), standard error sqrt(0.5); t(4, 97.5 %) = 2.776445.
	e := estimate([]float64{1, 2, 3, 4, 5}, confidence, 1)
	assert.Equal(t, 5, e.N)
	assert.InDelta(t, 3, e.Mean, 1e-12)
	assert.InDelta(t, 3-2.776445*math.Sqrt(0.5), e.Low, 1e-5)
	assert.InDelta(t, 3+2.776445*math.Sqrt(0.5), e.High, 1e-5)
	// Of two, t(1, 97.5 %) = 12.7062 and the standard error is half the distance.
	e = estimate([]float64{0, 2}, confidence, 2)
	assert.InDelta(t, 1-12.7062, e.Low, 1e-4)
	// Equal numbers spread as what is rounded to a unit: 0.288675 of it. t(3, 97.5 %) = 3.182446.
	e = estimate([]float64{0.1, 0.1, 0.1, 0.1}, confidence, 1)
	assert.InDelta(t, 0.1, e.Mean, 0, "their mean has no rounding")
	assert.InDelta(t, 0.1+3.182446*0.288675/2, e.High, 1e-6)
	assert.Equal(t, Estimate{Mean: 7, Low: 7, High: 7, N: 1}, estimate([]float64{7}, confidence, 1), "one has no interval")
	assert.Equal(t, Estimate{}, estimate(nil, confidence, 1))
}

func TestUnitByHand(t *testing.T) {
	third := 100.0 / 3
	assert.InDelta(t, third, unitOf([][]float64{{0, 2 * third, 100}, {2 * third, 100 - 1e-13}}), 1e-9, "what rounding leaves is no step")
	assert.Zero(t, unitOf([][]float64{{5, 5}, {5}, nil}))
}

// Percentages of three runs: p = 20 %, s = 10 %, so that they say as much as 3 × 0.2 × 0.8 / 0.1² = 48 independent jobs, less
// (1.959964/4.302653)² for the two degrees of freedom: 9.9601. Wilson: z²/n = 0.385684, the middle (0.2 + 0.192842)/1.385684.
func TestSharesByHand(t *testing.T) {
	nan := math.NaN()
	list := estimates("failed", [][]float64{{10, nan, 20, 30}})
	assert.Equal(t, 3, list[0].N)
	assert.InDelta(t, 20, list[0].Mean, 1e-12)
	assert.InDelta(t, 28.3500-22.6950, list[0].Low, 1e-3)
	assert.InDelta(t, 28.3500+22.6950, list[0].High, 1e-3)

	// A run of the first counts for 0.2 × 0.8 / 0.1² = 16 jobs, so 20 of the second for 320: z²/(320+z²) = 1.1862 %.
	list = estimates("failed", [][]float64{{10, 20, 30}, make([]float64, 20), {100, 100}, {0}, {nan}})
	assert.InDelta(t, 0, list[1].Low, 0)
	assert.InDelta(t, 1.1862, list[1].High, 1e-4)
	assert.InDelta(t, 100-100*3.841459/(32+3.841459), list[2].Low, 1e-4, "all of two runs, which count for 32 jobs")
	assert.InDelta(t, 100, list[2].High, 0)
	assert.Equal(t, Estimate{N: 1}, list[3], "one has no interval")
	assert.Equal(t, Estimate{}, list[4])

	// Where no run differs from another, each counts for one: none of 20 is at most z²/(20+z²) = 16.1125 %.
	list = estimates("failed", [][]float64{make([]float64, 20)})
	assert.InDelta(t, 16.1125, list[0].High, 1e-4)

	// One run of one job among 20 says no more than the others let it: less than none does.
	rare := make([]float64, 20)
	rare[3] = 5.0 / 3
	list = estimates("failed", [][]float64{{10, 20, 30}, make([]float64, 20), rare})
	assert.Greater(t, list[2].High, list[1].High)
	assert.GreaterOrEqual(t, list[2].Low, 0.0)
}

func TestCountsThatNeverWereHaveAnInterval(t *testing.T) {
	list := estimates("stale_picks", [][]float64{{0, 0, 0, 0}, {0, 1, 2, 1}})
	assert.InDelta(t, 0, list[0].Low, 0, "nothing is negative")
	assert.InDelta(t, 3.182446*0.288675/2, list[0].High, 1e-6)
	assert.Equal(t, Estimate{N: 4}, estimates("stale_picks", [][]float64{{0, 0, 0, 0}})[0], "nothing shows in which steps it comes")
}

func TestChanceByHand(t *testing.T) {
	// Mean 3 and standard error sqrt(0.5), as above: t = 4.242641 of 4 degrees. There the tail is
	// 1/2 - 3/8·s·(1 - s²/12) with s = t/sqrt(1+t²/4).
	s := 4.242641 / math.Sqrt(1+18.0/4)
	assert.InDelta(t, 1-0.75*s*(1-s*s/12), chance([]float64{1, 2, 3, 4, 5}, 1), 1e-6)
	assert.InDelta(t, 0.05, chance([]float64{11.7062047, 13.7062047}, 1), 1e-8, "t(1, 97.5 %) = 12.7062047")
	assert.InDelta(t, chance([]float64{-1, -2}, 1), chance([]float64{1, 2}, 1), 0, "either way")
	// One unit each time: t = sqrt(12)·sqrt(3) = 6 of 2 degrees, whose tails are 1 - t/sqrt(t²+2).
	assert.InDelta(t, 1-6/math.Sqrt(38), chance([]float64{0.1, 0.1, 0.1}, 0.1), 1e-9)
	assert.InDelta(t, 1, chance([]float64{0, 0}, 1), 0)
	assert.InDelta(t, 1, chance([]float64{5}, 1), 0, "one tells nothing")
}

// Without a cause, n differences have one sign in 2^(1-n) of all cases: 6.25 % of five, 3.1 % of six.
func TestSeedsLeastByHand(t *testing.T) {
	for of, want := range map[int]int{0: 6, 1: 6, 2: 7, 6: 8, 72: 12} { // 1/32 of 5 %, 1/64 of 2.5 %, 1/128 of 0.83 %, 1/2048 of 0.069 %
		assert.Equal(t, want, SeedsLeast(of), of)
		least := newContest("failed", [][]float64{make([]float64, want), slices.Repeat([]float64{50}, want)}, of)
		assert.True(t, least.better(0, 1), "%d seeds that agree are enough", want)
		less := newContest("failed", [][]float64{make([]float64, want-1), slices.Repeat([]float64{50}, want-1)}, of)
		assert.False(t, less.better(0, 1), "%d are not, even if they agree", want-1)
	}
}

func TestMoreComparisonsNeedMore(t *testing.T) {
	a, b := make([]float64, 12), make([]float64, 12)
	for i := range a { // one less, give or take 1.220207: t = 1/(1.220207·sqrt(12/11)/sqrt(12)) = 2.718079, of 11 degrees 2 %
		a[i], b[i] = float64(10*i+10), float64(10*i+9)+1.220207*float64(i%2*2-1)
	}
	assert.InDelta(t, 0.02, chance(less(a, b), 0), 1e-6)
	assert.True(t, newContest("failed", [][]float64{a, b}, 2).better(1, 0))
	assert.False(t, newContest("failed", [][]float64{a, b}, 3).better(1, 0), "the three share the 5 %")
}

func TestContestPairsSeeds(t *testing.T) {
	first, second, third := []float64{math.NaN()}, []float64{1}, []float64{2}
	for seed := range 8 {
		x := float64(10 * seed)
		first, second, third = append(first, x+10), append(second, x+9), append(third, x+9)
	}
	third[3] += 0.3
	c := newContest("failed", [][]float64{first, second, third}, 3)
	assert.Equal(t, 8, c.seeds(), "the seed that the first was not run under does not count")
	assert.True(t, c.better(1, 0), "better in every seed, however much seeds differ")
	assert.False(t, c.better(2, 1))
	assert.Equal(t, 1, c.unbeaten(), "the first than which none is better")
	assert.Equal(t, 1, newContest("failed", [][]float64{{0, 20, 40}, {19, 1, 25}}, 1).unbeaten(), "not shown to be worse, and worse")
	assert.InDelta(t, -1, c.interval(1, 0).Mean, 0)
	assert.Equal(t, 1, c.best())
	assert.Equal(t, 1, c.beats(0))
	assert.Equal(t, -1, c.beats(2))
	assert.False(t, c.flat())
	thousand, less := slices.Repeat([]float64{1000, 1001}, 4), slices.Repeat([]float64{999.5, 1000.5}, 4)
	assert.True(t, newContest("failed", [][]float64{thousand, less}, 1).flat(), "half of a thousandth is a trifle")
}

// In one run of eleven, five jobs of sixty in a row meet a stale worker, and none in the others. Such jobs are no 60 witnesses.
func TestSharesOfJobsThatHangTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const trials, mean = 500, 100.0 / 11 * 5 / 60
	held := 0
	for range trials {
		points := make([][]float64, 8)
		for i := range points {
			points[i] = make([]float64, 20)
			for run := range points[i] {
				if random.Float64() < 1.0/11 {
					points[i][run] = 100 * 5.0 / 60
				}
			}
		}
		if e := estimates("stale_exhausted", points)[0]; e.Low <= mean && mean <= e.High {
			held++
		}
	}
	assert.Greater(t, float64(held)/trials, 0.94)
}
