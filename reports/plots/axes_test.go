package plots

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/plot"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

func labels(ticks []plot.Tick) (out []string) {
	for _, tick := range ticks {
		out = append(out, tick.Label)
	}
	return out
}

func TestTicksAreRoundNumbersInAUnitThatFits(t *testing.T) {
	for _, c := range []struct {
		span time.Duration
		unit string
		want []string
	}{
		{41 * time.Second, "s", []string{"0", "10", "20", "30", "40"}},
		{900 * time.Microsecond, "µs", []string{"0", "200", "400", "600", "800"}},
		{3 * time.Second, "s", []string{"0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"}},
		{17 * time.Minute, "min", []string{"0", "5", "10", "15"}},
		{20 * time.Hour, "h", []string{"0", "3", "6", "9", "12", "15", "18"}},
		{720 * time.Hour, "h", []string{"0", "100", "200", "300", "400", "500", "600", "700"}},
	} {
		u := unitFor(c.span)
		assert.Equal(t, c.unit, u.name, "%s", c.span)
		assert.Equal(t, c.want, labels(unitTicks{u, 6}.Ticks(0, c.span.Seconds())), "%s", c.span)
	}
	assert.Equal(t, []string{"0", "1", "2"}, labels(unitTicks{whole, 5}.Ticks(0, 2.2)))
	assert.Equal(t, []string{"0", "10", "20", "30", "40", "50"}, labels(unitTicks{whole, 5}.Ticks(0, 52.5)))
	assert.Equal(t, []string{"100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"}, labels(powerTicks{1, secondsLabel}.Ticks(-7, 1.2)))
	assert.Equal(t, []string{"10 ms", "1 s", "100 s"}, labels(powerTicks{2, secondsLabel}.Ticks(-2.5, 2.5)))
	assert.LessOrEqual(t, len(unitTicks{whole, 5}.Ticks(0, 1e18)), ticksMax)
	assert.Empty(t, unitTicks{units[0], 5}.Ticks(1, 1))
}

func TestAxesOfCurvesFitTheirNumbers(t *testing.T) {
	times := words.MeasureOf(campaign.Metric{Unit: "s"}, 90)
	y := axisFor(times, .002, 90)
	assert.True(t, y.log)
	assert.Equal(t, []string{"0.01", "0.1", "1", "10", "100"}, labels(y.marker.Ticks(y.bottom, y.top)))
	assert.InDelta(t, y.bottom, y.of(0), 0, "nothing is at the bottom of a log scale")
	y = axisFor(words.MeasureOf(campaign.Metric{Unit: "%"}, 90), .002, 90)
	assert.False(t, y.log, "shares are compared by difference")
	assert.Zero(t, y.bottom)
	lo, hi := spanOf(40, 50)
	assert.InDelta(t, 38, lo, 1e-9)
	assert.InDelta(t, 51, hi, 1e-9)
}
