package invariants

import (
	"encoding/json"
	"time"

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
	load  load
	given int // jobs that the replica has dispatched to it since
}

// age is how long ago the worker was last heard of, as far as the replica is to know.
func (r *ear) age(at time.Duration, cfg *Config) time.Duration {
	if !r.live && cfg.SnapshotLastSeen {
		return at - r.seen
	}
	return at - r.at
}

// load is what a worker says of itself (Scheduler internals, section 5).
type load struct {
	known  bool
	worker string
	pool   string
	choosy bool // it takes some topics only
	active int
	slots  int
	cpu    float64
	gpu    float64

	labels       map[string]string
	capabilities []string
}

// packet is a heartbeat.
type packet struct {
	WorkerID        string            `json:"worker_id"`
	Pool            string            `json:"pool"`
	Topics          []string          `json:"topics"`
	ActiveJobs      int               `json:"active_jobs"`
	MaxParallelJobs int               `json:"max_parallel_jobs"`
	CPULoad         float64           `json:"cpu_load"`
	GPUUtilization  float64           `json:"gpu_utilization"`
	Labels          map[string]string `json:"labels"`
	Capabilities    []string          `json:"capabilities"`
}

func (p *packet) load() load {
	return load{
		known: true, worker: p.WorkerID, pool: p.Pool, choosy: len(p.Topics) > 0,
		active: p.ActiveJobs, slots: p.MaxParallelJobs, cpu: p.CPULoad, gpu: p.GPUUtilization,
		labels: p.Labels, capabilities: p.Capabilities,
	}
}

func (l *load) score() float64 { return float64(l.active) + l.cpu/100 + l.gpu/100 }

func (l *load) overloaded() bool {
	return l.slots > 0 && float64(l.active)/float64(l.slots) >= 0.9 || l.cpu >= 90 || l.gpu >= 90
}

// heartbeat notes which worker a replica has heard of. A heartbeat's unit of work is its worker, so
// the event's Job names it.
func (f *facts) heartbeat(e *sim.Event) {
	if e.Target != subjectBeat || e.Job == "" || e.Fault != "" || AnswerOf(e).Failed() {
		return
	}
	at := hearing{e.Node, e.Incarnation, e.Job}
	known, ok := f.heard[at]
	if ok && known.live && e.At-known.at > f.cfg.WorkerTTL {
		f.reach(lateHeartbeat)
	}
	if e.Data != known.said || !known.live {
		known.said, known.load = e.Data, load{}
		var p packet
		if e.Data != "" && json.Unmarshal([]byte(e.Data), &p) == nil {
			known.load = p.load()
		}
	}
	known.at, known.live, known.given = e.At, true, 0
	f.heard[at] = known
	me := Process(e.Node, e.Incarnation)
	l, ok := f.listens[me]
	if !ok || e.At-l.last > f.cfg.WorkerTTL {
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
	l, ok := f.listens[Process(e.Node, e.Incarnation)]
	if !ok || worker == "" || e.At-l.last > f.cfg.WorkerTTL {
		return 0
	}
	silent := e.At - l.since
	if known, ok := f.heard[hearing{e.Node, e.Incarnation, worker}]; ok {
		silent = min(silent, known.age(e.At, &f.cfg))
	}
	return silent
}

// knowsStaleWorker says whether the step's replica last heard of some worker longer ago than its TTL,
// but not so long that the worker must have been evicted.
func (f *facts) knowsStaleWorker(s *step) bool {
	for at, known := range f.heard {
		age := known.age(s.At, &f.cfg)
		if at.scheduler == s.Node && at.incarnation == s.Incarnation && age > f.cfg.WorkerTTL && age <= f.cfg.WorkerTTL+f.cfg.RegistrySweep {
			return true
		}
	}
	return false
}

// picker says which replica picked the worker that the step publishes to, and when. Who publishes it need
// not have picked it: it may have read another's intent, from the record or from the outbox, and be held
// up until that intent is gone. ok is false if the events do not say which handling it is.
func (f *facts) picker(s *step) (by hearing, at time.Duration, ok bool) {
	p := pick{s.Node, s.Incarnation, s.At}
	switch {
	case s.job.twice(s.Event):
		return by, 0, false
	case s.h != nil && s.h.pick.node != "":
		p = s.h.pick
	case s.job.intent.step != 0:
		p = s.job.intent.pick
	}
	return hearing{p.node, p.incarnation, WorkerOf(s.Target)}, p.at, true
}

// known is a worker as the snapshot has it.
type known struct {
	worker string
	seen   time.Duration // when the snapshot's writer had last heard of it
	load   load
}

// readSnapshot decodes sys:workers:snapshot. When it was written says nothing: that may have been long after
// its writer had put it together.
func (f *facts) readSnapshot(text string) (list []known) {
	var snapshot struct {
		Workers []struct {
			Heartbeat packet `json:"heartbeat"`
			LastSeen  int64  `json:"last_seen"`
		} `json:"workers"`
	}
	if json.Unmarshal([]byte(text), &snapshot) != nil {
		return nil
	}
	for i := range snapshot.Workers {
		w := &snapshot.Workers[i]
		seen := time.UnixMilli(w.LastSeen).Sub(f.workflow.began)
		list = append(list, known{worker: w.Heartbeat.WorkerID, seen: seen, load: w.Heartbeat.load()})
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
			if known, heard := f.heard[at]; !heard || s.At-known.at > f.cfg.WorkerTTL { // by then it knows it no more
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
	at := hearing{s.Node, s.Incarnation, s.job.worker}
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
	if s.job.wish.particular() || f.strikes.seen&strikesOf(SchedulerAway, NATSAway, ClockWrong) != 0 {
		return nil
	}
	pool := ""
	for at, known := range f.heard {
		if at.scheduler != s.Node || at.incarnation != s.Incarnation {
			continue
		}
		age, l := known.age(s.At, &f.cfg), &known.load
		switch {
		case age > f.cfg.WorkerTTL+f.cfg.RegistrySweep+doubt, l.overloaded():
			continue
		case !l.known, age > f.cfg.WorkerTTL-doubt, l.choosy, pool != "" && pool != l.pool:
			return nil
		}
		pool = l.pool
		list = append(list, candidate{l.worker, l.score(), known.given})
	}
	return list
}

// load is what the candidate is compared by.
func (c *candidate) load(cfg *Config) float64 {
	if cfg.CountDispatches {
		return c.score + float64(c.given)
	}
	return c.score
}
