package judge

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// facts is what the events so far say of the world. It keeps a small, fixed amount for each job
// and nothing of the events themselves.
type facts struct {
	config   config.Config
	jobs     map[string]*job
	order    []*job // in the order of their first event, so that the end is judged in a fixed order
	nodes    map[string]*node
	heard    map[hearing]ear      // what each replica knows of each worker
	listens  map[string]listening // how each process has heard of workers, by its name
	ticks    ticks                // of the reconciler, the replayer and the snapshot's writer
	swept    []swept              // what crashes took with them
	sagas    sagas
	outputs  outputs
	workflow workflows         // runs of steps, and their delays
	filed    map[string]bool   // messages that have a DLQ entry, by their place
	reused   map[string]uint64 // by stream: the last sequence that nats-server has given twice

	policy policyFacts
	replay replayFacts // dead letters and their replays

	unkept invariants.Places // invariants violated within their promise, by their place in All
	step   int               // the last event's
	at     time.Duration     // likewise

	strikes strikes
	reached [moments]int      // how often each moment came
	broken  invariants.Places // invariants violated for the run as a whole, by their place in All
	mixed   bool              // a process had a job twice at once, having outlived its lock: events do not say which handling they are of
	count   counts
	fenced  Fenced // the last one
	rescued Rescue // likewise
}

// counts is what the schedulers' counters should say: operations by what their callers were told.
type counts struct {
	published, duplicates, completed int
	rollbacks, rollbacksFailed       int
	voided                           int
	runningWritesFailed, dlqsFailed  int
	fenced, resumed, voids           int
	denied                           int

	lockLeft         int // locks taken of which their holders do not know
	received, handed int // requests that were handled, and those that were, or may be yet
	taken            int // jobs that a replayer has read while they waited, and may have handled
	orphans          int // jobs that a replayer has scheduled
	orphansMaybe     int // likewise, or another handling of the process has
}

type node struct {
	down   bool
	silent int // partitions under way in which what it sends of its heartbeats is lost
	cut    int // likewise, from a server
	pulls  pulls
}

// job is what is known of one job.
type job struct {
	id         string
	state      state
	stateAt    int // the step of the last state write
	attempts   int
	worker     string // as the record names it
	epoch      int64
	version    int64
	updated    int64         // unix milliseconds, as the record has it
	deadline   int64         // likewise; 0 for none
	touched    time.Duration // when updated was written
	deadlineAt time.Duration // when the deadline is, if there is one
	topic      string
	struck     invariants.Kinds  // the strikes that reach it
	moments    uint64            // that it has had
	broken     invariants.Places // invariants violated for this job, by their place in All

	tenant    string
	decision  string        // of the safety kernel, as the record has it
	decidedAt int           // the step at which that was written
	putOff    time.Duration // when the safety kernel said to ask again later, if that was its last word; 0 if not

	wish     wish
	consent  consent
	approved bool // its request bears an approval

	scheduled  int        // SCHEDULED writes applied
	accepted   bool       // there is a record of it, or the stream holds its submission
	requests   int        // stored, one for each time that somebody asked for it
	intent     intent     // the DISPATCHED write that stands
	queued     queued     // its dispatch in the outbox
	dispatches []dispatch // those that a stream stored
	voids      []int64    // epochs whose dispatches will never be stored
	told       []notice   // of its cancellation
	cancelled  string     // the worker that had it when it was cancelled
	cancelStep int        // the step of that
	begun      int        // executions
	finished   int
	executing  []string      // the workers at it
	messages   []message     // its requests, results and cancellations
	terminated []termination // of those
	entered    bool          // it has a DLQ entry
	dlqExpires time.Duration // when that expires; 0 without one

	saga      sagaJob
	replay    replayJob
	out       outputJob
	lock      lock
	handlings []handling // under way; more than one only if one outlived its lock
	releases  []release  // under way, or the last of a process
	late      []lateIntent
	replayer  string   // the process whose replayer has read it, and that has not scheduled it since
	inHand    []string // the processes that have a request of it and have not answered it, once for each delivery
}

// notice is one word to a worker that a job of its is cancelled.
type notice struct {
	worker string
	epoch  int64
}

// pick is a process's choice of a worker; without a node there is none.
type pick struct {
	node        string
	incarnation int
	at          time.Duration
}

// intent is a DISPATCHED write; its step is 0 for none.
type intent struct {
	worker string
	epoch  int64
	step   int
	stored bool // a stream holds a dispatch of it, or a worker
	lost   bool // one that was stored went before a worker had it
	pick   pick // by who wrote it
}

// by says whether a process of the node wrote the intent.
func (i *intent) by(node string) bool { return i.step != 0 && i.pick.node == node }

// lateIntent is a DISPATCHED write that is on its way, its caller having given it up.
type lateIntent struct {
	name       string // the operation and its occurrence, which its late effect has too
	occurrence int
	pick       pick
}

// queued is a dispatch in the outbox; its step is 0 for none.
type queued struct {
	step   int  // when it was written
	stored bool // a stream has stored it since
}

// dispatch is one message that the dispatch stream stored.
type dispatch struct {
	worker  string // "" for a topic
	subject string
	epoch   int64 // 0 for none
	seq     uint64
	step    int
	handed  bool // to a worker
	begun   bool // by its worker
	lost    bool // the stream does not hold it any more
	attempt int  // as its packet has it; only an audit looks
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
	lock        int           // the step at which it took its lock
	expires     time.Duration // when that expires, as renewed by it; 0 is never
	attempts    int           // when it began
	pick        pick          // of the worker that it would publish to: its own, or that of the intent that it has read

	silent        time.Duration // for how long the job's worker had been when it last read the job
	readFailed    int           // the step of a state read that failed and was not repeated; 0 for none
	publishFailed int           // the step of a publish that failed; 0 for none
	scheduled     bool          // it wrote SCHEDULED
	intended      bool          // it wrote DISPATCHED
	failed        bool          // it wrote FAILED
	wrote         bool          // it wrote a state at all
	published     bool          // it tried to publish
	orphan        bool          // it wrote SCHEDULED first for what a replayer of its process had read
	stored        bool          // a stream stored what it published
	entered       bool          // it wrote the DLQ entry
	storeFailed   bool          // a state write of its own failed
	refused       bool          // the stream holds a message in the place of what it published last
	resumed       int64         // the epoch of that, if an earlier handling had intended it; 0 if not
	full          bool          // it found its tenant at its limit
	fencing       string        // the phase of a state write that has looked, and not written yet
	choice        []candidate   // what it had to pick from; nil if there is no telling
	overdue       bool          // it was seen to go on after its lock had expired
	overdueRead   bool          // it read the job as the reconciler does, before it ends it
	renewals      int           // that have failed in a row
}

// release is a lock's being given back, which ends a handling.
type release struct {
	node        string
	incarnation int
	lock        int    // the step at which the lock was taken; 0 if events do not say which of two it is
	hung        string // the operation of it that hangs
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
		f.appears(j, f.at)
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

// Fenced is a state write that was not made, since record or lock had changed since its writer looked.
type Fenced struct {
	Step  int // that showed it to the writer
	Job   string
	Phase string
}

// Fenced returns the last one.
func (j *observer) Fenced() Fenced { return j.facts.fenced }
