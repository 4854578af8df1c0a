package faults

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Fired is one strike of a fault.
type Fired struct {
	Fault      Fault
	Number     int // the fault's index among the injector's
	Step       int
	At         time.Duration
	Until      time.Duration // when a fault that lasts ended; 0 while it lasts
	GivenUp    time.Duration // hang: the caller's deadline
	Node       string
	Job        string
	Phase      string
	Occurrence int
}

func (in *Injector) note(w *sim.World, a *armed, node string, f Fired) int {
	f.Fault, f.Number, f.Step, f.At, f.Node = a.Fault, slices.Index(in.armed, a), w.Steps(), w.Now(), node
	in.fired = append(in.fired, f)
	return len(in.fired) - 1
}

// lasts ends the effect of a fault once d has passed. It returns a function that ends it at once.
func (in *Injector) lasts(w *sim.World, i int, d time.Duration, verb, target string, end func()) (now func()) {
	in.under++
	over := func() {
		in.under--
		in.fired[i].Until = cmp.Or(in.fired[i].Until, w.Now())
		end()
	}
	cancel := w.At(w.Now()+d, verb, target, over)
	return func() {
		cancel()
		w.Control(verb, target, over)
	}
}

// Freed says whether the end of the i-th strike freed the node: no other strike holds it in the same way any
// more. If several end at one instant, the last of them freed it.
func (in *Injector) Freed(i int) bool {
	f := in.fired[i]
	for k, o := range in.fired {
		if k == i || o.Fault.Do != f.Fault.Do || o.Node != f.Node || o.Fault.From != f.Fault.From || o.At > f.Until {
			continue
		}
		if o.Until > f.Until || o.Until == f.Until && k > i || o.Until == 0 && !o.Fault.Do.OfServer() {
			return false
		}
	}
	return true
}

// Fired lists the strikes in order.
func (in *Injector) Fired() []Fired { return in.fired }

// Unfired is a fault that did not take effect as it should have.
type Unfired struct {
	Fault
	How string // how often it took effect and, as far as that is known, why not more often
	Met bool   // some operation of its phase was made and did not fail by itself, whatever its node and job
}

func (u Unfired) String() string { return u.Fault.String() + ": " + u.How }

// Unfired lists the faults that took no effect, took effect less often than they should have, or only in
// part: a late operation that has not arrived has had no effect. Faults that strike by rate cannot miss.
func (in *Injector) Unfired() (list []Unfired) {
	for _, a := range in.armed {
		due := max(1, a.Times)
		met := a.met && a.hits+a.spared < due
		switch {
		case a.Rate > 0 || a.hits >= due:
		case a.hits == 0:
			list = append(list, Unfired{a.Fault, "never" + a.because(), met})
		default:
			list = append(list, Unfired{a.Fault, fmt.Sprintf("only %d of %d times", a.hits, due) + a.because(), met})
		}
		switch {
		case a.away == 0:
		case a.hits == 1:
			list = append(list, Unfired{a.Fault, "it had not arrived when the run ended", true})
		default:
			list = append(list, Unfired{a.Fault, fmt.Sprintf("%d of %d had not arrived when the run ended", a.away, a.hits), true})
		}
	}
	return list
}

// missed notes why a has no effect now.
func (a *armed) missed(why string) { a.miss, a.early = why, nil }

// missedNode notes that a strikes no process, since none runs on the node.
func (a *armed) missedNode(w *sim.World, node string) {
	a.missed(node + " was down")
	began := func() (at time.Duration, ever bool) {
		if n := w.Find(node); n != nil {
			return n.Began()
		}
		return 0, false
	}
	if _, ever := began(); !ever {
		a.miss, a.early = node+" had not started yet", began
	}
}

// because says why the fault took no effect, or not as often as it should have.
func (a *armed) because() string {
	most, of := 0, ""
	for _, n := range a.seen {
		most = max(most, n)
	}
	if len(a.seen) > 1 {
		of = " for any job"
	}
	switch timed := a.On == nil && a.After == nil; {
	case a.early != nil:
		if began, ever := a.early(); ever {
			return fmt.Sprintf(", as %s; it did at %v", a.miss, began.Round(time.Millisecond))
		}
		return ", as " + a.miss
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
