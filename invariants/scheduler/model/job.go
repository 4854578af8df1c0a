package model

import (
	"cmp"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Job is what is known of one job.
type Job struct {
	ID         string
	State      State
	StateAt    int // the step of the last state write
	Attempts   int
	Worker     string // from the record
	Epoch      int64
	Version    int64
	Updated    int64         // unix milliseconds, from the record
	Deadline   int64         // likewise; 0 for none
	Touched    time.Duration // when updated was written
	SeenTo     time.Duration // when a replayer last handled it for the first time since a write; 0 is never
	DeadlineAt time.Duration // when the deadline is, if there is one
	Expected   time.Duration // when the record got the deadline
	Topic      string
	ReasonCode string            // from the record
	Reason     string            // likewise
	Struck     invariants.Kinds  // the strikes that have reached it
	Moments    uint64            // the moments that it has had
	Broken     invariants.Places // invariants violated for this job, by their positions in All

	tenant    string
	Decision  string        // of the safety kernel, from the record
	Snapshot  string        // of the policy that decided, likewise
	DecidedAt int           // the step at which the decision was written
	PutOff    time.Duration // when the safety kernel said to ask again later, if that was its last answer; 0 if not

	Request  *history.Request   // from the record; nil for none
	Decided  *history.Request   // the request in the record when the safety kernel's decision was last written; nil for none
	Earlier  []*history.Request // other requests under its ID: those that the record had before, or that a stream has stored
	Wish     Wish
	Consent  consent
	Approved bool // its request carries an approval
	Accepted bool // it has a record, or the stream holds its submission

	Scheduled  int        // SCHEDULED writes applied
	MadeBy     string     // the node that first wrote its record; "" for none
	Requests   int        // stored requests, one for each time that somebody made one
	MadeAt     int        // the step at which there came to be a record of it last
	Intent     Intent     // the DISPATCHED write that stands
	Intended   Intent     // the last one that stood before another state came
	Queued     Queued     // its dispatch in the outbox
	Dispatches []Dispatch // those that a stream stored
	Voids      []Void     // for epochs whose dispatches will never be stored
	Told       []Notice   // of its cancellation
	Heard      []Heard    // worker processes that received such a notice
	Asked      bool       // its cancellation was asked for at some time: by a cancellation that a stream stored or that a client kept in the record, or by a worker's result
	Whys       []string   // the reasons of its cancellations
	Cancelled  Cancellation
	Begun      int    // number of executions
	BegunStep  int    // the step of the first execution
	BegunBy    string // the worker of that
	Finished   int
	Executing  []string      // the workers that execute it
	ended      []ended       // executions that have ended
	outputs    []putOut      // outputs that they have stored
	Messages   []Message     // its requests, results and cancellations
	Terminated []Termination // of those
	Unsent     []Unsent
	times      []times
	Filing          // of its DLQ entry
	Left       bool // nobody else was about to handle it when Replayer had read it

	Saga      sagaJob
	Replay    replayJob
	Out       outputJob
	Lock      Lock
	Handlings []Handling // under way; more than one only if one outlived its lock
	Mixed     bool       // one process had two at once: events do not show which of them they belong to
	Releases  []Release  // under way, or the last of a process
	late      []lateWrite
	Replayer  string // the process whose replayer has read it and has not scheduled it since
	readings  []reading
}

// compensates is the job that this one undoes; "" for none.
func (j *Job) compensates() string { return j.Wish.Labels["saga_job_id"] }

// TopicOf is the topic of the job: from its record or, before there is one or after Redis has lost it, from
// the request.
func (j *Job) TopicOf() string {
	topic := cmp.Or(j.Topic, j.Wish.Topic)
	if topic == "" && len(j.Earlier) > 0 {
		return j.Earlier[0].Topic
	}
	return topic
}

// Notice is a message to a worker that a job is cancelled.
type Notice struct {
	Worker string
	Epoch  int64 // the last epoch that the worker need not execute
	Seq    uint64
}

// Cancellation is what was known of a job when it was cancelled.
type Cancellation struct {
	Worker string // the worker that had it; "" for none
	Epoch  int64  // of the last dispatch to that worker
	Step   int    // of the write; 0 if not known
}

// Tell notes a notice that a stream stores. A worker ignores an unreadable notice, and a notice that names
// another job concerns that job.
func (j *Job) Tell(c *sim.Change) {
	if w, err := history.Read[history.Word](c.Value); err == nil && w.JobID == j.ID {
		j.Told = append(j.Told, Notice{Worker: history.WorkerOf(c.Subject), Epoch: w.Epoch, Seq: c.Seq})
	}
}

// Void is a message that took the place of a dispatch.
type Void struct {
	Epoch int64
	Step  int // the step at which the stream stored it
}

// Heard is the delivery of a notice to a worker's process.
type Heard struct {
	Notice
	Process string
	Step    int
	At      time.Duration
	Away    time.Duration // how long its node had been away before
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
