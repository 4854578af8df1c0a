package campaign

import (
	"context"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// The interface between a campaign and its workers. Only data crosses it, and the answers do not depend on
// who gives them. [Run] and [Job.Do] start a worker process for each processor.

// Worker carries out assignments in order.
type Worker interface {
	// Assign adds an assignment, and does not wait for it. An assignment to a worker that has ended is lost.
	Assign(Assignment)
	// Answers has the worker's answers. It is closed when the worker has ended.
	Answers() <-chan Answer
	// Death says how the worker ended, once Answers is closed.
	Death() Death
	// End ends the worker at once, whatever it does, and waits until it has ended.
	End()
}

// launch starts a worker with its orders.
type launch func(ctx context.Context, o Orders) (Worker, error)

// Orders are what a worker must know of its campaign before its first assignment.
type Orders struct {
	Spec      Spec          `json:"spec"`
	Stall     time.Duration `json:"stall_ns"`     // real time without a step after which a run counts as hung
	Total     time.Duration `json:"total_ns"`     // real time that a run may take in all; 0 is no limit
	MemoryMax int64         `json:"memory_bytes"` // heap that a run may take
}

// Assignment is a range of the campaign's runs, or a trial.
type Assignment struct {
	First int    `json:"first"`
	Count int    `json:"count"`
	Trial *Trial `json:"trial,omitempty"` // replaces the range
	Steps bool   `json:"steps,omitempty"` // answer with each step that is completed
	Skip  bool   `json:"skip,omitempty"`  // end the run under way, and drop the other assignments
}

// Trial is a plan that an examination tries.
type Trial struct {
	Plan   string `json:"plan"`              // in YAML
	StopAt string `json:"stop_at,omitempty"` // as in [scenarios.RunOptions]
	Why    string `json:"why,omitempty"`     // if set, no run is made: the trial finds what this invariant's violation depends on
}

// Answer is one answer of a worker. Exactly one of its fields is set, except that Begin comes with N.
type Answer struct {
	Alive   bool     `json:"alive,omitempty"` // said first, and from time to time
	Begin   bool     `json:"begin,omitempty"` // run N has begun
	N       int      `json:"n,omitempty"`     //
	Step    int      `json:"step,omitempty"`  // this step was completed
	Record  *Record  `json:"record,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	Done    bool     `json:"done,omitempty"`    // an assignment is done
	Problem string   `json:"problem,omitempty"` // the worker cannot go on, and the code under test is not the reason
}

// Outcome is the outcome of a trial. At most one of its fields is set.
type Outcome struct {
	Result    *scenarios.Result `json:"result,omitempty"`
	Cause     *why.Cause        `json:"cause,omitempty"` // for a trial with Why; nil if it found nothing
	Contained *Contained        `json:"contained,omitempty"`
	Problem   string            `json:"problem,omitempty"` // the trial could not be made: its plan cannot be read
}

// Death says how a worker ended that was not told to end.
type Death struct {
	Killed bool   // by a signal from outside
	Output string // what it wrote to standard error; if it panicked, from there on
}
