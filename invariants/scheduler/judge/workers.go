package judge

import (
	"encoding/json"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// hearing is one replica's ear for one worker.
type hearing struct {
	scheduler   string
	incarnation int
	worker      string
}

// ear is what a replica knows of a worker.
type ear struct {
	at    time.Duration // when it last heard of it, by a heartbeat or from the snapshot
	live  bool          // by a heartbeat
	seen  time.Duration // from the snapshot: when its writer had last heard of the worker
	said  string        // the heartbeat, as it was received
	load  history.Load
	given int // jobs that the replica has dispatched to it since
}

// age is how long ago the worker was last heard of, as far as the replica is to know.
func (r *ear) age(at time.Duration, cfg *config.Config) time.Duration {
	if !r.live && cfg.SnapshotLastSeen {
		return at - r.seen
	}
	return at - r.at
}

// heartbeat notes which worker a replica has heard of. A heartbeat's unit of work is its worker, so
// the event's Job names it.
func (f *facts) heartbeat(e *sim.Event) {
	if e.Target != history.SubjectBeat || e.Job == "" || e.Fault != "" || history.AnswerOf(e).Failed() {
		return
	}
	at := hearing{e.Node, e.Incarnation, e.Job}
	known, ok := f.heard[at]
	if ok && known.live && e.At-known.at > f.config.WorkerTTL {
		f.reach(lateHeartbeat)
	}
	if e.Data != known.said || !known.live {
		known.said, known.load = e.Data, history.Load{}
		var p history.Packet
		if e.Data != "" && json.Unmarshal([]byte(e.Data), &p) == nil {
			known.load = p.Load()
		}
	}
	known.at, known.live, known.given = e.At, true, 0
	f.heard[at] = known
	me := invariants.Process(e.Node, e.Incarnation)
	l, ok := f.listens[me]
	if !ok || e.At-l.last > f.config.WorkerTTL {
		l.since = e.At
	}
	l.last = e.At
	f.listens[me] = l
}

// listening is when a process last heard of any worker, and since when no worker's TTL has passed in which
// it heard of none.
type listening struct{ since, last time.Duration }

// silence is for how long the event's process has not heard of the worker, although it has heard of others
// all the time; 0 if it has not.
func (f *facts) silence(e *sim.Event, worker string) time.Duration {
	l, ok := f.listens[invariants.Process(e.Node, e.Incarnation)]
	if !ok || worker == "" || e.At-l.last > f.config.WorkerTTL {
		return 0
	}
	silent := e.At - l.since
	if known, ok := f.heard[hearing{e.Node, e.Incarnation, worker}]; ok {
		silent = min(silent, known.age(e.At, &f.config))
	}
	return silent
}

// knowsStaleWorker says whether the step's replica last heard of some worker longer ago than its TTL,
// but not so long that the worker must have been evicted.
func (f *facts) knowsStaleWorker(s *step) bool {
	for at, known := range f.heard {
		age := known.age(s.At, &f.config)
		if at.scheduler == s.Node && at.incarnation == s.Incarnation && age > f.config.WorkerTTL && age <= f.config.WorkerTTL+f.config.RegistrySweep {
			return true
		}
	}
	return false
}

// known is a worker as the snapshot has it.
type known struct {
	worker string
	seen   time.Duration // when the snapshot's writer had last heard of it
	load   history.Load
}

// readSnapshot decodes sys:workers:snapshot. When it was written says nothing: that may have been long after
// its writer had put it together.
func (f *facts) readSnapshot(text string) (list []known) {
	var snapshot struct {
		Workers []struct {
			Heartbeat history.Packet `json:"heartbeat"`
			LastSeen  int64          `json:"last_seen"`
		} `json:"workers"`
	}
	if json.Unmarshal([]byte(text), &snapshot) != nil {
		return nil
	}
	for i := range snapshot.Workers {
		w := &snapshot.Workers[i]
		seen := time.UnixMilli(w.LastSeen).Sub(f.workflow.began)
		list = append(list, known{worker: w.Heartbeat.WorkerID, seen: seen, load: w.Heartbeat.Load()})
	}
	return list
}

// snapshotRead takes in what a replica learns at its start.
func (f *facts) snapshotRead(s *step) {
	switch {
	case s.Outcome == sim.OutcomePending:
	case s.failed:
	default:
		for _, w := range f.ticks.snapshot {
			at := hearing{s.Node, s.Incarnation, w.worker}
			if known, heard := f.heard[at]; !heard || s.At-known.at > f.config.WorkerTTL { // by then it knows it no more
				f.heard[at] = ear{at: s.At, seen: w.seen, load: w.load}
			}
		}
	}
}

// doubt is how much a worker's age may differ from what its replica makes of it: a heartbeat is on its
// way for a while, and so is a snapshot.
const doubt = time.Second

// give notes that the step's replica has written down which worker a job goes to.
func (f *facts) give(s *step) {
	at := hearing{s.Node, s.Incarnation, s.about.worker}
	if known, heard := f.heard[at]; heard {
		known.given++
		f.heard[at] = known
	}
}

// candidate is a worker that a replica may dispatch a job to.
type candidate struct {
	worker string
	score  float64 // by its last heartbeat
	given  int     // jobs that the replica has dispatched to it since
}

// candidates returns the workers that the step's replica has to choose from, now that it picks, if the events
// tell them for sure and all are of one pool.
func (f *facts) candidates(s *step) (list []candidate) {
	if s.about.wish.particular() || f.strikes.seen&history.StrikesOf(history.SchedulerAway, history.NATSAway, history.ClockWrong) != 0 {
		return nil
	}
	pool := ""
	for at, known := range f.heard {
		if at.scheduler != s.Node || at.incarnation != s.Incarnation {
			continue
		}
		age, l := known.age(s.At, &f.config), &known.load
		switch {
		case age > f.config.WorkerTTL+f.config.RegistrySweep+doubt, l.Overloaded():
			continue
		case !l.Known, age > f.config.WorkerTTL-doubt, l.Choosy, pool != "" && pool != l.Pool:
			return nil
		}
		pool = l.Pool
		list = append(list, candidate{l.Worker, l.Score(), known.given})
	}
	return list
}
