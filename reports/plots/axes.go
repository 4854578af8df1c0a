package plots

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
)

// ticksMax bounds the ticks of an axis, whatever its range.
const ticksMax = 50

// unit is one in which an axis counts.
type unit struct {
	name string
	is   time.Duration
	// nice are the distances between ticks, in this unit, that a person counts in
	nice  []float64
	least float64 // distance
}

var (
	decimal = []float64{1, 2, 5}
	units   = []unit{
		{"ns", time.Nanosecond, decimal, 0}, {"µs", time.Microsecond, decimal, 0}, {"ms", time.Millisecond, decimal, 0},
		{"s", time.Second, decimal, 0}, {"min", time.Minute, []float64{1, 2, 5, 10, 15, 30}, 0}, {"h", time.Hour, []float64{1, 2, 3, 6, 12, 24, 48}, 0},
	}
	plain = unit{"", time.Second, decimal, 0} // of any numbers
	whole = unit{"", time.Second, decimal, 1} // of whole numbers
)

// unitFor picks the unit in which a span reads best.
func unitFor(span time.Duration) unit {
	best := units[0]
	for _, u := range units {
		if span >= 2*u.is && (u.is < time.Minute || span >= 4*u.is) {
			best = u
		}
	}
	return best
}

// unitTicks are about n ticks of an axis in seconds, or in numbers, labelled in a unit of its own.
type unitTicks struct {
	unit unit
	n    int
}

func (t unitTicks) Ticks(lo, hi float64) []plot.Tick {
	per := t.unit.is.Seconds()
	lo, hi = lo/per, hi/per
	return ticksEvery(lo, hi, max(t.unit.least, distance((hi-lo)/float64(t.n), t.unit.nice)), per)
}

// ticksEvery are the ticks at the multiples of step between lo and hi. Their labels count in step's
// unit, their values in one of which that unit has per.
func ticksEvery(lo, hi, step, per float64) []plot.Tick {
	if step <= 0 || math.IsNaN(step) || math.IsInf(step, 0) {
		return nil
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9 && len(ticks) < ticksMax; i++ {
		label := "0"
		if i != 0 {
			label = strconv.FormatFloat(i*step, 'f', decimals, 64)
		}
		ticks = append(ticks, plot.Tick{Value: i * step * per, Label: label})
	}
	return ticks
}

// distance is the smallest nice distance that is about d. Above the last one it goes on in powers of
// ten of the decimal ones, as it does below 1.
func distance(d float64, nice []float64) float64 {
	if d <= 0 {
		return 0
	}
	d *= .8
	if d > 1 {
		for _, v := range nice {
			if v >= d {
				return v
			}
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(d)))
	for _, v := range decimal {
		if v*power >= d {
			return v * power
		}
	}
	return 10 * power
}

// powerTicks are the powers of ten of an axis that holds logarithms. ([plot.LogScale] would do, but for the axis'
// name, which it moves.)
type powerTicks struct {
	every int
	label func(exponent int) string
}

func (t powerTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for e := int(math.Ceil(lo)); float64(e) <= hi && len(ticks) < ticksMax; e++ {
		if e%t.every == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(e), Label: t.label(e)})
		}
	}
	return ticks
}

// secondsLabel is a power of ten of a second, with its unit.
func secondsLabel(e int) string {
	for _, u := range []struct {
		exponent int
		name     string
	}{{0, "s"}, {-3, "ms"}, {-6, "µs"}} {
		if e >= u.exponent {
			return strconv.FormatFloat(math.Pow10(e-u.exponent), 'f', 0, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(math.Pow10(e+9), 'f', 0, 64) + " ns"
}
