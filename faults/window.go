package faults

import (
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Begun says whether every fault with a fixed time has struck, or has had its chance to.
func (in *Injector) Begun(now time.Duration) bool {
	for _, a := range in.armed {
		if a.On == nil && a.After == nil && a.hits == 0 && now <= a.At {
			return false
		}
	}
	return true
}

// Last returns the instant at which a fault last struck or ended.
func (in *Injector) Last() (last time.Duration) {
	for _, f := range in.fired {
		last = max(last, f.At, f.Until)
	}
	return last
}

// Quiet says whether nothing is left that has still to end by itself: no outage, pause, partition or late
// operation.
func (in *Injector) Quiet() bool { return in.under == 0 }

// Heal ends the fault window: it stops faults by rate, and ends partitions and outages that have no end of
// their own. A node that goes down later restarts after a second.
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
		if i := in.down[node]; in.fired[i].Fault.RestartIn == 0 {
			in.restart(w, node, i, 0)
		}
	}
}
