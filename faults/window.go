package faults

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Fired lists what took effect, in order.
func (in *Injector) Fired() []Fired { return in.fired }

// Unfired is a fault that did not take effect as it should have.
type Unfired struct {
	Fault
	How string // how often it did, and why not more often, as far as that is known
}

func (u Unfired) String() string { return u.Fault.String() + ": " + u.How }

// Unfired says which faults did not take effect, or not as often as they should have, or only in part:
// an operation that is late and has not arrived yet has had no effect. Those that strike by rate cannot miss.
func (in *Injector) Unfired() (list []Unfired) {
	for _, a := range in.armed {
		due := max(1, a.Times)
		switch {
		case a.Rate > 0 || a.hits >= due:
		case a.hits == 0:
			list = append(list, Unfired{a.Fault, "never" + a.because()})
		default:
			list = append(list, Unfired{a.Fault, fmt.Sprintf("only %d of %d times", a.hits, due) + a.because()})
		}
		switch {
		case a.away == 0:
		case a.hits == 1:
			list = append(list, Unfired{a.Fault, "it had not arrived when the run ended"})
		default:
			list = append(list, Unfired{a.Fault, fmt.Sprintf("%d of %d had not arrived when the run ended", a.away, a.hits)})
		}
	}
	return list
}

// because says why the fault had no effect, or not as often as it should have.
func (a *armed) because() string {
	most, of := 0, ""
	for _, n := range a.seen {
		most = max(most, n)
	}
	if len(a.seen) > 1 {
		of = " for any job"
	}
	switch timed := a.On == nil && a.After == nil; {
	case a.miss != "":
		return ", as " + a.miss
	case timed || a.hits > 0:
		return ""
	case most == 0:
		return ", as no such operation was made"
	case most == 1:
		return ", as such an operation was made only once" + of
	}
	return fmt.Sprintf(", as such an operation was made only %d times%s", most, of)
}

// Begun says whether every fault of a fixed time has struck, or had its chance to.
func (in *Injector) Begun(now time.Duration) bool {
	for _, a := range in.armed {
		if a.On == nil && a.After == nil && a.hits == 0 && now <= a.At {
			return false
		}
	}
	return true
}

// Last is the instant at which a fault last struck or ended.
func (in *Injector) Last() (last time.Duration) {
	for _, f := range in.fired {
		last = max(last, f.At, f.Until)
	}
	return last
}

// Quiet says whether nothing is under way that is still to end by itself: no outage, pause or partition,
// and no operation that is late.
func (in *Injector) Quiet() bool {
	if in.under > 0 {
		return false
	}
	for _, o := range in.down {
		if o.ends {
			return false
		}
	}
	for _, cuts := range in.cut {
		for _, i := range cuts {
			if in.fired[i].Fault.For > 0 {
				return false
			}
		}
	}
	return true
}

// Heal ends the fault window: faults by rate stop, and so do partitions and outages that have no
// end of their own. A node that goes down later starts again after a second.
func (in *Injector) Heal(w *sim.World) {
	in.healed = true
	for _, node := range slices.Sorted(maps.Keys(in.cut)) {
		for _, i := range in.cut[node] {
			if in.fired[i].Fault.For == 0 {
				w.Control(in.verb("heal", in.fired[i].Fault.From), node, func() { in.mend(w, node, i) })
			}
		}
	}
	for _, node := range slices.Sorted(maps.Keys(in.wrong)) {
		if in.fired[in.wrong[node]].Fault.For == 0 {
			w.Control("set clock", node, func() { in.right(w, node) })
		}
	}
	for _, node := range slices.Sorted(maps.Keys(in.down)) {
		if o := in.down[node]; !o.ends {
			in.restart(w, node, o, w.Now())
		}
	}
}
