package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
)

// Facts is what the events so far show of the world. It keeps a small, fixed amount for each job, and no
// events.
type Facts struct {
	Hooks     Hooks
	Config    config.Config
	Jobs      map[string]*Job
	Order     []*Job // in the order of their first event, so that the end is judged in a fixed order
	Nodes     map[string]*Node
	Heard     map[Replica][]*Ear   // by worker name: what each replica knows of workers
	Listens   map[string]Listening // by process name: how the process has heard of workers
	Ticks     ticks                // of the reconciler, the replayer and the snapshot's writer
	swept     []swept              // pulls that crashes have ended
	failovers int                  // of Redis, with its deaths; after each it has another replication ID
	Sagas     Sagas
	Outputs   outputs
	Hanging   []Hanging          // operations
	Approver  string             // the process of the approver
	trail     trail              // the audit trail
	slots     slots              // of tenants
	Workflow  Workflows          // runs of steps, and their delays
	Effects   map[string]Effect  // at the workers' sink, by tenant and idempotency key
	UsedBy    map[string]string  // the tenant that had the first effect of an idempotency key
	Filed     map[string]*Filing // the DLQ entries of messages, by their places, and of compensations, by the entries' IDs
	failing   []*Unconfirmed     // answers to deliveries
	reused    map[string]uint64  // by stream: the last sequence that nats-server has used twice

	Policy policyFacts
	Replay replayFacts // dead letters and their replays

	Step int           // the last event's
	At   time.Duration // likewise

	Strikes Strikes
	Reached [moments]int      // how often each moment came
	Broken  invariants.Places // invariants violated for the run as a whole, by their positions in All
	Mixed   bool              // a job is mixed; see Job.Mixed
	Count   counts
	Fenced  Fenced // the last one
	Rescued Rescue // likewise
}

// Fenced is a state write that was not made, because record or lock had changed since its writer read them.
type Fenced struct {
	Step  int // the step that showed it to the writer
	Job   string
	Phase string
}
