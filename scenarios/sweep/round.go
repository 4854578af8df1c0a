package sweep

import (
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Round is runs that are added to a sweep: points of rows that are still open, with the next seeds.
type Round struct {
	Points []int // indices of the points in the grid
	From   int   // how many seeds they have already
	Seeds  int   // how many are added
	size   int   // number of points in the grid
}

// Runs is how many runs are added.
func (r *Round) Runs() int { return len(r.Points) * r.Seeds }

// Next returns the next round, or nil if every row is closed or the budget leaves too little. It doubles the
// seeds of each open row, within the left runs. res is the result of the runs so far.
func (d *Definition) Next(res *Result, round, left int) *Round {
	if d.Precision == 0 || round >= roundsMax {
		return nil
	}
	r := &Round{size: len(res.Points)}
	for i := range res.Points {
		row := slices.IndexFunc(res.Answer.Rows, func(a Advice) bool { return slices.Equal(a.Under, res.Points[i].Values[1:]) })
		if row >= 0 && res.Answer.Rows[row].Open && res.Points[i].Sound() {
			r.Points = append(r.Points, i)
			r.From = max(r.From, res.Points[i].Runs)
		}
	}
	if len(r.Points) == 0 {
		return nil
	}
	r.Seeds = min(r.From, left/len(r.Points), seedsMax-r.From)
	if r.Seeds < 1 || 4*r.Seeds < r.From { // too few to tell more
		return nil
	}
	return r
}

// SpecOf is the campaign of a round.
func (d *Definition) SpecOf(r *Round) campaign.Spec {
	spec := d.Spec()
	all := spec.Grid.Points
	spec.Grid.Points, spec.Grid.Seeds, spec.Seed = nil, r.Seeds, spec.Seed+uint64(r.From)
	for _, i := range r.Points {
		spec.Grid.Points = append(spec.Grid.Points, all[i])
	}
	return spec
}

// Place renumbers a record of the round to its number in the sweep, for [Analyse].
func (r *Round) Place(record *campaign.Record) {
	seed, point := record.N/len(r.Points), record.N%len(r.Points)
	record.N = (r.From+seed)*r.size + r.Points[point]
}
