package sweep

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// kind is what the points say about the knob.
type kind int

const (
	unsound   kind = iota // at each of its values a promise was broken
	unseen                // there is no run
	single                // the knob has one value
	unsure                // too few seeds to tell anything
	alone                 // one value is left at which every promise was kept
	identical             // every run gives the same result at all values
	alike                 // the values differ by less than the precision or a trifle
	flat                  // no value is better than another beyond noise
	told                  // some are
)

// decision is what the points say about the knob under one combination of other axes, as a mean over the rest
// of them. It is a question of its own: all its comparisons hold at 95 % together.
type decision struct {
	under  []string // the value of each axis except the first; empty for a mean over all of its values
	choice []string // the same as settings, as --set takes them
	points [][]int  // for each value of the knob, in the order of the conditions
	values []int    // indices of the knob's values that are sound under all conditions
	out    []int    // the others
	kind   kind
	take   int        // the value to take, as an index into values
	by     *contest   // compares values by the deciding metric
	cost   *contest   // compares values by the metric that it is weighed against
	harms  []*contest // compare values by each measure of harm other than the deciding metric
}

// decide makes a decision for each combination of the other axes for which apart is true.
func decide(d *Definition, t *table, points []Point, apart func(Axis) bool) []*decision {
	var all []*decision
	byChoice := map[string]*decision{}
	for i, p := range points {
		under, choice := make([]string, len(d.Axes)-1), []string{}
		for j, a := range d.Axes[1:] {
			if apart(a) {
				under[j], choice = p.Values[j+1], append(choice, a.Setting+"="+p.Values[j+1])
			}
		}
		key := strings.Join(choice, " ")
		c := byChoice[key]
		if c == nil {
			c = &decision{under: under, choice: choice, points: make([][]int, len(d.Axes[0].Values))}
			byChoice[key] = c
			all = append(all, c)
		}
		v := slices.Index(d.Axes[0].Values, p.Values[0])
		c.points[v] = append(c.points[v], i)
	}
	for _, c := range all {
		c.decide(d, t, points)
	}
	return all
}

func (c *decision) decide(d *Definition, t *table, points []Point) {
	for v, list := range c.points {
		if slices.ContainsFunc(list, func(i int) bool { return !points[i].Sound() }) {
			c.out = append(c.out, v)
		} else {
			c.values = append(c.values, v)
		}
	}
	c.by = c.contest(d, t, d.Metrics[0])
	c.cost = c.contest(d, t, d.against())
	for _, metric := range d.harms() {
		harm := c.contest(d, t, metric)
		harm.of = d.ofHarm()
		c.harms = append(c.harms, harm)
	}
	switch {
	case len(c.values) == 0:
		c.kind = unsound
	case len(c.points) == 1:
		c.kind = single
	case c.by.seeds() == 0:
		c.kind = unseen
	case len(c.values) == 1:
		c.kind = alone
	case c.by.few():
		c.kind, c.take = unsure, c.by.best()
	case c.identical(t, d.Metrics[0]):
		c.kind, c.take = identical, c.cost.unbeaten()
	case c.by.close(d.Precision):
		c.kind, c.take = alike, c.cost.unbeaten()
	case c.by.flat():
		c.kind, c.take = flat, c.by.best()
	default:
		c.kind, c.take = told, c.by.unbeaten()
	}
}

// against is the metric that the deciding one is weighed against.
func (d *Definition) against() string {
	if d.Pareto.X == d.Metrics[0] {
		return d.Pareto.Y
	}
	return d.Pareto.X
}

// harms lists the measures of harm other than the deciding metric.
func (d *Definition) harms() (names []string) {
	for _, m := range campaign.Metrics() {
		if m.Harm && m.Name != d.Metrics[0] {
			names = append(names, m.Name)
		}
	}
	return names
}

// contest compares the knob's sound values by their means over all conditions.
func (c *decision) contest(d *Definition, t *table, metric string) *contest {
	var pooled [][]float64
	for _, v := range c.values {
		pooled = append(pooled, c.pooled(t, metric, v))
	}
	return newContest(metric, pooled, d.ofRow())
}

func (c *decision) pooled(t *table, metric string, v int) []float64 {
	var series [][]float64
	for _, i := range c.points[v] {
		series = append(series, t.series(0, i, metric))
	}
	return meanOf(series)
}

// identical says whether the metric is the same at all values in every run, whatever the conditions.
func (c *decision) identical(t *table, metric string) bool {
	for k := range c.points[c.values[0]] {
		var series [][]float64
		for _, v := range c.values {
			series = append(series, t.series(0, c.points[v][k], metric))
		}
		if !newContest(metric, series, 1).equal() {
			return false
		}
	}
	return true
}

// taken says whether the decision has a value to take. It has none if there is no difference, or the seeds
// are too few.
func (c *decision) taken() bool {
	if c.kind == identical || c.kind == alike {
		return !c.cost.flat()
	}
	return c.kind == alone || c.kind == told
}

// compared says whether the values could have been told apart.
func (c *decision) compared() bool { return c.kind > unsure }

// value is the index of the chosen value in the knob's axis.
func (c *decision) value() int { return c.values[c.take] }
