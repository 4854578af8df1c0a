package samples

import (
	"math"
	"strings"
)

// Increases are what the counters of a name grew by between each scrape and the one before, of all instances together,
// by the values of labels, joined by a space. What a process had counted before its first scrape counts for that.
func (r *Recording) Increases(name string, by ...string) map[string][]float64 {
	sums := map[string][]float64{}
	r.each(name, by, func(group string, s *Series) {
		if sums[group] == nil {
			sums[group] = make([]float64, r.Scrapes)
		}
		last := 0.0
		for i, x := range s.Values {
			switch {
			case math.IsNaN(x):
				last = 0
				continue
			case x >= last:
				sums[group][i] += x - last
			default:
				sums[group][i] += x
			}
			last = x
		}
	})
	return sums
}

// Highest are the highest values of a gauge of any instance, by the values of labels; NaN is none.
func (r *Recording) Highest(name string, by ...string) map[string][]float64 {
	highest := map[string][]float64{}
	r.each(name, by, func(group string, s *Series) {
		if highest[group] == nil {
			highest[group] = Values(nil).until(r.Scrapes)
		}
		for i, x := range s.Values {
			if h := highest[group][i]; math.IsNaN(h) || x > h {
				highest[group][i] = x
			}
		}
	})
	return highest
}

// each visits the series of a name with their group.
func (r *Recording) each(name string, by []string, visit func(group string, s *Series)) {
	for i := range r.Series {
		s := &r.Series[i]
		if s.Name != name {
			continue
		}
		var group []string
		for _, label := range by {
			if v := s.Labels[label]; v != "" {
				group = append(group, v)
			}
		}
		visit(strings.Join(group, " "), s)
	}
}
