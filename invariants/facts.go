package invariants

import (
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/faultline-sim/faultline/sim"
)

// facts is what the events so far say of the world. It keeps a small, fixed amount for each job
// and nothing of the events themselves.
type facts struct {
	cfg   Config
	jobs  map[string]*job
	order []*job // in the order of their first event, so that the end is judged in a fixed order
	nodes map[string]*node
	heard map[hearing]time.Duration // the last heartbeat that a replica received from a worker
	swept []swept                   // what crashes took with them

	unkept uint64        // invariants violated within their promise, by their place in All
	step   int           // the last event's
	at     time.Duration // likewise

	run    class             // classes met that are not about one job
	met    [len(classes)]int // how often each class was met
	broken uint64            // invariants violated for the run as a whole, by their place in All
	mixed  bool              // a process had a job twice at once, having outlived its lock: events do not say which handling they are of
	count  counts
}

// counts is what the schedulers' counters should say: operations by what their callers were told.
type counts struct {
	published, completed            int
	rollbacks, rollbacksFailed      int
	voided                          int
	runningWritesFailed, dlqsFailed int
}

// hearing is one replica's ear for one worker.
type hearing struct {
	scheduler   string
	incarnation int
	worker      string
}

type node struct {
	down   bool
	silent bool // partitioned: what it sends of its heartbeats is lost
	pulls  pulls
}

// job is what is known of one job.
type job struct {
	id       string
	state    state
	stateAt  int // the step of the last state write
	attempts int
	worker   string // as the record names it
	classes  class
	broken   uint64 // invariants violated for this job, by their place in All

	scheduled  int        // SCHEDULED writes applied
	accepted   bool       // the stream holds its submission
	intent     intent     // the DISPATCHED write that stands
	queued     queued     // its dispatch in the outbox
	dispatches []dispatch // those that a stream stored
	begun      int        // executions
	finished   int
	messages   []message     // its requests and results
	dlqExpires time.Duration // when its DLQ entry expires; 0 without an entry

	lock      lock
	handlings []handling // under way; more than one only if one outlived its lock
	releasing string     // the process that gave the lock back last
}

// intent is a DISPATCHED write; its step is 0 for none.
type intent struct {
	worker      string
	step        int
	node        string // who wrote it
	incarnation int
	pickedAt    time.Duration // when that process picked the worker
}

// by says whether a process of the node wrote the intent.
func (i *intent) by(node string) bool { return i.step != 0 && i.node == node }

// queued is a dispatch in the outbox; its step is 0 for none.
type queued struct {
	step   int  // when it was written
	stored bool // a stream has stored it since
}

// dispatch is one message that the dispatch stream stored.
type dispatch struct {
	worker  string // "" for a topic
	subject string
	seq     uint64
	step    int
	begun   bool // by its worker
}

// lock is a job's lock as Redis holds it.
type lock struct {
	node        string // who set it; "" for no lock
	incarnation int
	token       string
	expires     time.Duration // 0 is never
	step        int           // when it was set
	abandoned   time.Duration // since when nobody will release it; 0 if its holder may
}

// slack is how far from its expiry Redis may be: it keeps milliseconds.
const slack = time.Millisecond

func (l *lock) live(at time.Duration) bool {
	return l.node != "" && (l.expires == 0 || at < l.expires)
}

func (l *lock) heldBy(e *sim.Event) bool {
	return l.live(e.At) && l.node == e.Node && l.incarnation == e.Incarnation
}

// handling is one message's handling by one replica: from its lock to the first step of its release.
type handling struct {
	node        string
	incarnation int
	expires     time.Duration // when the lock it took expires, as renewed by it; 0 is never
	attempts    int           // when it began

	readFailed    int           // the step of a state read that failed and was not repeated; 0 for none
	scheduledAt   time.Duration // its last SCHEDULED write: the pick follows at once
	publishFailed int           // the step of a publish that failed; 0 for none
	scheduled     bool          // it wrote SCHEDULED
	intended      bool          // it wrote DISPATCHED
	failed        bool          // it wrote FAILED
	wrote         bool          // it wrote a state at all
	published     bool          // it tried to publish
	stored        bool          // a stream stored what it published
	entered       bool          // it wrote the DLQ entry
	storeFailed   bool          // a state write of its own failed
	mayKeep       bool          // it was told of an error once its dispatch was stored: of the publish, or of the entry's removal
}

func (f *facts) job(id string) *job {
	if id == "" {
		return nil
	}
	j := f.jobs[id]
	if j == nil {
		j = &job{id: id}
		f.jobs[id] = j
		f.order = append(f.order, j)
	}
	return j
}

func (f *facts) node(name string) *node {
	n := f.nodes[name]
	if n == nil {
		n = &node{}
		f.nodes[name] = n
	}
	return n
}

// meet notes that c, one class, was met: by j, or by the run as a whole if j is nil.
func (f *facts) meet(j *job, c class) {
	f.met[bits.TrailingZeros64(uint64(c))]++
	if j == nil {
		f.run |= c
		return
	}
	j.classes |= c
}

// handling returns what the event's process has under way for j, or nil.
func (j *job) handling(e *sim.Event) *handling {
	for i := len(j.handlings) - 1; i >= 0; i-- {
		if h := &j.handlings[i]; h.node == e.Node && h.incarnation == e.Incarnation {
			return h
		}
	}
	return nil
}

func (j *job) end(h *handling) {
	for i := range j.handlings {
		if &j.handlings[i] == h {
			j.handlings = slices.Delete(j.handlings, i, i+1)
			return
		}
	}
}

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
				j.classes &^= deadWorker
			}
		}
	case "partition":
		n.silent = true
	case "heal":
		n.silent = false
	}
}

func (f *facts) crash(e *sim.Event) {
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
				f.meet(j, crashWithIntent)
			}
			h.mayKeep = true
			f.keep(j, h, e.At)
			if h.failed && !h.entered {
				f.meet(j, crashBeforeDLQ)
			}
			j.handlings = slices.Delete(j.handlings, i, i+1)
		}
		if j.queued.step != 0 && !j.queued.stored && j.intent.by(e.Target) {
			f.meet(j, crashWithIntent) // and nothing is lost by it
		}
		if l := &j.lock; l.node == e.Target && l.live(e.At) && l.abandoned == 0 {
			l.abandoned = e.At
			f.meet(j, lockLeft)
		}
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

// heartbeat notes which worker a replica has heard of. A heartbeat's unit of work is its worker, so
// the event's Job names it.
func (f *facts) heartbeat(e *sim.Event) {
	if e.Target != subjectBeat || e.Job == "" || e.Fault != "" || callerFailed(e) {
		return
	}
	ear := hearing{e.Node, e.Incarnation, e.Job}
	if last, ok := f.heard[ear]; ok && e.At-last > f.cfg.WorkerTTL {
		f.meet(nil, lateHeartbeat)
	}
	f.heard[ear] = e.At
}

// knowsStaleWorker says whether the step's replica last heard of some worker longer ago than its TTL,
// but not so long that the worker must have been evicted.
func (f *facts) knowsStaleWorker(s *step) bool {
	for ear, last := range f.heard {
		age := s.At - last
		if ear.scheduler == s.Node && ear.incarnation == s.Incarnation && age > f.cfg.WorkerTTL && age <= f.cfg.WorkerTTL+f.cfg.RegistrySweep {
			return true
		}
	}
	return false
}
