package search

import (
	"math/bits"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// drawer draws one plan. Its changes keep the plan valid, and keep what the space fixes.
type drawer struct {
	t     *rapid.T
	p     *plans.Plan
	fixed map[string]bool // settings, by their names
}

// from draws one of the values, the simplest first: if there are many, rapid favours the first by far.
func from[V any](d *drawer, label string, values ...V) V {
	return rapid.SampledFrom(values).Draw(d.t, label)
}

// evenly draws one of many values, all with equal probability.
func evenly[V any](d *drawer, label string, values ...V) V {
	const precision = 4 // bits more than necessary: two probabilities differ by at most one in sixteen
	n := bits.Len(uint(len(values))) + precision
	return values[d.bits(n, label)*len(values)>>n]
}

// bits draws a number of n bits, evenly. Rapid itself prefers small numbers.
func (d *drawer) bits(n int, label string) (number int) {
	for range n {
		number *= 2
		if rapid.Bool().Draw(d.t, label) {
			number++
		}
	}
	return number
}

// upTo draws a number from 0 to n, the low ones a little more often.
func (d *drawer) upTo(n int, label string) int { return rapid.IntRange(0, n).Draw(d.t, label) }

// oneIn returns true about once in n times.
func (d *drawer) oneIn(n int, label string) bool { return d.upTo(n-1, label) == n-1 }

func (d *drawer) job(label string) int { return 1 + d.upTo(d.p.Workload.Jobs-1, label) }

// judges says whether the plan is judged by invariants whatever their promises. Rare kinds of fault would break those, which
// would show nothing.
func (d *drawer) judges() bool { return len(d.p.Expect.Violates) > 0 }

func nth(job int) string { return strconv.Itoa(job) }

// set changes a setting, unless the space fixes it or the plan would become invalid.
func (d *drawer) set(name, value string) {
	if d.fixed[name] || name == "then.heal" && value == "false" && d.p.HealsFaults() {
		return
	}
	before := *d.p.Clone()
	if d.p.Set(name+"="+value) != nil || !d.p.Fits() {
		*d.p = before
	}
}

func (d *drawer) turn(k plans.Knob) {
	d.set(k.Name, from(d, k.Name, k.Values()...))
}

// add appends a fault, unless an earlier fault strikes the same operation.
func (d *drawer) add(f faults.Fault) {
	if f.Validate(d.p.FaultWorld()) != nil {
		return
	}
	d.p.Faults = append(d.p.Faults, f)
	if plans.CheckStrikes(d.p) != nil {
		d.p.Faults = d.p.Faults[:len(d.p.Faults)-1]
	}
}

// fail makes an operation of the job fail without being applied.
func (d *drawer) fail(job int, phase string) {
	d.add(faults.Fault{On: &faults.Match{Job: job, Phase: phase}, Do: from(d, "fails by", faults.FailBefore, faults.Hang)})
}

// instant draws when something happens: while the first jobs are under way, or later.
func (d *drawer) instant() time.Duration {
	scale := from(d, "scale", time.Second, 100*time.Millisecond, time.Millisecond)
	return 2*plans.Boot + time.Duration(1+d.upTo(59, "at"))*scale
}
