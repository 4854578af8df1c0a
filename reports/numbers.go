package reports

import (
	"fmt"
	"math"
	"strconv"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// measure is a metric as one page writes it: all of its numbers in one unit.
type measure struct {
	campaign.Metric
	Unit   string // %, s, ms, µs, or empty for a count
	factor float64
}

// measureOf picks the unit in which the largest of the numbers reads best.
func measureOf(m campaign.Metric, most float64) measure {
	switch {
	case m.Unit != "s" || most >= 1 || most <= 0:
		return measure{m, m.Unit, 1}
	case most >= 1e-3:
		return measure{m, "ms", 1e3}
	}
	return measure{m, "µs", 1e6}
}

// Heading is the metric's title with its unit.
func (m measure) Heading() string {
	if m.Unit == "" {
		return m.Title
	}
	return m.Title + " (" + m.Unit + ")"
}

// in returns v in m's unit.
func (m measure) in(v float64) float64 { return v * m.factor }

// plusMinus says an estimate: its mean and half of its interval, or the interval itself if it was cut
// off where the metric cannot be; to the digits that it leaves standing, and to four at most. It is
// empty if there is none.
func (m measure) plusMinus(e sweep.Estimate) string {
	if e.N == 0 || math.IsNaN(e.Mean) {
		return ""
	}
	mean, half := m.in(e.Mean), m.in(e.High-e.Low)/2
	if !(half > 0) || math.IsInf(half, 0) || math.IsInf(mean, 0) {
		return number(mean)
	}
	decimals := decimalsOf(half, 2)
	if mean != 0 {
		decimals = min(decimals, decimalsOf(math.Abs(mean), 4))
	}
	width := fixed(half, decimals)
	switch {
	case width == fixed(0, decimals):
		return fixed(mean, decimals)
	case math.Abs(m.in(e.High)+m.in(e.Low)-2*mean) > 1e-6*half:
		return fmt.Sprintf("%s (%s to %s)", fixed(mean, decimals), fixed(m.in(e.Low), decimals), fixed(m.in(e.High), decimals))
	}
	return fixed(mean, decimals) + " ± " + width
}

// decimalsOf is how many decimals leave v that many significant digits.
func decimalsOf(v float64, digits int) int {
	return min(max(0, digits-1-int(math.Floor(math.Log10(v)+1e-9))), 9)
}

// number says v to three significant digits.
func number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v == 0:
		return "0"
	case v < 0:
		return "−" + number(-v)
	case v >= 999.5:
		return fixed(v, 0)
	}
	return significant(v)
}

// fixed says v with that many decimals, its thousands apart.
func fixed(v float64, decimals int) string {
	if v < 0 {
		if s := fixed(-v, decimals); s != fixed(0, decimals) {
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

// byPowers says whether numbers of m from lo to hi are told apart better by their size than by their
// difference, as times of microseconds and of minutes are.
func (m measure) byPowers(lo, hi float64) bool { return m.Metric.Unit == "s" && lo > 0 && hi > 100*lo }
