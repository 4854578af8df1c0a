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
	Worker     string // as the record names it
	Epoch      int64
	Version    int64
	Created    int64         // unix milliseconds, as the record has it
	Updated    int64         // likewise
	Deadline   int64         // likewise; 0 for none
	Touched    time.Duration // when updated was written
	SeenTo     time.Duration // when a replayer saw to it last that nobody had seen to since; 0 is never
	DeadlineAt time.Duration // when the deadline is, if there is one
	Expected   time.Duration // when the record got it
	Topic      string
	ReasonCode string            // as the record has it
	Reason     string            // likewise
	Struck     invariants.Kinds  // the strikes that reach it
	Moments    uint64            // that it has had
	Broken     invariants.Places // invariants violated for this job, by their place in All

	tenant    string
	Decision  string        // of the safety kernel, as the record has it
	Snapshot  string        // of the policy that decided, likewise
	DecidedAt int           // the step at which that was written
	PutOff    time.Duration // when the safety kernel said to ask again later, if that was its last word; 0 if not

	Request  *history.Request   // as the record keeps it; nil for none
	Decided  *history.Request   // as the record kept it when what the safety kernel had decided was written last; nil for none
	Earlier  []*history.Request // what else was asked for under its name: what the record kept before, or a stream has stored
	Wish     Wish
	Consent  consent
	Approved bool // its request bears an approval
	Accepted bool // there is a record of it, or the stream holds its submission

	Scheduled  int        // SCHEDULED writes applied
	MadeBy     string     // the node that wrote its record first; "" for none
	Requests   int        // stored, one for each time that somebody asked for it
	Intent     Intent     // the DISPATCHED write that stands
	Intended   Intent     // the last one that did, before another state came
	Queued     Queued     // its dispatch in the outbox
	Dispatches []Dispatch // those that a stream stored
	Voids      []Void     // of epochs whose dispatches will never be stored
	Told       []Notice   // of its cancellation
	Heard      []Heard    // the processes of workers that were given such a notice
	Asked      bool       // to be cancelled, at some time: by a cancellation that a stream stored, or that a client kept in the record, or by a worker's result
	Whys       []string   // the reasons of its cancellations
	Cancelled  Cancellation
	Begun      int    // executions
	BegunStep  int    // the step of the first
	BegunBy    string // its worker
	Finished   int
	Executing  []string      // the workers at it
	ended      []ended       // executions that were
	outputs    []putOut      // that they have put out
	Messages   []Message     // its requests, results and cancellations
	Terminated []Termination // of those
	Unsent     []Unsent
	Filing          // of its DLQ entry
	Left       bool // nobody else was about to take it up when Replayer had read it

	Saga      sagaJob
	Replay    replayJob
	Out       outputJob
	Lock      Lock
	Handlings []Handling // under way; more than one only if one outlived its lock
	Mixed     bool       // two were one process's at once: events do not say which of them they are of
	Releases  []Release  // under way, or the last of a process
	late      []lateWrite
	Replayer  string // the process whose replayer has read it, and that has not scheduled it since
	readings  []reading
}

// compensates is the job that this one undoes; "" for none.
func (j *Job) compensates() string { return j.Wish.Labels["saga_job_id"] }

// TopicOf is the topic of the job: by its record, or by what was asked for, before there is one or after Redis has lost it.
func (j *Job) TopicOf() string {
	topic := cmp.Or(j.Topic, j.Wish.Topic)
	if topic == "" && len(j.Earlier) > 0 {
		return j.Earlier[0].Topic
	}
	return topic
}

// Notice is one word to a worker that a job of its is cancelled.
type Notice struct {
	Worker string
	Epoch  int64 // the last that the worker need not do
	Seq    uint64
}

// Cancellation is what was known of a job when it was cancelled.
type Cancellation struct {
	Worker string // that had it; "" for none
	Epoch  int64  // of the last dispatch to that worker
	Step   int    // of the write; 0 if there is no telling
}

// Tell takes in a notice that a stream stores. A worker ignores one that nobody can read, and one of another job is
// about that.
func (j *Job) Tell(c *sim.Change) {
	if w, err := history.Read[history.Word](c.Value); err == nil && w.JobID == j.ID {
		j.Told = append(j.Told, Notice{Worker: history.WorkerOf(c.Subject), Epoch: w.Epoch, Seq: c.Seq})
	}
}

// Void is a message that took the place of a dispatch.
type Void struct {
	Epoch int64
	Step  int // at which the stream stored it
}

// Heard is that a worker's process was given a notice.
type Heard struct {
	Notice
	Process string
	Step    int
	At      time.Duration
	Away    time.Duration // for how long its node had been away before
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
