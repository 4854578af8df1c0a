package words

import (
	"math"
	"strconv"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// Measure is a metric as one page writes it: all of its numbers in one unit.
type Measure struct {
	campaign.Metric
	Unit   string // %, s, ms, µs, or empty for a count
	factor float64
}

// MeasureOf picks the unit in which the largest of the numbers reads best.
func MeasureOf(m campaign.Metric, most float64) Measure {
	switch {
	case m.Unit != "s" || most >= 1 || most <= 0:
		return Measure{m, m.Unit, 1}
	case most >= 1e-3:
		return Measure{m, "ms", 1e3}
	}
	return Measure{m, "µs", 1e6}
}

// Heading is the metric's title with its unit.
func (m Measure) Heading() string {
	if m.Unit == "" {
		return m.Title
	}
	return m.Title + " (" + m.Unit + ")"
}

// In returns v in m's unit.
func (m Measure) In(v float64) float64 { return v * m.factor }

// lopsided is how far from the middle of its interval a mean may be, as a share of half of it, and still be said with ±.
const lopsided = 0.1

// negligible is half of an interval that nobody needs to know of, in the measure's unit: virtual time goes in nanoseconds.
const negligible = 1e-6

// PlusMinus says an estimate: its mean and half of its interval, to the digits that it leaves standing, and to four at
// most. A mean that is not in the middle is said with both ends; one at an end with the other end. It is empty if there is none.
func (m Measure) PlusMinus(e sweep.Estimate) string {
	if e.N == 0 || math.IsNaN(e.Mean) {
		return ""
	}
	mean, half := m.In(e.Mean), m.In(e.High-e.Low)/2
	if !(half > negligible) || math.IsInf(half, 0) || math.IsInf(mean, 0) {
		return Number(mean)
	}
	switch e.Mean {
	case e.Low:
		return Number(mean) + " (at most " + Number(m.In(e.High)) + ")"
	case e.High:
		return Number(mean) + " (at least " + Number(m.In(e.Low)) + ")"
	}
	decimals := decimalsOf(half, 2)
	if mean != 0 {
		decimals = min(decimals, decimalsOf(math.Abs(mean), 4))
	}
	if low, high := m.In(e.Low), m.In(e.High); math.Abs((low+high)/2-mean) > lopsided*half {
		decimals = max(decimals, min(decimalsOf(math.Abs(low), 2), decimalsOf(half, 2)+1))
		return Fixed(mean, decimals) + " (" + Fixed(low, decimals) + " to " + Fixed(high, decimals) + ")"
	}
	if width := Fixed(half, decimals); width != Fixed(0, decimals) {
		return Fixed(mean, decimals) + " ± " + width
	}
	return Fixed(mean, decimals)
}

// decimalsOf is how many decimals leave v that many significant digits.
func decimalsOf(v float64, digits int) int {
	return min(max(0, digits-1-int(math.Floor(math.Log10(v)+1e-9))), 9)
}

// Number says v to three significant digits.
func Number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v == 0:
		return "0"
	case v < 0:
		return "−" + Number(-v)
	case v >= 999.5:
		return Fixed(v, 0)
	}
	return significant(v)
}

// Fixed says v with that many decimals, its thousands apart.
func Fixed(v float64, decimals int) string {
	if v < 0 {
		if s := Fixed(-v, decimals); s != Fixed(0, decimals) {
			return "−" + s
		}
		v = 0
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	whole := len(s)
	if decimals > 0 {
		whole -= decimals + 1
	}
	for i := whole - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ByPowers says whether numbers of m from lo to hi are told apart better by their size than by their
// difference, as times of microseconds and of minutes are.
func (m Measure) ByPowers(lo, hi float64) bool { return m.Metric.Unit == "s" && lo > 0 && hi > 100*lo }

// Percentage says a share, which is not 0, with the digits that count.
func Percentage(share float64) string { return significant(100*share) + " %" }
