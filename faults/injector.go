package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/faultline-sim/faultline/sim"
)

// Injector makes a plan's faults happen in one world. Its Intercept goes into the world's Config;
// Attach schedules what happens at a time.
type Injector struct {
	jobID func(n int) string // names the workload's n-th job
	links map[string]string  // the phase in which a node sends what a partition can cut, by the link's name

	armed  []*armed
	fired  []Fired
	cut    map[string]int // nodes whose heartbeats are lost, by index into fired
	down   map[string]bool
	healed bool
}

// armed is a fault that waits for its moment.
type armed struct {
	Fault
	seen map[string]int // matching operations so far, by job
	hits int
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
	in := &Injector{jobID: jobID, links: links, cut: map[string]int{}, down: map[string]bool{}}
	for _, f := range list {
		in.armed = append(in.armed, &armed{Fault: f, seen: map[string]int{}})
	}
	return in
}

// Fired lists what took effect, in order.
func (in *Injector) Fired() []Fired { return in.fired }

// Unfired lists the faults that never took effect, those that strike by rate excepted.
func (in *Injector) Unfired() (list []Fault) {
	for _, a := range in.armed {
		if a.Rate == 0 && a.hits < max(1, a.Times) {
			list = append(list, a.Fault)
		}
	}
	return list
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

// Window is the instant from which on no fault of a fixed time begins or ends any more.
func (in *Injector) Window() (end time.Duration) {
	for _, a := range in.armed {
		if a.On == nil && a.After == nil {
			end = max(end, a.At+max(a.For, a.RestartIn))
		}
	}
	return end
}

// Heal ends the fault window: faults by rate and without an end of their own stop, and nodes that
// are down start again.
func (in *Injector) Heal(w *sim.World) {
	in.healed = true
	for _, node := range sorted(in.cut) {
		w.Control("heal", node, func() { in.mend(w, node) })
	}
	for _, node := range sorted(in.down) {
		in.restart(w, node, w.Now())
	}
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Intercept is the world's: it gives each operation the effect that the plan wants it to have.
func (in *Injector) Intercept(ctx context.Context, op *sim.Op, apply func() error) error {
	if i, cut := in.cut[op.Node()]; cut && op.Phase == in.links[in.fired[i].Fault.From] {
		op.Fault(string(Partition))
		return nil
	}
	for _, a := range in.armed {
		n, hit := in.match(a, op)
		if !hit {
			continue
		}
		a.hits++
		moment := Fired{Job: op.Job, Phase: op.Phase, Occurrence: n}
		if a.Do == Crash {
			err := apply()
			node := a.Node
			if node == Actor {
				node = op.Node()
			}
			in.crash(op.World(), a, node, moment)
			op.World().Control(string(Crash), node, func() {})
			return err
		}
		in.note(op.World(), a, op.Node(), moment)
		op.Fault(string(a.Do))
		return strike(ctx, a.Do, op, apply)
	}
	return apply()
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

func strike(ctx context.Context, do Effect, op *sim.Op, apply func() error) error {
	switch do {
	case FailBefore:
		return injected(op, true)
	case FailAfter:
		if err := apply(); err != nil {
			return err
		}
		return injected(op, false)
	case Hang:
		<-ctx.Done()
		return op.Return(ctx.Err())
	case Lose:
		return nil
	}
	return fmt.Errorf("faults: %q is no effect on an operation", do)
}

// errInjected marks the errors that faults make. Their text is what the client library's would be.
var errInjected = errors.New("injected")

type injectedError struct{ error }

func (injectedError) Is(target error) bool { return target == errInjected }

func (e injectedError) Unwrap() error { return e.error }

// Injected says whether err was made by a fault.
func Injected(err error) bool { return errors.Is(err, errInjected) }

// injected is what the client library returns when a connection cannot be made (before) or is lost
// while the answer is awaited (after).
func injected(op *sim.Op, before bool) error {
	switch {
	case op.Kind == sim.KindRedis && before:
		return injectedError{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
	case op.Kind == sim.KindRedis:
		return injectedError{&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}
	case before:
		return injectedError{nats.ErrConnectionClosed}
	}
	return injectedError{nats.ErrTimeout}
}

func (in *Injector) note(w *sim.World, a *armed, node string, f Fired) int {
	f.Fault, f.Step, f.At, f.Node = a.Fault, w.Steps(), w.Now(), node
	in.fired = append(in.fired, f)
	return len(in.fired) - 1
}

func (in *Injector) crash(w *sim.World, a *armed, node string, f Fired) {
	n := w.Find(node)
	if f == (Fired{}) {
		a.hits++
	}
	if n == nil || !n.Up() {
		return
	}
	in.note(w, a, node, f)
	n.Crash()
	in.down[node] = true
	if a.RestartIn > 0 {
		in.restart(w, node, w.Now()+a.RestartIn)
	}
}

func (in *Injector) restart(w *sim.World, node string, at time.Duration) {
	w.At(at, "restart", node, func() {
		if n := w.Find(node); !n.Up() {
			delete(in.down, node)
			for i := range in.fired {
				if f := &in.fired[i]; f.Node == node && f.Fault.Do == Crash && f.Until == 0 {
					f.Until = w.Now()
				}
			}
			n.Start()
		}
	})
}

func (in *Injector) partition(w *sim.World, a *armed) {
	a.hits++
	in.cut[a.Node] = in.note(w, a, a.Node, Fired{Phase: in.links[a.From]})
	if a.For > 0 {
		w.At(w.Now()+a.For, "heal", a.Node, func() { in.mend(w, a.Node) })
	}
}

func (in *Injector) mend(w *sim.World, node string) {
	if i, cut := in.cut[node]; cut {
		in.fired[i].Until = w.Now()
		delete(in.cut, node)
	}
}
