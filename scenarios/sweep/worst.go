package sweep

import (
	"fmt"
	"math"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// worst returns the run of a point that is worth a look.
func (d *Definition) worst(t *table, point int) (w *Worst) {
	most := math.Inf(-1)
	t.each(0, point, func(seed int, r *campaign.Record) {
		v, ok := r.Measures[d.Metrics[0]]
		says := naming(d.Metrics[0]) + " " + amount(v, d.Metrics[0])
		switch {
		case len(r.Broken) > 0 && !math.IsInf(most, 1):
			v, says = math.Inf(1), r.Broken[0].Invariant+" is broken"
		case !ok || v <= most || r.Contained != nil:
			return
		}
		at := d.FirstSeed + uint64(seed)
		most, w = v, &Worst{Seed: at, Says: fmt.Sprintf("the worst run, seed %d: %s", at, says), File: fmt.Sprintf("%s/point-%d-seed-%d", ExamplesDir, point+1, at)}
	})
	return w
}

// PlanOf returns the plan of one run of a point, by the point's index in the grid, in YAML.
func (d *Definition) PlanOf(point int, seed uint64) (string, error) {
	p, err := d.plan()
	if err != nil {
		return "", err
	}
	for _, set := range d.sets(d.points()[point]) {
		if err := p.Vary(set); err != nil {
			return "", err
		}
	}
	p.Seed = seed
	text, err := plans.Marshal(p)
	return string(text), err
}
