package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Facts is what the events so far say of the world. It keeps a small, fixed amount for each job
// and nothing of the events themselves.
type Facts struct {
	Config   config.Config
	Jobs     map[string]*Job
	Order    []*Job // in the order of their first event, so that the end is judged in a fixed order
	Nodes    map[string]*Node
	Heard    map[Hearing]Ear      // what each replica knows of each worker
	Listens  map[string]Listening // how each process has heard of workers, by its name
	Ticks    ticks                // of the reconciler, the replayer and the snapshot's writer
	swept    []swept              // what crashes took with them
	Sagas    Sagas
	Outputs  outputs
	Workflow Workflows         // runs of steps, and their delays
	Filed    map[string]bool   // messages that have a DLQ entry, by their place
	reused   map[string]uint64 // by stream: the last sequence that nats-server has given twice

	Policy policyFacts
	Replay replayFacts // dead letters and their replays

	Step int           // the last event's
	At   time.Duration // likewise

	Strikes Strikes
	Reached [moments]int      // how often each moment came
	Broken  invariants.Places // invariants violated for the run as a whole, by their place in All
	Mixed   bool              // a process had a job twice at once, having outlived its lock: events do not say which handling they are of
	Count   counts
	Fenced  Fenced // the last one
	Rescued Rescue // likewise
}

// counts is what the schedulers' counters should say: operations by what their callers were told.
type counts struct {
	Published, Duplicates, Completed int
	Rollbacks, RollbacksFailed       int
	Voided                           int
	RunningWritesFailed, DlqsFailed  int
	Fenced, Resumed, Voids           int
	Denied                           int

	LockLeft         int // locks taken of which their holders do not know
	Received, Handed int // requests that were handled, and those that were, or may be yet
	Taken            int // jobs that a replayer has read while they waited, and may have handled
	Orphans          int // jobs that a replayer has scheduled
	OrphansMaybe     int // likewise, or another handling of the process has
}

type Node struct {
	Down   bool
	Silent int // partitions under way in which what it sends of its heartbeats is lost
	Cut    int // likewise, from a server
	pulls  pulls
}

// Job is what is known of one job.
type Job struct {
	ID         string
	State      State
	StateAt    int // the step of the last state write
	Attempts   int
	Worker     string // as the record names it
	Epoch      int64
	Version    int64
	Updated    int64         // unix milliseconds, as the record has it
	Deadline   int64         // likewise; 0 for none
	Touched    time.Duration // when updated was written
	DeadlineAt time.Duration // when the deadline is, if there is one
	Topic      string
	Struck     invariants.Kinds  // the strikes that reach it
	Moments    uint64            // that it has had
	Broken     invariants.Places // invariants violated for this job, by their place in All

	tenant    string
	Decision  string        // of the safety kernel, as the record has it
	DecidedAt int           // the step at which that was written
	PutOff    time.Duration // when the safety kernel said to ask again later, if that was its last word; 0 if not

	Request  *history.Request // as the record keeps it; nil for none
	Wish     Wish
	Consent  consent
	Approved bool // its request bears an approval

	Scheduled  int        // SCHEDULED writes applied
	Accepted   bool       // there is a record of it, or the stream holds its submission
	Requests   int        // stored, one for each time that somebody asked for it
	Intent     Intent     // the DISPATCHED write that stands
	Queued     Queued     // its dispatch in the outbox
	Dispatches []Dispatch // those that a stream stored
	Voids      []int64    // epochs whose dispatches will never be stored
	Told       []Notice   // of its cancellation
	Cancelled  string     // the worker that had it when it was cancelled
	CancelStep int        // the step of that
	Begun      int        // executions
	Finished   int
	Executing  []string      // the workers at it
	Messages   []Message     // its requests, results and cancellations
	Terminated []Termination // of those
	Entered    bool          // it has a DLQ entry
	DlqExpires time.Duration // when that expires; 0 without one

	Saga      sagaJob
	Replay    replayJob
	Out       outputJob
	Lock      Lock
	Handlings []Handling // under way; more than one only if one outlived its lock
	Releases  []Release  // under way, or the last of a process
	late      []lateIntent
	Replayer  string   // the process whose replayer has read it, and that has not scheduled it since
	InHand    []string // the processes that have a request of it and have not answered it, once for each delivery
}

// Notice is one word to a worker that a job of its is cancelled.
type Notice struct {
	Worker string
	Epoch  int64
}

// Pick is a process's choice of a worker; without a node there is none.
type Pick struct {
	Node        string
	Incarnation int
	At          time.Duration
}

// Intent is a DISPATCHED write; its step is 0 for none.
type Intent struct {
	Worker string
	Epoch  int64
	Step   int
	Stored bool // a stream holds a dispatch of it, or a worker
	Lost   bool // one that was stored went before a worker had it
	Pick   Pick // by who wrote it
}

// by says whether a process of the node wrote the intent.
func (i *Intent) by(node string) bool { return i.Step != 0 && i.Pick.Node == node }

// lateIntent is a DISPATCHED write that is on its way, its caller having given it up.
type lateIntent struct {
	name       string // the operation and its occurrence, which its late effect has too
	occurrence int
	pick       Pick
}

// Queued is a dispatch in the outbox; its step is 0 for none.
type Queued struct {
	Step   int  // when it was written
	Stored bool // a stream has stored it since
}

// Dispatch is one message that the dispatch stream stored.
type Dispatch struct {
	Worker  string // "" for a topic
	Subject string
	Epoch   int64 // 0 for none
	Seq     uint64
	Step    int
	handed  bool           // to a worker
	acked   bool           // by one
	Begun   bool           // by its worker
	Lost    bool           // the stream does not hold it any more
	Attempt int            // as its packet has it; only an audit looks
	Order   *history.Order // what it says, where the safety kernel has decided; nil if nobody can read it
}

// Lock is a job's lock as Redis holds it.
type Lock struct {
	Node        string // who set it; "" for no lock
	Incarnation int
	Token       string
	Expires     time.Duration // 0 is never
	Step        int           // when it was set
	Abandoned   time.Duration // since when nobody will release it; 0 if its holder may
}

// Slack is how far from its expiry Redis may be: it keeps milliseconds.
const Slack = time.Millisecond

func (l *Lock) Live(at time.Duration) bool {
	return l.Node != "" && (l.Expires == 0 || at < l.Expires)
}

func (l *Lock) HeldBy(e *sim.Event) bool {
	return l.Live(e.At) && l.Node == e.Node && l.Incarnation == e.Incarnation
}

// Handling is one message's handling by one replica: from its lock to the first step of its release.
type Handling struct {
	Node        string
	Incarnation int
	Lock        int           // the step at which it took its lock
	Expires     time.Duration // when that expires, as renewed by it; 0 is never
	Attempts    int           // when it began
	Pick        Pick          // of the worker that it would publish to: its own, or that of the intent that it has read

	Silent        time.Duration // for how long the job's worker had been when it last read the job
	ReadFailed    int           // the step of a state read that failed and was not repeated; 0 for none
	PublishFailed int           // the step of a publish that failed; 0 for none
	Scheduled     bool          // it wrote SCHEDULED
	Intended      bool          // it wrote DISPATCHED
	Failed        bool          // it wrote FAILED
	Wrote         bool          // it wrote a state at all
	Published     bool          // it tried to publish
	orphan        bool          // it wrote SCHEDULED first for what a replayer of its process had read
	Stored        bool          // a stream stored what it published
	Entered       bool          // it wrote the DLQ entry
	StoreFailed   bool          // a state write of its own failed
	Refused       bool          // the stream holds a message in the place of what it published last
	Resumed       int64         // the epoch of that, if an earlier handling had intended it; 0 if not
	Full          bool          // it found its tenant at its limit
	Fencing       string        // the phase of a state write that has looked, and not written yet
	Choice        []Candidate   // what it had to pick from; nil if there is no telling
	Overdue       bool          // it was seen to go on after its lock had expired
	OverdueRead   bool          // it read the job as the reconciler does, before it ends it
	Renewals      int           // that have failed in a row
}

// Release is a lock's being given back, which ends a handling.
type Release struct {
	node        string
	incarnation int
	Lock        int    // the step at which the lock was taken; 0 if events do not say which of two it is
	Hung        string // the operation of it that hangs
}

func (f *Facts) Job(id string) *Job {
	if id == "" {
		return nil
	}
	j := f.Jobs[id]
	if j == nil {
		j = &Job{ID: id}
		f.Jobs[id] = j
		f.Order = append(f.Order, j)
		f.Appears(j)
	}
	return j
}

func (f *Facts) Node(name string) *Node {
	n := f.Nodes[name]
	if n == nil {
		n = &Node{}
		f.Nodes[name] = n
	}
	return n
}

// Handling returns what the event's process has under way for j, or nil.
func (j *Job) Handling(e *sim.Event) *Handling {
	for i := len(j.Handlings) - 1; i >= 0; i-- {
		if h := &j.Handlings[i]; h.Node == e.Node && h.Incarnation == e.Incarnation {
			return h
		}
	}
	return nil
}

func (j *Job) End(h *Handling) {
	for i := range j.Handlings {
		if &j.Handlings[i] == h {
			j.Handlings = slices.Delete(j.Handlings, i, i+1)
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
