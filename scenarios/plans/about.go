package plans

import (
	"slices"

	"github.com/wavetank-sim/wavetank/faults"
)

// Concerned lists the jobs that the plan is about: those that it names, or else those that its faults name.
// It may be empty.
func (p *Plan) Concerned() []int {
	numbers := slices.Clone(p.About)
	if len(numbers) > 0 {
		return numbers
	}
	for _, f := range p.Faults {
		for _, m := range []*faults.Match{f.On, f.After} {
			if m != nil && m.Job > 0 && !slices.Contains(numbers, m.Job) {
				numbers = append(numbers, m.Job)
			}
		}
	}
	return numbers
}
