package sweep

import (
	"slices"
	"strings"
)

// effect is the largest effect of a condition on the deciding metric.
type effect struct {
	at, than string
	gap      Estimate // the difference of than from at; above zero
}

// effect is the effect of the j-th axis. It is a mean over the combinations of all other axes at which every
// promise was kept for all its values. It is nil if there is no effect beyond noise.
func (a *answering) effect(j int) *effect {
	axis := a.d.Axes[j]
	groups := map[string][]int{} // points that differ only in the axis, in the order of its values
	var keys []string
	for i, p := range a.points {
		rest := slices.Clone(p.Values)
		rest[j] = ""
		key := strings.Join(rest, "\x00")
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], i)
	}
	series := make([][][]float64, len(axis.Values))
	for _, key := range keys {
		if slices.ContainsFunc(groups[key], func(i int) bool { return !a.points[i].Sound() }) {
			continue
		}
		for v, i := range groups[key] {
			series[v] = append(series[v], a.t.series(0, i, a.metric))
		}
	}
	if len(series[0]) == 0 {
		return nil
	}
	var pooled [][]float64
	for _, s := range series {
		pooled = append(pooled, meanOf(s))
	}
	c := newContest(a.metric, pooled, a.d.ofCondition(axis))
	low, high := c.widest()
	if low < 0 {
		return nil
	}
	return &effect{axis.Values[low], axis.Values[high], c.interval(high, low)}
}
