package sweep

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// confidence of every interval.
const confidence = 0.95

// estimate is the mean of the numbers that are there, with its 95 % interval by Student's t.
func estimate(values []float64) Estimate { return estimateAt(values, confidence) }

// estimateAt is the same at another confidence.
func estimateAt(values []float64, confidence float64) Estimate {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	n := len(values)
	if n == 0 {
		return Estimate{}
	}
	if low := slices.Min(values); low == slices.Max(values) { // the mean of equal numbers is none of rounding
		return Estimate{Mean: low, Low: low, High: low, N: n}
	}
	mean, sd := stat.MeanStdDev(values, nil)
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - (1-confidence)/2)
	half := t * stat.StdErr(sd, float64(n))
	return Estimate{Mean: mean, Low: mean - half, High: mean + half, N: n}
}

// chance is how probable differences as far from zero as these are if there is none: the p-value of
// Student's paired t-test, two-sided. Equal ones leave no room for chance, and one alone tells nothing.
func chance(differences []float64) float64 {
	n := len(differences)
	if n < 2 {
		return 1
	}
	if d := slices.Min(differences); d == slices.Max(differences) {
		if d == 0 {
			return 1
		}
		return 0
	}
	mean, sd := stat.MeanStdDev(differences, nil)
	return 2 * distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.CDF(-math.Abs(mean)/stat.StdErr(sd, float64(n)))
}

// less returns a-b, number by number.
func less(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// meanOf takes the mean of several series, number by number; where one of them has none, there is
// none.
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
