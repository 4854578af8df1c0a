package search

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// perturbed is the name of a perturbation of a plan.
func perturbed(name string) string {
	const suffix = "-perturbed"
	return strings.TrimRight(name[:min(len(name), plans.NameLengthMax-len(suffix))], "-") + suffix
}

// perturb changes a plan a little: its timing, its size, and a few settings and faults. The seed is new, so
// the order of steps always changes.
func (d *drawer) perturb() {
	if d.oneIn(2, "resize") {
		d.resize(from(d, "size", "workload.jobs", "topology.workers", "topology.schedulers"))
	}
	for range d.upTo(2, "shape") {
		d.turn(from(d, "dial", plans.Shape...))
	}
	d.turnSome(2)
	for range d.upTo(2, "faults") {
		d.refault()
	}
}

// resize changes a number of the plan by one or two. It removes nothing that a fault names.
func (d *drawer) resize(name string) {
	s, _ := d.p.Setting(name)
	d.set(name, strconv.FormatInt(max(1, s.Value.Int()+int64(from(d, "by", -1, 1, -2, 2))), 10))
}

// refault drops, changes or adds a fault.
func (d *drawer) refault() {
	n := len(d.p.Faults)
	what := from(d, "change", "alter", "drop", "add")
	if n == 0 || what == "add" {
		d.strike(from(d, "effect", usual()...))
		return
	}
	i := d.upTo(n-1, "which")
	before := d.p.Faults
	if d.p.Faults = slices.Delete(slices.Clone(before), i, i+1); what == "drop" {
		return
	}
	n = len(d.p.Faults)
	if d.add(d.altered(before[i])); len(d.p.Faults) == n {
		d.p.Faults = before
	}
}

// altered returns f with one of its parts drawn again.
func (d *drawer) altered(f faults.Fault) faults.Fault {
	if f.At != 0 {
		f.At = max(time.Millisecond, f.At+time.Duration(from(d, "later by", -1, 1, -10, 10))*from(d, "scale", time.Second, 100*time.Millisecond, time.Millisecond))
		return f
	}
	place := &f.On
	if f.On == nil {
		place = &f.After
	}
	m := **place
	*place = &m
	ph := phaseCalled(m.Phase)
	switch from(d, "part", "occurrence", "effect", "phase", "job") {
	case "occurrence":
		if f.Rate == 0 {
			m.Occurrence = max(1, m.Occurrence+from(d, "later by", 1, -1, 2))
		}
	case "effect":
		if f.On != nil {
			f.Do = from(d, "effect", effectsAt(ph.Place)...)
		}
	case "phase":
		m.Phase = d.phase(func(p faults.Phase) bool { return p.Place == ph.Place }).Name
	case "job":
		if !ph.NoJob {
			m.Job = 1 + d.upTo(d.p.Workload.Jobs-1, "job")
		}
	}
	return f
}

func phaseCalled(name string) faults.Phase {
	all := plans.Phases()
	return all[slices.IndexFunc(all, func(ph faults.Phase) bool { return ph.Name == name })]
}

// effectsAt lists the effects that can strike operations at a place.
func effectsAt(place faults.Place) []faults.Effect {
	var list []faults.Effect
	for _, k := range faults.Kinds() {
		if slices.Contains(k.Places, place) {
			list = append(list, k.Effect)
		}
	}
	return list
}
