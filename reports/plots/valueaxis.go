package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// valueAxis is the vertical axis of curves.
type valueAxis struct {
	log         bool
	bottom, top float64 // as the plot has them
	marker      plot.Ticker
}

func axisFor(m words.Measure, lo, hi float64) valueAxis {
	if m.ByPowers(lo, hi) {
		a := valueAxis{log: true, bottom: math.Log10(lo) - .15, top: math.Log10(hi) + .15}
		a.marker = powerTicks{1 + int((a.top-a.bottom)/6), numberLabel}
		return a
	}
	bottom, top := spanOf(lo, hi)
	return valueAxis{bottom: bottom, top: top, marker: unitTicks{plain, 5}}
}

// spanOf is the range of an axis for numbers from lo to hi: it begins at 0 unless they are all far
// from it.
func spanOf(lo, hi float64) (bottom, top float64) {
	switch {
	case hi <= 0:
		return min(0, lo), 1
	case lo > hi/2 && hi > lo:
		return lo - (hi-lo)*.2, hi + (hi-lo)*.1
	}
	return min(0, lo), hi * 1.08
}

// of is where v is on the axis.
func (a valueAxis) of(v float64) float64 {
	if !a.log {
		return max(v, a.bottom)
	}
	if v <= 0 {
		return a.bottom
	}
	return max(math.Log10(v), a.bottom)
}

// numberLabel is a power of ten.
func numberLabel(e int) string { return strconv.FormatFloat(math.Pow10(e), 'f', max(0, -e), 64) }
