package plots

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestScaleHasRoundBoundsAroundEverything(t *testing.T) {
	assert.Equal(t, []float64{0, 10, 20, 30, 40, 50}, scaleFor(0, 47.5, false).edges)
	assert.Equal(t, []float64{.2, .4, .6, .8, 1, 1.2, 1.4}, scaleFor(.3, 1.3, false).edges)
	assert.Equal(t, []float64{.001, .01, .1, 1, 10, 100}, scaleFor(.004, 60, true).edges)
	assert.Equal(t, []float64{.01, .03, .1, .3, 1, 3, 10}, scaleFor(.01, 9, true).edges)
	assert.Equal(t, 1, scaleFor(3, 3, false).bins())
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(0, 1e6).Draw(t, "lo")
		hi := lo*1.0002 + rapid.Float64Range(1e-6, 1e6).Draw(t, "span")
		s := scaleFor(lo, hi, rapid.Bool().Draw(t, "powers") && lo > 1e-9)
		require.LessOrEqual(t, s.bins(), HeatColours)
		require.LessOrEqual(t, s.edges[0], lo+1e-6*hi)
		require.GreaterOrEqual(t, s.edges[s.bins()], hi-1e-6*hi)
		for i := range s.bins() {
			require.Less(t, s.edges[i], s.edges[i+1])
			require.Less(t, s.level(i), HeatColours)
			require.NotEqual(t, s.label(i), s.label(i+1), "bounds that read the same")
		}
		require.Equal(t, s.bins()-1, s.bin(math.Inf(1)))
		require.Equal(t, 0, s.bin(math.Inf(-1)))
	})
}

func TestAScaleOfNumbersFarApart(t *testing.T) {
	for _, ends := range [][2]float64{{-math.MaxFloat64, math.MaxFloat64}, {-math.MaxFloat64, 3}, {0, math.MaxFloat64}, {1e308, 1.7e308}} {
		s := scaleFor(ends[0], ends[1], false)
		assert.Positive(t, s.bins(), "%v", ends)
		assert.NotPanics(t, func() { s.label(s.bins()) }, "%v", ends)
	}
}
