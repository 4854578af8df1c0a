package judge

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/sim"
)

// control brings the facts up to date with what the harness did.
func (f *facts) control(e *sim.Event) {
	n := f.node(e.Target)
	switch e.Name {
	case "crash":
		n.down = true
		f.swept = append(f.swept, swept{e.Step, n.pulls})
		n.pulls = nil
		f.crash(e)
	case "restart":
		n.down = false
		for _, j := range f.order { // the stream delivers to it again what it had not acknowledged
			if k := len(j.dispatches); k > 0 && j.dispatches[k-1].worker == e.Target {
				j.moments &^= 1 << deadWorker
			}
		}
	case "partition":
		n.silent++
	case "heal":
		n.silent--
	case "partition redis", "partition nats":
		n.cut++
	case "heal redis", "heal nats":
		n.cut--
	case "stop", "power-loss": // nats-server: nobody reaches it until some time after its start
		clear(f.policy.throttled) // it forgets how long a redelivery was to wait
	}
}

// start notes that a process begins, with nothing in its memory.
func (f *facts) start(e *sim.Event) {
	n := f.node(e.Node)
	n.down = false
	if strings.HasPrefix(e.Node, history.SchedulerNodes) {
		f.ticks.offer(e)
	}
}

func (f *facts) crash(e *sim.Event) {
	f.workflow.crashed(f, e.Target)
	for _, j := range f.order {
		for i := len(j.handlings) - 1; i >= 0; i-- {
			h := &j.handlings[i]
			if h.node != e.Target {
				continue
			}
			if h.intended && !h.stored && j.state == dispatched && j.queued.step == 0 {
				f.come(j, crashWithIntent)
			}
			j.handlings = slices.Delete(j.handlings, i, i+1)
		}
		j.releases = slices.DeleteFunc(j.releases, func(r release) bool { return r.node == e.Target })
		if j.queued.step != 0 && !j.queued.stored && j.intent.by(e.Target) {
			f.reach(crashWithIntent) // and nothing is lost by it
		}
		if l := &j.lock; l.node == e.Target && l.live(e.At) && l.abandoned == 0 {
			l.abandoned = e.At
			f.come(j, lockLeft)
		}
		j.executing = slices.DeleteFunc(j.executing, func(worker string) bool { return worker == e.Target })
		if n := len(j.dispatches); n > 0 && j.dispatches[n-1].worker == e.Target && !j.state.terminal() {
			f.come(j, deadWorker)
		}
	}
}
