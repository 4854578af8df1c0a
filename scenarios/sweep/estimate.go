package sweep

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wavetank-sim/wavetank/scenarios/internal/interval"
)

// confidence of every interval.
const confidence = 0.95

// SeedsLeast is how many seeds that many comparisons need to tell anything. By the sign test, differences
// without any cause all have the same sign with a probability of 2^(1-n). With fewer seeds that is more than
// each comparison's share of the 5 %, so they tell nothing even if they agree.
func SeedsLeast(comparisons int) int {
	return 1 + int(math.Ceil(math.Log2(float64(max(comparisons, 1))/(1-confidence))))
}

// estimates returns the means of a metric's series, each with its 95 % interval: Wilson's for shares,
// Student's t for other numbers.
func estimates(metric string, series [][]float64) []Estimate {
	known := make([][]float64, len(series))
	for i, s := range series {
		known[i] = slices.DeleteFunc(slices.Clone(s), math.IsNaN)
	}
	list, worth, unit := make([]Estimate, len(series)), worthOf(known), unitOf(known)
	for i, values := range known {
		if metricOf(metric).Unit == "%" {
			list[i] = shareOf(values, worth)
		} else if list[i] = estimate(values, confidence, unit); list[i].Mean == 0 {
			list[i].Low = 0 // no measure is negative
		}
	}
	return list
}

// estimate returns the mean with its interval by Student's t. If numbers come in multiples of a unit, their
// spread counts as at least unit/√12, that of rounding: if all are equal, the unit hides their differences.
func estimate(values []float64, confidence, unit float64) Estimate {
	mean, sd := spread(values)
	e := Estimate{Mean: mean, Low: mean, High: mean, N: len(values)}
	if e.N < 2 {
		return e
	}
	half := student(confidence, e.N) * stat.StdErr(max(sd, unit/math.Sqrt(12)), float64(e.N))
	e.Low, e.High = mean-half, mean+half
	return e
}

// shareOf returns the mean of percentages, with Wilson's interval. Jobs of one run have much in common, so a
// run counts for fewer jobs than it has. It counts for as many as the spread of the percentages shows, less a
// correction for few runs (Korn and Graubard: Confidence Intervals for Proportions, 1998), and for at most
// worth jobs.
func shareOf(values []float64, worth float64) Estimate {
	mean, sd := spread(values)
	e := Estimate{Mean: mean, Low: mean, High: mean, N: len(values)}
	if e.N < 2 {
		return e
	}
	p, s, n := mean/100, sd/100, float64(e.N)
	size := n * worth
	if s > 0 {
		few := normal(confidence) / student(confidence, e.N)
		size = min(size, n*p*(1-p)/(s*s)*few*few)
	}
	e.Low, e.High = interval.Wilson(p*size, size)
	e.Low, e.High = 100*e.Low, 100*e.High
	return e
}

// worthOf is for how many independent jobs a run counts, by the spread of percentages in all series that have
// a spread; 1 if none has.
func worthOf(series [][]float64) float64 {
	independent, seen := 0.0, 0.0 // variances
	for _, values := range series {
		if mean, sd := spread(values); sd > 0 {
			independent += mean * (100 - mean)
			seen += sd * sd
		}
	}
	if seen == 0 {
		return 1
	}
	return max(1, independent/seen)
}

// unitOf is the smallest step between two of the numbers; 0 if they are all equal.
func unitOf(series [][]float64) (unit float64) {
	all := slices.Concat(series...)
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		rounding := 1e-9 * max(math.Abs(all[0]), math.Abs(all[len(all)-1]))
		if step := all[i] - all[i-1]; step > rounding && (unit == 0 || step < unit) {
			unit = step
		}
	}
	return unit
}

// chance is the probability of differences at least this far from zero if there is none: the p-value of
// Student's paired t-test, two-sided. A single difference tells nothing.
func chance(differences []float64, unit float64) float64 {
	n := len(differences)
	mean, sd := spread(differences)
	if n < 2 || mean == 0 {
		return 1
	}
	se := stat.StdErr(max(sd, unit/math.Sqrt(12)), float64(n))
	return 2 * distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.CDF(-math.Abs(mean)/se)
}

// spread returns the mean and the standard deviation. The mean of equal numbers is exact.
func spread(values []float64) (mean, sd float64) {
	if len(values) == 0 {
		return 0, 0
	}
	if low := slices.Min(values); low == slices.Max(values) {
		return low, 0
	}
	return stat.MeanStdDev(values, nil)
}

// student is the quantile of Student's t with that confidence on both sides of zero, for the mean of n.
func student(confidence float64, n int) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - (1-confidence)/2)
}

// normal is the same quantile of the normal distribution.
func normal(confidence float64) float64 { return distuv.UnitNormal.Quantile(1 - (1-confidence)/2) }

// less returns a-b, number by number.
func less(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// meanOf returns the mean of several series, number by number; NaN if one of them lacks a number.
func meanOf(series [][]float64) []float64 {
	mean := make([]float64, len(series[0]))
	for i := range mean {
		for _, s := range series {
			mean[i] += s[i]
		}
		mean[i] /= float64(len(series))
	}
	return mean
}
