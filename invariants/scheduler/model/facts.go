package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
)

// Facts is what the events so far say of the world. It keeps a small, fixed amount for each job
// and nothing of the events themselves.
type Facts struct {
	Hooks     Hooks
	Config    config.Config
	Jobs      map[string]*Job
	Order     []*Job // in the order of their first event, so that the end is judged in a fixed order
	Nodes     map[string]*Node
	Heard     map[Replica][]*Ear   // what each replica knows of workers, by their names
	Listens   map[string]Listening // how each process has heard of workers, by its name
	Ticks     ticks                // of the reconciler, the replayer and the snapshot's writer
	swept     []swept              // what crashes took with them
	failovers int                  // of Redis, and its deaths, after which it has another replication ID
	Sagas     Sagas
	Outputs   outputs
	Approver  string             // the process of who approves
	trail     trail              // of audit
	slots     slots              // of tenants
	Workflow  Workflows          // runs of steps, and their delays
	Effects   map[string]Effect  // at the workers' sink, by tenant and idempotency key
	UsedBy    map[string]string  // the tenant that had the first effect of an idempotency key
	Filed     map[string]*Filing // the DLQ entries of messages, by their place, and of compensations, by the entry's id
	reused    map[string]uint64  // by stream: the last sequence that nats-server has given twice

	Policy policyFacts
	Replay replayFacts // dead letters and their replays

	Step int           // the last event's
	At   time.Duration // likewise

	Strikes Strikes
	Reached [moments]int      // how often each moment came
	Broken  invariants.Places // invariants violated for the run as a whole, by their place in All
	Mixed   bool              // a job is; see Job.Mixed
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
	Filed                            int // dead letters, with the job's end where one belongs to it
	Decided, DecidedMaybe            int // changes of dead letters by schedulers; those whose answer was lost
	Refused, RefusedMaybe            int // likewise, of replays that are denied
	GivenUp                          int // messages whose last delivery was sent back

	Recorded, RolledBack, Compensated int // compensations on a stack, locks of rollbacks, submissions

	Crashes          int // of schedulers
	RetriesCutShort  int // jobs that these had in hand
	LockLeft         int // locks taken of which their holders do not know
	Received, Handed int // requests that were handled, and those that were, or may be yet
	Taken            int // jobs that a replayer has read while they waited, and may have handled
	Orphans          int // jobs that a replayer has scheduled
	OrphansMaybe     int // likewise, or another handling of the process has
}

// Fenced is a state write that was not made, since record or lock had changed since its writer looked.
type Fenced struct {
	Step  int // that showed it to the writer
	Job   string
	Phase string
}
