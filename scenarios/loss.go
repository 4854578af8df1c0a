package scenarios

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// loss is what a server lost: Redis in a failover or a death, nats-server in a power loss.
type loss struct {
	at         time.Duration
	do         faults.Effect
	of         string   // the server
	synced     bool     // each message was on the disk before its acknowledgement
	n          int      // how many messages or keys are gone
	keys       []string // keys that are back at an earlier content, or gone
	back, gone []string // jobs that are back in an earlier state; jobs without a record, or with lost messages
}

// lostMessage is a lost message of a job.
type lostMessage struct {
	at   time.Duration
	what history.What
}

// lossBy says whether a server loses something in the event.
func lossBy(e *sim.Event) bool {
	return e.Kind == sim.KindControl && (e.Name == string(faults.Failover) || e.Name == string(faults.PowerLoss) || e.Name == string(faults.Kill) && e.Target == sim.Redis)
}

// loses begins a loss, whose facts follow.
func (r *record) loses(e *sim.Event) {
	if !lossBy(e) {
		return
	}
	l := loss{at: e.At, do: faults.Effect(e.Name), of: e.Target, synced: r.synced}
	last := ""
	for i := range e.Changes {
		if c := &e.Changes[i]; c.Stream != "" || c.Key != last {
			l.n, last = l.n+1, c.Key
			if c.Stream == "" {
				l.keys = append(l.keys, c.Key)
			}
		}
	}
	r.losses = append(r.losses, l)
}

// lossOf returns the loss that a strike brought about.
func (r *record) lossOf(f faults.Fired) loss {
	i := slices.IndexFunc(r.losses, func(l loss) bool { return l.do == f.Fault.Do && l.of == f.Node && l.at >= f.At })
	if i < 0 {
		return loss{}
	}
	return r.losses[i]
}

// messageLost notes that a message of a job is gone.
func (r *record) messageLost(f *history.Fact) {
	c := f.Change
	delete(r.outstanding, message{c.Seq, c.Subject})
	j := r.job(f.Job)
	if j == nil {
		return
	}
	l := &r.losses[len(r.losses)-1]
	if !slices.Contains(l.gone, j.ID) {
		l.gone = append(l.gone, j.ID)
	}
	what := map[history.What]string{
		history.Submission: "the request", history.Result: "the result", history.Cancellation: "the cancellation",
		history.Notice: "the word to the worker", history.Void: "what was to keep the dispatch out", history.Dispatch: "the dispatch",
	}[f.What]
	j.lost = append(j.lost, lostMessage{f.At, f.What})
	tell(&j.moments, f.Event, messageLost, what, "", 0)
	if f.What == history.Dispatch && j.awaited && j.executing == "" {
		j.awaited = false
		j.openBlind(f.At)
	}
}

// words describes the loss.
func (l loss) words() string {
	of, jobs, keys := "key", "", ""
	nats := l.of == sim.NATS
	if nats {
		of = "message"
	}
	switch {
	case l.of == "": // a nats-server that was killed
		return ""
	case nats && l.synced:
		return "; nothing was lost: each message is on the disk before its ack"
	case l.n == 0 && l.do == faults.Failover:
		return "; nothing was lost: nobody had written within the lag"
	case l.n == 0 && l.do == faults.Kill:
		return "; nothing was lost: all was in its files"
	case l.n == 0:
		return "; nothing was lost: all was on the disk"
	}
	if len(l.back) > 0 {
		jobs += "; back in an earlier state: " + some(l.back)
	}
	if len(l.gone) > 0 && nats {
		jobs += ", of " + some(l.gone)
	} else if len(l.gone) > 0 {
		jobs += "; without a record: " + some(l.gone)
	}
	if len(l.keys) > 0 {
		keys = " (" + some(l.keys) + ")"
	}
	return "; the last writes were lost, " + count(l.n, of) + keys + jobs
}

// named lists the jobs that those words name.
func (l loss) named() []string {
	return slices.Concat(l.back[:min(len(l.back), aboutMax)], l.gone[:min(len(l.gone), aboutMax)])
}
