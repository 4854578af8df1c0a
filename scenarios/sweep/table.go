package sweep

import (
	"fmt"
	"math"
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// table holds a grid's records by plan, point and seed.
type table struct {
	grid  *campaign.Grid
	cells []*campaign.Record
	asked int // cells that every sweep has; later cells were added where the answer was open
}

// newTable sorts records in. An unfinished campaign leaves cells empty.
func newTable(spec campaign.Spec, records []*campaign.Record) (*table, error) {
	g := spec.Grid
	t := &table{grid: g, cells: make([]*campaign.Record, len(g.Plans)*len(g.Points)*g.Seeds)}
	t.asked = len(t.cells)
	for _, r := range records {
		if r.N < 0 || r.N >= len(t.cells) {
			return nil, fmt.Errorf("%s: a record is of run %d, and the grid has %d runs: the records are of another sweep", spec.Name, r.N, len(t.cells))
		}
		t.cells[r.N] = r
	}
	return t, nil
}

// each calls visit for every record of a plan at a point, by seed.
func (t *table) each(plan, point int, visit func(seed int, r *campaign.Record)) {
	for seed := range t.grid.Seeds {
		if r := t.cells[(seed*len(t.grid.Plans)+plan)*len(t.grid.Points)+point]; r != nil {
			visit(seed, r)
		}
	}
}

// series lists a metric by seed; NaN if there is no record.
func (t *table) series(plan, point int, metric string) []float64 {
	values := make([]float64, t.grid.Seeds)
	for i := range values {
		values[i] = math.NaN()
	}
	t.each(plan, point, func(seed int, r *campaign.Record) {
		if v, ok := r.Measures[metric]; ok && r.Contained == nil {
			values[seed] = v
		}
	})
	return values
}

// complete says whether there is a record of every run.
func (t *table) complete() bool { return !slices.Contains(t.cells[:t.asked], nil) }

// missing counts the runs without a record.
func (t *table) missing() (n int) {
	for _, r := range t.cells[:t.asked] {
		if r == nil {
			n++
		}
	}
	return n
}

// added counts the runs with seeds beyond those of every sweep.
func (t *table) added() (n int) {
	for _, r := range t.cells[t.asked:] {
		if r != nil {
			n++
		}
	}
	return n
}

// tally is what happened at one point, besides its measures.
type tally struct {
	runs    int
	broken  map[string]int // in runs; a run that took its process down counts under its containment
	outside map[string]int
}

// tally adds a point's runs of one plan to sum.
func (t *table) tally(plan, point int, sum *tally) {
	t.each(plan, point, func(_ int, r *campaign.Record) {
		sum.runs++
		for _, b := range r.Broken {
			sum.broken = count(sum.broken, b.Invariant)
		}
		if r.Contained != nil {
			sum.broken = count(sum.broken, string(r.Contained.What))
		}
		for _, o := range r.Outside {
			sum.outside = count(sum.outside, o.Invariant)
		}
	})
}

func count(m map[string]int, name string) map[string]int {
	if m == nil {
		m = map[string]int{}
	}
	m[name]++
	return m
}

// inconclusive counts the inconclusive runs, and gives the reason of the first.
func (t *table) inconclusive() (n int, reason string) {
	for _, r := range t.cells {
		if r == nil || r.Verdict != scenarios.Inconclusive {
			continue
		}
		if n++; n == 1 {
			reason = r.Reason
		}
	}
	return n, reason
}

// ordered lists all metrics, with those in first at the front.
func ordered(first []string) []campaign.Metric {
	var list []campaign.Metric
	for _, name := range first {
		if slices.Contains(metricNames(), name) {
			list = append(list, metricOf(name))
		}
	}
	for _, m := range campaign.Metrics() {
		if !slices.Contains(first, m.Name) {
			list = append(list, m)
		}
	}
	return list
}
