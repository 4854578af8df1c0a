package scenarios

import (
	"slices"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// record follows every job through a run, by the changes in the servers.
type record struct {
	progress
	facts      *model.Facts    // the judge's knowledge
	jobs       []*jobRecord    // by number, from 1
	relayed    bool            // dispatches go through an outbox, not directly to a worker
	synced     bool            // nats-server syncs each message to the disk before it acknowledges it
	each       int             // how many submissions each job is to have
	deliveries int             // how often one message is delivered to the schedulers before it is given up
	ackWait    time.Duration   // AckWait of a consumer
	syncEvery  time.Duration   // sync_interval of nats-server
	poison     []*jobRecord    // the stranger's messages that were stored
	locks      map[string]lock // by key
	idleTicks  []idleTick
	reconnects []moment          // of clients to nats-server
	stacks     map[string]string // the job of each compensation on a saga's stack, by saga and index
	runs       []*RunResult      // workflow runs that were stored
	losses     []loss            // by faults on servers, in order
	derived    derived
	letters    letters
	policy     int // how many changes the safety kernel's policy has had
}

// jobRecord is one job as it is so far.
type jobRecord struct {
	JobResult
	moments          []moment      // for its story
	since            time.Duration // when it came into its state
	cancelled        bool          // its cancellation was stored
	keptCancellation bool          // its record holds its cancellation, and no state yet
	replayed         bool          // a replayer has found it waiting
	entered          bool          // it has, or had, a DLQ entry
	awaited          bool          // a dispatch was stored since the last DISPATCHED write, and its worker is up
	worker           string        // the worker it was dispatched to last
	executing        string        // the worker that has begun it and not finished it
	finished         bool          // a worker has finished it
	requests         int           // deliveries of its request
	messageID        string        // of the last dispatch that was stored
	answers          int           // deliveries of its result
	up               timeUp        // the time that it had exceeded when the reconciler last ended it
	back             []moment      // why its handling ends, noted in the present step
	stale            bool          // every pick of the present handling met a stale worker
	asked            bool          // the safety kernel was called, in the present handling
	unanswered       bool          // the safety kernel gave no answer
	putOff           time.Duration // when a handling last ended because the safety kernel gave no answer
	submissions      int           // how many were stored
	approvals        int           // approved requests that were submitted, and not handled yet
	undecided        bool          // it went on without a decision of the safety kernel
	rewound          bool          // by a failover or a death of Redis
	idle             []idle
	handed           []handed      // deliveries to workers
	numbers          []numbered    // its requests and results in the stream
	lost             []lostMessage // messages lost in a power loss of nats-server
}

// job finds a job by its ID, or returns nil.
func (r *record) job(id string) *jobRecord {
	n, ok := plans.JobNumber(id)
	if !ok || n < 1 || n > len(r.jobs) {
		return nil
	}
	return r.jobs[n-1]
}

// known returns the judge's knowledge of a job.
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

// stranger finds an unreadable message by its job's ID, or returns nil.
func (r *record) stranger(id string) *jobRecord {
	for _, j := range r.poison {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// last is the last moment told of the job, or nil.
func (j *jobRecord) last() *moment {
	if n := len(j.moments); n > 0 {
		return &j.moments[n-1]
	}
	return nil
}

// takeIn copies from the record what it says of the job besides its state.
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
