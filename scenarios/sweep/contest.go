package sweep

import (
	"fmt"
	"math"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
)

// trifle is the share of a mean below which a difference counts as none, however sure it is: nobody tunes a
// setting for it.
const trifle = 0.01

// contest compares alternatives by one metric, seed by seed; less of the metric is better. Only seeds with
// which all alternatives were run count.
type contest struct {
	metric string
	series [][]float64 // for each alternative, by seed
	of     int         // how many comparisons answer the question, these included
	unit   float64     // the numbers are multiples of it
}

func newContest(metric string, series [][]float64, of int) *contest {
	c := &contest{metric: metric, series: make([][]float64, len(series)), of: of}
	if len(series) == 0 {
		return c
	}
	for seed := range series[0] {
		if slices.ContainsFunc(series, func(s []float64) bool { return math.IsNaN(s[seed]) }) {
			continue
		}
		for i, s := range series {
			c.series[i] = append(c.series[i], s[seed])
		}
	}
	c.unit = unitOf(c.series)
	return c
}

// seeds is how many seeds count.
func (c *contest) seeds() int {
	if len(c.series) == 0 {
		return 0
	}
	return len(c.series[0])
}

// mean is the mean of alternative i.
func (c *contest) mean(i int) float64 {
	mean, _ := spread(c.series[i])
	return mean
}

// few says whether the seeds are too few to tell anything.
func (c *contest) few() bool { return c.seeds() < SeedsLeast(c.of) }

// tooFew says that the seeds are too few, and how many are needed.
func (c *contest) tooFew() string { return tooFew(c.seeds(), c.of) }

func tooFew(seeds, comparisons int) string {
	return fmt.Sprintf("%s %s too few to tell; it takes at least %d (--seeds %[3]d)", invariants.Plural(seeds, "seed"), isOrAre(seeds), SeedsLeast(comparisons))
}

// below says whether i has less than j beyond noise, with all comparisons of the question taken together:
// whether the interval is below zero.
func (c *contest) below(i, j int) bool {
	d := less(c.series[i], c.series[j])
	mean, _ := spread(d)
	return !c.few() && mean < 0 && chance(d, c.unit) <= (1-confidence)/float64(max(c.of, 1))
}

// better says whether i has less than j beyond noise, and by more than a trifle.
func (c *contest) better(i, j int) bool {
	return c.below(i, j) && c.mean(j)-c.mean(i) >= c.trifle(i, j)
}

// best is the alternative with the lowest mean; of equal ones, the first.
func (c *contest) best() int {
	best := 0
	for i := range c.series {
		if c.mean(i) < c.mean(best) {
			best = i
		}
	}
	return best
}

// next is the best alternative other than i; -1 if there is none.
func (c *contest) next(i int) int {
	next := -1
	for j := range c.series {
		if j != i && (next < 0 || c.mean(j) < c.mean(next)) {
			next = j
		}
	}
	return next
}

// beats is the alternative that is better than i by the most; -1 if none is better.
func (c *contest) beats(i int) int {
	by := -1
	for j := range c.series {
		if c.better(j, i) && (by < 0 || c.mean(j) < c.mean(by)) {
			by = j
		}
	}
	return by
}

// unbeaten is the alternative to take. It is the first to which none is better, and whose mean is the lowest
// or within a trifle of it. With few seeds little can be told apart, and an alternative that is not shown to
// be worse may be much worse.
func (c *contest) unbeaten() int {
	best := c.best()
	for i := range c.series {
		if c.beats(i) < 0 && (i == best || c.mean(i)-c.mean(best) < trifle*math.Abs(c.mean(i))) {
			return i
		}
	}
	return best
}

// worst is the alternative with the highest mean of those that i is better than; -1 if there is none.
func (c *contest) worst(i int) int {
	worst := -1
	for j := range c.series {
		if c.better(i, j) && (worst < 0 || c.mean(j) > c.mean(worst)) {
			worst = j
		}
	}
	return worst
}

// widest is the pair i, j with the largest difference, where i is better than j; -1, -1 if the contest is
// flat.
func (c *contest) widest() (i, j int) {
	i, j = -1, -1
	for k := range c.series {
		if w := c.worst(k); w >= 0 && (i < 0 || c.mean(w)-c.mean(k) > c.mean(j)-c.mean(i)) {
			i, j = k, w
		}
	}
	return i, j
}

// flat says whether no alternative is better than another.
func (c *contest) flat() bool {
	for i := range c.series {
		if c.beats(i) >= 0 {
			return false
		}
	}
	return true
}

// equal says whether all alternatives have the same number for every seed.
func (c *contest) equal() bool {
	for _, s := range c.series {
		if !slices.Equal(s, c.series[0]) {
			return false
		}
	}
	return true
}

// most is the alternative with the highest mean; of equal ones, the last.
func (c *contest) most() int {
	most := 0
	for i := range c.series {
		if c.mean(i) >= c.mean(most) {
			most = i
		}
	}
	return most
}

// interval estimates how much more alternative i has than j. The intervals of all comparisons of the question
// hold together. There is no other interval of a difference, so no difference is sure by one interval and
// unsure by another.
func (c *contest) interval(i, j int) Estimate {
	return estimate(less(c.series[i], c.series[j]), 1-(1-confidence)/float64(max(c.of, 1)), c.unit)
}

func (c *contest) gapText(i, j int) string { return gap(c.interval(i, j), c.metric) }

// alike says whether two alternatives have the same number for every seed, or for sure differ by less than
// the precision or a trifle.
func (c *contest) alike(i, j int, precision float64) bool {
	e := c.interval(i, j)
	return slices.Equal(c.series[i], c.series[j]) || math.Max(-e.Low, e.High) < max(precision, c.trifle(i, j))
}

// trifle is the difference between two alternatives that counts as none, in the metric's unit.
func (c *contest) trifle(i, j int) float64 {
	return trifle * max(math.Abs(c.mean(i)), math.Abs(c.mean(j)))
}

// within says up to which difference alternatives count as equal.
func (c *contest) within(precision float64) string {
	if most := c.trifle(c.best(), c.most()); most > precision {
		return amount(most, c.metric) + ", 1 % of the mean"
	}
	return amount(precision, c.metric)
}

// close says whether all alternatives are alike.
func (c *contest) close(precision float64) bool {
	for i := range c.series {
		for j := range i {
			if !c.alike(i, j, precision) {
				return false
			}
		}
	}
	return true
}
