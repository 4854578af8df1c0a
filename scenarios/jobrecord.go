package scenarios

import (
	"slices"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// record follows every job through a run, by what the steps changed in the servers.
type record struct {
	progress
	facts      *model.Facts    // what the judge knows
	jobs       []*jobRecord    // by number, from 1
	relayed    bool            // dispatches go through an outbox, and not to a worker at once
	synced     bool            // nats-server has each message on the disk before it acknowledges it
	each       int             // how often each job is to be submitted
	deliveries int             // of one message to the schedulers, before it is given up
	ackWait    time.Duration   // of a consumer
	syncEvery  time.Duration   // of nats-server
	poison     []*jobRecord    // messages of the stranger that were stored
	locks      map[string]lock // by key
	idleTicks  []idleTick
	reconnects []moment          // of clients to nats-server
	stacks     map[string]string // by saga and index, of which job the compensation there is
	runs       []*RunResult      // workflow runs that were stored
	losses     []loss            // by server faults, in their order
	derived    derived
	letters    letters
	policy     int // of how many changes the safety kernel's policy has had
}

// jobRecord is one job so far.
type jobRecord struct {
	JobResult
	moments          []moment      // that its story is made of
	since            time.Duration // of its state
	cancelled        bool          // its cancellation was stored
	keptCancellation bool          // its record has its cancellation, and no state yet
	replayed         bool          // a replayer has found it waiting
	entered          bool          // it has, or had, a DLQ entry
	awaited          bool          // a dispatch was stored since the last DISPATCHED write, and a living worker has it
	worker           string        // the worker it was dispatched to last
	executing        string        // the worker that has begun and not finished it
	finished         bool          // a worker has finished it
	requests         int           // deliveries of its request
	messageID        string        // of its last dispatch that was stored
	answers          int           // deliveries of its result
	up               timeUp        // its time, when the reconciler last ended it
	back             []moment      // why its handling ends, in the step at hand
	stale            bool          // every pick of the handling that is under way met a stale worker
	asked            bool          // the safety kernel, in the handling that is under way
	unanswered       bool          // it gave no answer
	putOff           time.Duration // when a handling last ended as the safety kernel gave no answer
	submissions      int           // stored
	approvals        int           // approved requests that were submitted, and not taken up yet
	undecided        bool          // it went on without a decision of the safety kernel
	rewound          bool          // by a failover or a death of Redis
	idle             []idle
	handed           []handed      // to workers
	numbers          []numbered    // its requests and results in the stream
	lost             []lostMessage // with nats-server's power
}

// job finds a job by its id, or returns nil.
func (r *record) job(id string) *jobRecord {
	n, ok := plans.JobNumber(id)
	if !ok || n < 1 || n > len(r.jobs) {
		return nil
	}
	return r.jobs[n-1]
}

// known is what the judge knows of a job.
func (r *record) known(j *jobRecord) *model.Job {
	if k := r.facts.Jobs[j.ID]; k != nil {
		return k
	}
	return &model.Job{}
}

// queued says whether a dispatch of the job waits in the outbox.
func (r *record) queued(j *jobRecord) bool { return r.known(j).Queued.Step != 0 }

func (r *record) down(node string) bool {
	n := r.facts.Nodes[node]
	return n != nil && n.Down
}

// stranger finds a message that nobody can read by its job's id, or returns nil.
func (r *record) stranger(id string) *jobRecord {
	for _, j := range r.poison {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// last is what was last told of the job, or nil.
func (j *jobRecord) last() *moment {
	if n := len(j.moments); n > 0 {
		return &j.moments[n-1]
	}
	return nil
}

// takeIn takes over what the record says of the job besides its state.
func (j *JobResult) takeIn(f *history.Fact) {
	if n, ok := f.Field("attempts"); ok {
		j.Attempts, _ = strconv.Atoi(n)
	}
	if code, ok := f.Field("reason_code"); ok {
		j.Reason = code
	}
	if why, ok := f.Field("reason"); ok {
		j.Why = why
	}
}

func (j *jobRecord) hasLost(what history.What) bool {
	return slices.ContainsFunc(j.lost, func(m lostMessage) bool { return m.what == what })
}
