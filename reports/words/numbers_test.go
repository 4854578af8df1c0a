package words

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

func TestNumbersAreShortAndInAUnitThatFits(t *testing.T) {
	seconds := campaign.Metric{Title: "Time", Unit: "s"}
	for _, c := range []struct {
		most float64
		e    sweep.Estimate
		want string
	}{
		{12, sweep.Estimate{Mean: 12.35, Low: 12.1, High: 12.6, N: 3}, "12.35 ± 0.25"},
		{.0123, sweep.Estimate{Mean: .0123, Low: .0122, High: .0124, N: 3}, "12.30 ± 0.10"},
		{2e-6, sweep.Estimate{Mean: 2e-6, Low: 2e-6, High: 2e-6, N: 3}, "2"},
		{1e6, sweep.Estimate{Mean: 1250000, Low: 1200000, High: 1300000, N: 3}, "1,250,000 ± 50,000"},
		{48, sweep.Estimate{Mean: 48.63997, Low: 48.63988, High: 48.64006, N: 3}, "48.64"},
		{486, sweep.Estimate{Mean: 486.89, Low: 486.63, High: 487.15, N: 3}, "486.9 ± 0.3"},
		{1, sweep.Estimate{Mean: -.5, Low: -.7, High: -.3, N: 3}, "−0.50 ± 0.20"},
		{1, sweep.Estimate{}, ""},
		{1, sweep.Estimate{Mean: .15625, Low: .068, High: .3587, N: 160}, "0.156 (0.068 to 0.359)"},
		{100, sweep.Estimate{Mean: 10, Low: 1.8, High: 40.4, N: 10}, "10.0 (1.8 to 40.4)"},
		{10, sweep.Estimate{Mean: 2.87, Low: 2.64, High: 3.12, N: 30}, "2.87 ± 0.24"},
		{1, sweep.Estimate{Mean: 0, Low: 0, High: .161, N: 20}, "0 (at most 0.161)"},
		{1, sweep.Estimate{Mean: 0, Low: 0, High: 4.5e-8, N: 20}, "0"},
		{100, sweep.Estimate{Mean: 100, Low: 83.9, High: 100, N: 20}, "100 (at least 83.9)"},
	} {
		assert.Equal(t, c.want, MeasureOf(seconds, c.most).PlusMinus(c.e))
	}
	assert.Equal(t, "Time (ms)", MeasureOf(seconds, .5).Heading())
	assert.Equal(t, "Jobs", MeasureOf(campaign.Metric{Title: "Jobs"}, .5).Heading())
	for v, want := range map[float64]string{0: "0", .025: "0.025", 41.26: "41.3", 999.7: "1,000", 1234.5: "1,234", -3: "−3", math.Inf(1): "–"} {
		assert.Equal(t, want, Number(v))
	}
	assert.Equal(t, "0.0", Fixed(-.01, 1), "no negative nothing")
}
