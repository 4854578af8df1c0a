// Package interval says how sure a share is.
package interval

import "math"

// z is how many standard deviations hold 95 % of a normal distribution on both sides of its mean.
const z = 1.959964

// Wilson is the interval of a share of which k of n were seen, with a confidence of 95 % (Wilson: Probable Inference, the
// Law of Succession, and Statistical Inference, 1927). Neither needs to be whole: a run may count for a part of a job.
func Wilson(k, n float64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	share := k / n
	middle := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	low, high = max(0, middle-half), min(1, middle+half)
	switch k { // but for rounding
	case 0:
		low = 0
	case n:
		high = 1
	}
	return low, high
}
