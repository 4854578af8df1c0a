package scenarios

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/sim"
)

// BlindWindow is the time in which a job is DISPATCHED, or RUNNING, to nobody.
type BlindWindow struct {
	Opened  time.Duration `json:"opened_ns"`
	Closed  time.Duration `json:"closed_ns,omitempty"` // 0 while Open
	Open    bool          `json:"open"`
	By      string        `json:"by,omitempty"`         // what closed it: the state that the job went to, or dispatch, execution, restart
	Timeout time.Duration `json:"timeout_ns,omitempty"` // by TIMEOUT: how long the job may have its state
	Late    time.Duration `json:"late_ns,omitempty"`    // by TIMEOUT: how long after that the reconciler wrote it
	Which   string        `json:"which,omitempty"`      // by TIMEOUT: dispatch, running, topic, silence or deadline

	poll time.Duration // of the reconciler
	held bool          // its ticks' lock is held until it expires, so that it does not tick at every poll
}

// controlled follows which nodes are down: what was dispatched to one is dispatched to nobody, until
// it is up again and the stream delivers it once more.
func (r *record) controlled(e *sim.Event) {
	switch e.Name {
	case "crash":
		r.down[e.Target] = true
	case "restart":
		delete(r.down, e.Target)
	default:
		return
	}
	for _, j := range r.jobs {
		if j.holder == e.Target {
			j.holder = ""
			r.handled(j)
		}
		if j.worker != e.Target || j.finished || j.State != "DISPATCHED" && j.State != "RUNNING" {
			continue
		}
		if j.executing = ""; r.down[e.Target] {
			j.awaited, j.ToDead = false, true
			j.openBlind(e.At)
		} else if r.waits(j) {
			j.awaited = true
			j.closeBlind(e.At, "restart")
		}
	}
}

// waits says whether the stream still holds a dispatch of the job for its worker to acknowledge.
func (r *record) waits(j *jobRecord) bool {
	d := j.Dispatches[len(j.Dispatches)-1]
	if n := len(j.lost); n > 0 && j.lost[n-1].at >= d.At && j.hasLost(history.Dispatch) {
		return false // whatever has its place
	}
	return r.outstanding[message{d.Seq, d.Subject}]
}

// handled notes the end of a handling: a job that it leaves DISPATCHED without a dispatch, in a
// stream or in the outbox, is DISPATCHED to nobody.
func (r *record) handled(j *jobRecord) {
	if j.State == "DISPATCHED" && !j.awaited && !j.finished && !j.queued && j.holder == "" {
		j.openBlind(j.since)
	}
}

func (j *jobRecord) openBlind(at time.Duration) {
	if j.Blind == nil || !j.Blind.Open {
		j.Blind = &BlindWindow{Opened: at, Open: true}
	}
}

func (j *jobRecord) closeBlind(at time.Duration, by string) {
	if j.Blind != nil && j.Blind.Open {
		j.Blind.Open, j.Blind.Closed, j.Blind.By = false, at, by
	}
}

// timeouts are how long the workload's jobs may stay as they are.
type timeouts struct {
	running, dispatch time.Duration
	topical           bool // the dispatch timeout is their topic's own
	poll              time.Duration
	held              bool
	watched           bool // a RUNNING job whose worker is silent has the dispatch timeout
}

func newTimeouts(p *plans.Plan) timeouts {
	t := timeouts{running: p.Engine.RunningTimeout, dispatch: p.Engine.DispatchTimeout, poll: p.Engine.PollInterval, held: p.HoldsTicks(), watched: p.Engine.WatchWorkers}
	if d, ok := p.TopicTimeouts()[plans.Topic]; ok {
		t.dispatch, t.topical = d, true
	}
	return t
}

// found closes a job's blind window, now that the job is neither DISPATCHED nor RUNNING any more: it had
// the state from since then.
func (r *record) found(j *jobRecord, from string, e *sim.Event, since time.Duration) {
	if j.Blind == nil || !j.Blind.Open {
		return
	}
	at := e.At
	j.closeBlind(at, j.State)
	if j.State != "TIMEOUT" {
		return
	}
	w, due := j.Blind, r.timeouts.dispatch
	w.poll, w.held = r.timeouts.poll, r.timeouts.held
	switch w.Which = "dispatch"; {
	case from == "RUNNING" && r.timeouts.watched && at-since < r.timeouts.running:
		w.Which, since = "silence", max(since, r.heard[ear{e.Node, j.worker}])
	case from == "RUNNING":
		w.Which, due = "running", r.timeouts.running
	case r.timeouts.topical:
		w.Which = "topic"
	}
	if late := at - since - due; late >= 0 { // else it was past its deadline
		w.Timeout, w.Late = due, late
	} else {
		w.Which = "deadline"
	}
}

// closing says how the window ended.
func (w *BlindWindow) closing() string {
	text := "lasted " + at(w.Closed-w.Opened)
	switch w.Which {
	case "":
		return text
	case "deadline":
		return text + ", until after its deadline"
	}
	which := map[string]string{"dispatch": "the dispatch", "topic": "its topic's dispatch", "running": "the running", "silence": "the dispatch"}[w.Which]
	text += fmt.Sprintf(": %s timeout (%s) and %s more", which, strictyaml.DurationText(w.Timeout), w.Late.Round(time.Second))
	switch w.Which {
	case "running":
		text += ", from the start of RUNNING"
	case "silence":
		text += ", from the start of RUNNING or from the last word of its worker"
	}
	if w.Late > w.poll {
		text += fmt.Sprintf("; a poll takes %s", strictyaml.DurationText(w.poll))
		if w.held {
			text += ", and a tick's lock outlives the next poll (engine.tick_lock=until-expiry)"
		}
	}
	return text
}
