package invariants

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// control brings the facts up to date with what the harness did.
func (f *facts) control(e *sim.Event) {
	n := f.node(e.Target)
	scheduler := strings.HasPrefix(e.Target, schedulerNodes)
	switch e.Name {
	case "crash":
		n.down, n.frozen = true, false
		f.swept = append(f.swept, swept{e.Step, n.pulls})
		n.pulls = nil
		f.crash(e)
	case "restart":
		n.down = false
		for _, j := range f.order { // the stream delivers to it again what it had not acknowledged
			if k := len(j.dispatches); k > 0 && j.dispatches[k-1].worker == e.Target {
				j.classes &^= deadWorker
			}
		}
	case "pause":
		n.frozen = true
		if scheduler {
			f.meet(nil, paused)
		}
	case "resume":
		n.frozen = false
	case "partition":
		n.silent++
	case "heal":
		n.silent--
	case "partition redis", "partition nats":
		n.cut++
		if scheduler {
			f.meet(nil, paused)
		}
	case "heal redis", "heal nats":
		n.cut--
	case "skew":
		f.meet(nil, clockWrong)
	case "failover":
		f.meet(nil, dataLost)
	case "stop", "power-loss": // nats-server: nobody reaches it until some time after its start
		f.meet(nil, paused)
		f.meet(nil, allAway)
		clear(f.policy.throttled) // it forgets how long a redelivery was to wait
	}
	if f.nobodyThere() {
		f.meet(nil, allAway)
	}
}

// nobodyThere says whether there are schedulers, and every one is down, paused or cut off.
func (f *facts) nobodyThere() bool {
	known := false
	for name, n := range f.nodes {
		if strings.HasPrefix(name, schedulerNodes) {
			if known = true; !n.down && !n.frozen && n.cut == 0 {
				return false
			}
		}
	}
	return known
}

// start notes that a process begins, with nothing in its memory.
func (f *facts) start(e *sim.Event) {
	n := f.node(e.Node)
	n.down, n.frozen = false, false
	if strings.HasPrefix(e.Node, schedulerNodes) {
		f.ticks.offer(e)
	}
}

func (f *facts) crash(e *sim.Event) {
	f.workflow.crashed(f, e.Target)
	switch {
	case strings.HasPrefix(e.Target, schedulerNodes):
		f.meet(nil, schedulerCrash)
	case strings.HasPrefix(e.Target, workerNodes):
		f.meet(nil, workerCrash)
	}
	for _, j := range f.order {
		for i := len(j.handlings) - 1; i >= 0; i-- {
			h := &j.handlings[i]
			if h.node != e.Target {
				continue
			}
			if h.intended && !h.stored && j.state == dispatched && j.queued.step == 0 {
				f.meet(j, crashBeforePublish)
				f.reach(crashWithIntent)
			}
			h.mayKeep = true
			f.keep(j, h, e.At)
			if h.failed && !h.entered {
				f.meet(j, crashBeforeDLQ)
			}
			j.handlings = slices.Delete(j.handlings, i, i+1)
		}
		j.releases = slices.DeleteFunc(j.releases, func(r release) bool { return r.node == e.Target })
		if j.queued.step != 0 && !j.queued.stored && j.intent.by(e.Target) {
			f.reach(crashWithIntent) // and nothing is lost by it
		}
		if l := &j.lock; l.node == e.Target && l.live(e.At) && l.abandoned == 0 {
			l.abandoned = e.At
			f.meet(j, lockLeft)
		}
		j.executing = slices.DeleteFunc(j.executing, func(worker string) bool { return worker == e.Target })
		if n := len(j.dispatches); n > 0 && j.dispatches[n-1].worker == e.Target && !j.state.terminal() {
			f.meet(j, deadWorker)
		}
	}
}

// keep notes that a handling ends whose dispatch was stored and is in the outbox all the same, if it
// could not help it. One that met no error must have taken the entry out.
func (f *facts) keep(j *job, h *handling, at time.Duration) {
	overstayed := h.expires != 0 && at >= h.expires
	if h.stored && j.queued.step != 0 && (h.mayKeep || overstayed) {
		f.meet(j, outboxKept)
	}
}
