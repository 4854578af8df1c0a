package sweep

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// Whatever the numbers are, a row says nothing that they do not.
func TestRowsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := gridOf(t, rapid.SampledFrom([]int{1, 2, 6, 12}).Draw(t, "seeds"), "engine.max_dispatch_retries=1..4", "world.dying=0,0.5", "engine.stale_reason_code=no_workers,stale_worker")
		d.Precision = rapid.SampledFrom([]float64{0, 0, 2}).Draw(t, "precision")
		loud := rapid.SampledFrom([]int{0, 1, 9}).Draw(t, "noise")
		small := func(label string, most int) float64 { return float64(rapid.IntRange(0, most).Draw(t, label)) }
		slope := small("slope", 3)
		res := analysed(t, d, recordsOf(d, func(v []string, seed int) madeUp {
			m := madeUp{failed: 20 - slope*nth(v) + float64(seed) + small("noise", loud), picks: nth(v) + small("picks", 1)}
			if rapid.IntRange(0, 60).Draw(t, "unsound") == 0 {
				m.broken = "one-dispatch-per-job"
			}
			return m
		}))
		assert.Len(t, res.Answer.Rows, 4)
		for _, r := range res.Answer.Rows {
			assert.Equal(t, r.Take == "", r.Sure == NoSignal, r.Says)
			assert.NotContains(t, r.Out, r.Take)
			assert.NotEmpty(t, r.Says)
			if left := len(d.Axes[0].Values) - len(r.Out); d.Seeds < SeedsLeast(d.ofRow()) && left > 0 {
				assert.Equal(t, left == 1, r.Sure == NotSure, r.Says)
				assert.NotEqual(t, Sure, r.Sure, "of so few seeds: %s", r.Says)
				assert.True(t, r.Open)
			}
			at := func(value string) *Point {
				return &res.Points[slices.IndexFunc(res.Points, func(p Point) bool { return p.Values[0] == value && slices.Equal(p.Values[1:], r.Under) })]
			}
			for _, v := range d.Axes[0].Values {
				assert.Equal(t, !at(v).Sound(), slices.Contains(r.Out, v), "%s: %s", v, r.Says)
			}
			if r.Than == "" {
				continue
			}
			assert.InDelta(t, r.Mean-r.ThanMean, r.Gap.Mean, 1e-9)
			assert.InDelta(t, at(r.Than).Estimates[r.Metric].Mean, r.ThanMean, 1e-9)
			if r.Sure == Sure {
				assert.True(t, r.Gap.High < 0 || strings.Contains(r.Says, " as good to within "), "what is sure is beyond noise: %s", r.Says)
				assert.Empty(t, r.Rivals)
			}
			if r.Take == "" {
				assert.True(t, r.Open && r.Gap.Mean <= 0 || r.Gap.Low <= 0 && r.Gap.High >= 0, r.Says)
			} else {
				assert.InDelta(t, at(r.Take).Estimates[r.Metric].Mean, r.Mean, 1e-9)
			}
		}
	})
}
