package model

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Control updates the facts with what the harness did.
func (f *Facts) Control(e *sim.Event) {
	n := f.Node(e.Target)
	switch e.Name {
	case "crash":
		if strings.HasPrefix(e.Target, history.SchedulerNodes) && !n.Down {
			f.Count.Crashes++
			f.Count.RetriesCutShort += f.retries(e.Target)
		}
		n.Down = true
		f.swept = append(f.swept, swept{e.Step, n.pulls})
		n.pulls = nil
		f.crash(e)
	case "restart":
		n.Down = false
		for _, j := range f.Order { // the stream redelivers to it what it had not acknowledged
			if k := len(j.Dispatches); k > 0 && j.Dispatches[k-1].Worker == e.Target {
				j.Moments &^= 1 << DeadWorker
			}
		}
	case "pause":
		n.goes(e.At, 1)
		f.Count.StaleMaybe += f.retries(e.Target) // it may pick when it continues
		f.Sagas.keptUp(e.Target)
	case "resume":
		n.goes(e.At, -1)
	case "partition":
		n.Silent++
	case "heal":
		n.Silent--
	case "partition redis", "partition nats":
		n.Cut++
		n.goes(e.At, 1)
	case "heal redis", "heal nats":
		n.Cut--
		n.goes(e.At, -1)
	case "failover":
		f.failovers++
	case "stop", "kill", "power-loss":
		switch e.Target {
		case sim.NATS: // nobody reaches it until some time after its start
			clear(f.Policy.Throttled) // it forgets how long a redelivery was to wait
		case sim.Redis: // it starts with another replication ID
			f.failovers++
		}
	}
}

// retries is how many jobs a scheduler has in hand. It may be about to put them off, and to count that.
func (f *Facts) retries(node string) (n int) {
	for _, j := range f.Order {
		if slices.ContainsFunc(j.Messages, func(m Message) bool { return m.asks() && m.inHandOn(node) }) || slices.ContainsFunc(j.Handlings, func(h Handling) bool { return h.Node == node }) {
			n++
		}
	}
	return n
}

// Start notes that a process begins, with nothing in its memory.
func (f *Facts) Start(e *sim.Event) {
	n := f.Node(e.Node)
	n.Down, n.Master = false, f.failovers // it asks before it waits
	n.starts(e.At)
	if strings.HasPrefix(e.Node, history.SchedulerNodes) {
		f.Ticks.offer(e)
		f.Workflow.started(f)
	}
}

func (f *Facts) crash(e *sim.Event) {
	f.Workflow.crashed(f, e.Target)
	f.Sagas.crashed(e.Target)
	f.Outputs.crashed(e.Target)
	f.Hanging = slices.DeleteFunc(f.Hanging, func(h Hanging) bool { return h.Node == f.Node(e.Target) })
	for _, j := range f.Order {
		for i := range j.Messages {
			j.Messages[i].died(e.Target)
		}
		for i := len(j.Handlings) - 1; i >= 0; i-- {
			h := &j.Handlings[i]
			if h.Node != e.Target {
				continue
			}
			if h.Intended && !h.Stored && j.State == Dispatched && j.Queued.Step == 0 {
				f.Come(j, CrashWithIntent)
			}
			j.Handlings = slices.Delete(j.Handlings, i, i+1)
		}
		j.sent(e.Target)
		j.Releases = slices.DeleteFunc(j.Releases, func(r Release) bool { return r.node == e.Target })
		if j.Queued.Step != 0 && !j.Queued.Stored && j.Intent.by(e.Target) {
			f.Reach(CrashWithIntent) // and that loses nothing
		}
		if l := &j.Lock; l.Node == e.Target && l.Live(e.At) && l.Abandoned == 0 {
			l.Abandoned = e.At
			f.Come(j, LockLeft)
		}
		j.Executing = slices.DeleteFunc(j.Executing, func(worker string) bool { return worker == e.Target })
		if n := len(j.Dispatches); n > 0 && j.Dispatches[n-1].Worker == e.Target && !j.State.Terminal() {
			f.Come(j, DeadWorker)
		}
	}
}
