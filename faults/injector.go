package faults

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-sim/faultline/sim"
)

// Injector makes a plan's faults happen in one world. Its Intercept goes into the world's Config;
// Attach schedules what happens at a time.
type Injector struct {
	jobID func(n int) string // names the workload's n-th job
	links map[string]string  // the phase in which a node sends what a partition can cut, by the link's name

	armed  []*armed
	fired  []Fired
	cut    map[string][]int   // nodes of which something is lost, and the faults behind it, by index into fired
	down   map[string]*outage // nodes that a fault took down
	healed bool
}

// armed is a fault that waits for its moment.
type armed struct {
	Fault
	seen map[string]int // matching operations so far, by job
	hits int
}

// outage is a node's time without a process.
type outage struct {
	ends  bool // at an instant that is known
	fired int  // index
}

// Fired is one fault at the moment it took effect.
type Fired struct {
	Fault      Fault
	Step       int
	At         time.Duration
	Until      time.Duration // faults that last: when they ended; 0 while they do
	Node       string
	Job        string
	Phase      string
	Occurrence int
}

// NewInjector arms faults. They must be valid.
func NewInjector(list []Fault, jobID func(int) string, links map[string]string) *Injector {
	in := &Injector{jobID: jobID, links: links, cut: map[string][]int{}, down: map[string]*outage{}}
	for _, f := range list {
		in.armed = append(in.armed, &armed{Fault: f, seen: map[string]int{}})
	}
	return in
}

// Attach schedules the faults that happen at a time.
func (in *Injector) Attach(w *sim.World) {
	for _, a := range in.armed {
		if a.On != nil || a.After != nil {
			continue
		}
		switch a.Do {
		case Crash:
			w.At(a.At, string(Crash), a.Node, func() { in.crash(w, a, a.Node, Fired{}) })
		case Partition:
			w.At(a.At, string(Partition), a.Node, func() { in.partition(w, a) })
		}
	}
}

// Intercept is the world's: it gives each operation the effect that the plan wants it to have.
func (in *Injector) Intercept(ctx context.Context, op *sim.Op, apply func() error) error {
	var struck *armed
	var moment Fired
	for _, a := range in.armed { // one fault an operation, but each counts them all
		if n, hit := in.match(a, op); hit && struck == nil {
			struck, moment = a, Fired{Job: op.Job, Phase: op.Phase, Occurrence: n}
		}
	}
	switch {
	case in.isCut(op):
		op.Fault(string(Partition))
		return nil
	case struck == nil:
		return apply()
	case struck.Do == Crash:
		err := apply()
		node := struck.Node
		if node == Actor {
			node = op.Node()
		}
		if in.crash(op.World(), struck, node, moment) {
			op.World().Control(string(Crash), node, func() {})
		}
		return err
	}
	struck.hits++
	in.note(op.World(), struck, op.Node(), moment)
	op.Fault(string(struck.Do))
	return strike(ctx, struck.Do, op, apply)
}

// match says whether a strikes op, and which of the matching operations op is.
func (in *Injector) match(a *armed, op *sim.Op) (occurrence int, hit bool) {
	m := a.On
	if m == nil {
		m = a.After
	}
	if m == nil || m.Phase != op.Phase || op.Write == Reads(m.Phase) ||
		m.Node != "" && m.Node != op.Node() || m.Job != 0 && in.jobID(m.Job) != op.Job {
		return 0, false
	}
	a.seen[op.Job]++
	n := a.seen[op.Job]
	if a.Rate > 0 {
		if in.healed {
			return n, false
		}
		chance := op.World().Draw("fault", string(a.Do), m.Phase, m.Node, op.Job, op.Node(), strconv.Itoa(n))
		return n, float64(chance>>11)/(1<<53) < a.Rate
	}
	first := max(1, m.Occurrence)
	return n, n >= first && n < first+max(1, a.Times)
}

// Reads says whether faults on a phase strike what reads in it, rather than what writes: a
// `_write` phase may read before it writes, and the fault is the write's.
func Reads(phase string) bool {
	return strings.HasSuffix(phase, "_read") || strings.HasSuffix(phase, "_deliver")
}

func (in *Injector) note(w *sim.World, a *armed, node string, f Fired) int {
	f.Fault, f.Step, f.At, f.Node = a.Fault, w.Steps(), w.Now(), node
	in.fired = append(in.fired, f)
	return len(in.fired) - 1
}

func (in *Injector) crash(w *sim.World, a *armed, node string, f Fired) (crashed bool) {
	n := w.Find(node)
	if n == nil || !n.Up() {
		return false
	}
	a.hits++
	o := &outage{fired: in.note(w, a, node, f)}
	in.down[node] = o
	n.Crash()
	switch {
	case a.RestartIn > 0:
		in.restart(w, node, o, w.Now()+a.RestartIn)
	case in.healed: // too late for the heal that would have started it
		in.restart(w, node, o, w.Now()+time.Second)
	}
	return true
}

func (in *Injector) restart(w *sim.World, node string, o *outage, at time.Duration) {
	o.ends = true
	w.At(at, "restart", node, func() {
		delete(in.down, node)
		in.fired[o.fired].Until = w.Now()
		w.Find(node).Start()
	})
}

func (in *Injector) partition(w *sim.World, a *armed) {
	a.hits++
	i := in.note(w, a, a.Node, Fired{Phase: in.links[a.From]})
	in.cut[a.Node] = append(in.cut[a.Node], i)
	if a.For > 0 {
		w.At(w.Now()+a.For, "heal", a.Node, func() { in.mend(w, a.Node, i) })
	}
}

// isCut says whether op is lost to a partition.
func (in *Injector) isCut(op *sim.Op) bool {
	return slices.ContainsFunc(in.cut[op.Node()], func(i int) bool { return op.Phase == in.links[in.fired[i].Fault.From] })
}

// mend ends one partition; another may still cut the node off.
func (in *Injector) mend(w *sim.World, node string, i int) {
	in.fired[i].Until = w.Now()
	in.cut[node] = slices.DeleteFunc(in.cut[node], func(k int) bool { return k == i })
	if len(in.cut[node]) == 0 {
		delete(in.cut, node)
	}
}
