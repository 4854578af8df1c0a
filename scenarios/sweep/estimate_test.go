package sweep

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEstimateByHand(t *testing.T) {
	// Mean 3, standard deviation sqrt(2.5), standard error sqrt(0.5); t(4, 97.5 %) = 2.776445.
	e := estimate([]float64{1, 2, math.NaN(), 3, 4, 5})
	assert.Equal(t, 5, e.N)
	assert.InDelta(t, 3, e.Mean, 1e-12)
	assert.InDelta(t, 3-2.776445*math.Sqrt(0.5), e.Low, 1e-5)
	assert.InDelta(t, 3+2.776445*math.Sqrt(0.5), e.High, 1e-5)
	// Of two, t(1, 97.5 %) = 12.7062 and the standard error is half the distance.
	e = estimate([]float64{0, 2})
	assert.InDelta(t, 1-12.7062, e.Low, 1e-4)
	assert.Equal(t, Estimate{Mean: 0.1, Low: 0.1, High: 0.1, N: 3}, estimate([]float64{0.1, 0.1, 0.1}), "equal numbers have no interval, and their mean no rounding")
	assert.Equal(t, Estimate{Mean: 7, Low: 7, High: 7, N: 1}, estimate([]float64{7}))
	assert.Equal(t, Estimate{}, estimate([]float64{math.NaN()}))
}

func TestChanceByHand(t *testing.T) {
	// Mean 3 and standard error sqrt(0.5), as above: t = 4.242641 of 4 degrees. There the tail is
	// 1/2 - 3/8·s·(1 - s²/12) with s = t/sqrt(1+t²/4).
	s := 4.242641 / math.Sqrt(1+18.0/4)
	assert.InDelta(t, 1-0.75*s*(1-s*s/12), chance([]float64{1, 2, 3, 4, 5}), 1e-6)
	assert.InDelta(t, 0.05, chance([]float64{11.7062047, 13.7062047}), 1e-8, "t(1, 97.5 %) = 12.7062047")
	assert.Equal(t, chance([]float64{-1, -2}), chance([]float64{1, 2}), "either way")
	assert.Zero(t, chance([]float64{0.1, 0.1, 0.1}), "always the same")
	assert.Equal(t, 1.0, chance([]float64{0, 0}))
	assert.Equal(t, 1.0, chance([]float64{5}), "one tells nothing")
}

func TestMoreComparisonsNeedMore(t *testing.T) {
	series := [][]float64{{10, 20, 30, 40}, {8.9, 19.1, 28.8, 39.2}} // one less, give or take: t = sqrt(120), p = 0.00163
	assert.InDelta(t, 0.00163, chance(less(series[0], series[1])), 1e-5)
	assert.True(t, newContest("failed", series, 1).better(1, 0))
	assert.False(t, newContest("failed", series, 45).better(1, 0))
}

func TestContestPairsSeeds(t *testing.T) {
	nan := math.NaN()
	c := newContest("failed", [][]float64{{10, 20, 30, nan}, {9, 19, 29, 1}, {9, 19, 29.3, 2}}, 3)
	assert.Equal(t, 3, c.seeds(), "the seed that the first was not run under does not count")
	assert.True(t, c.better(1, 0), "better in every seed, however much seeds differ")
	assert.False(t, c.better(2, 1))
	assert.Equal(t, 1, c.unbeaten(), "the first than which none is better")
	assert.Equal(t, 1, newContest("failed", [][]float64{{0, 20, 40}, {19, 1, 25}}, 1).unbeaten(), "not shown to be worse, and worse")
	assert.Equal(t, -1.0, c.gap(1, 0).Mean)
	assert.Equal(t, 1, c.best())
	assert.Equal(t, 1, c.beats(0))
	assert.Equal(t, -1, c.beats(2))
	assert.False(t, c.flat())
	assert.True(t, newContest("failed", [][]float64{{1000, 1001}, {999.5, 1000.5}}, 1).flat(), "half of a thousandth is a trifle")
}
