package scenarios

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// BlindWindow is the time in which a job is DISPATCHED or RUNNING, and no worker has it.
type BlindWindow struct {
	Opened  time.Duration `json:"opened_ns"`
	Closed  time.Duration `json:"closed_ns,omitempty"` // 0 while Open
	Open    bool          `json:"open"`
	By      string        `json:"by,omitempty"`         // what closed it: the state that the job went to, or dispatch, execution, restart
	Timeout time.Duration `json:"timeout_ns,omitempty"` // by TIMEOUT: how long the job may stay in its state
	Late    time.Duration `json:"late_ns,omitempty"`    // by TIMEOUT: how long after that the reconciler wrote the state
	Which   string        `json:"which,omitempty"`      // by TIMEOUT: dispatch, running, topic, silence or deadline
}

// controlled follows nodes that go down or come up. The dispatches of a worker that is down reach nobody,
// until it is up again and the stream redelivers them.
func (r *record) controlled(e *sim.Event) {
	switch e.Name {
	case "crash", "restart":
	case "reconnect":
		r.reconnects = append(r.reconnects, moment{at: e.At, step: e.Step, node: e.Target})
		return
	default:
		return
	}
	for _, j := range r.jobs {
		for i := range j.handed {
			if h := &j.handed[i]; h.to == e.Target {
				h.crashed = true
			}
		}
		r.handled(j)
		if j.worker != e.Target || j.finished || j.State != "DISPATCHED" && j.State != "RUNNING" {
			continue
		}
		if j.executing = ""; r.down(e.Target) {
			j.awaited, j.ToDead = false, true
			j.openBlind(e.At)
		} else if r.waits(j) {
			j.awaited = true
			j.closeBlind(e.At, "restart")
		}
	}
}

// waits says whether the stream still holds a dispatch that the job's worker has to acknowledge.
func (r *record) waits(j *jobRecord) bool {
	d := j.Dispatches[len(j.Dispatches)-1]
	if n := len(j.lost); n > 0 && j.lost[n-1].at >= d.At && j.hasLost(history.Dispatch) {
		return false // another message may have its sequence
	}
	return r.outstanding[message{d.Seq, d.Subject}]
}

// handled notes the end of a handling. If it leaves the job DISPATCHED without a dispatch, in a stream or in
// the outbox, a blind window opens.
func (r *record) handled(j *jobRecord) {
	if j.State == "DISPATCHED" && !j.awaited && !j.finished && !r.queued(j) && len(r.known(j).Handlings) == 0 {
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

// found closes a job's blind window when the job is no longer DISPATCHED or RUNNING.
func (j *jobRecord) found(at time.Duration) {
	if j.Blind == nil || !j.Blind.Open {
		return
	}
	j.closeBlind(at, j.State)
	if w := j.Blind; j.State == "TIMEOUT" && j.up.which != "" {
		w.Which, w.Timeout = j.up.which, j.up.limit
		if w.Timeout > 0 {
			w.Late = at - j.up.at
		}
	}
}
