package campaign

import (
	"context"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// The seam between a campaign and whoever does its runs. Everything that passes it is data, and what
// comes back does not depend on who did it: one process a processor is what [Run] and [Job.Do] start.

// Worker does what it is assigned, in order.
type Worker interface {
	// Assign gives it more to do; it does not wait for it to be done. What a worker that is gone was
	// assigned is lost.
	Assign(Assignment)
	// Answers is what comes back. It is closed when the worker is gone.
	Answers() <-chan Answer
	// Death says how it ended, once Answers is closed.
	Death() Death
	// End ends it at once, whatever it does, and waits until it is gone.
	End()
}

// launch starts a worker with what it has to know before its first assignment.
type launch func(ctx context.Context, o Orders) (Worker, error)

// Orders are what a worker knows of its campaign.
type Orders struct {
	Spec      Spec          `json:"spec"`
	Stall     time.Duration `json:"stall_ns"`     // real time without a step after which a run counts as hung
	Total     time.Duration `json:"total_ns"`     // real time that a run may take in all; 0 is no bound
	MemoryMax int64         `json:"memory_bytes"` // of heap that a run may take
}

// Assignment is a range of the campaign's runs, or a trial.
type Assignment struct {
	First int    `json:"first"`
	Count int    `json:"count"`
	Trial *Trial `json:"trial,omitempty"` // instead of a range
	Steps bool   `json:"steps,omitempty"` // answer each step as it is completed
	Skip  bool   `json:"skip,omitempty"`  // end the run that is under way, and leave what else was assigned
}

// Trial is one plan that an examination tries.
type Trial struct {
	Plan   string `json:"plan"`              // as YAML
	StopAt string `json:"stop_at,omitempty"` // as in [scenarios.RunOptions]
	Why    string `json:"why,omitempty"`     // instead of one run: what this invariant's violation hangs on
}

// Answer is one thing that a worker says. Exactly one of its fields is set, besides of Begin.
type Answer struct {
	Alive   bool     `json:"alive,omitempty"` // said first, and now and then
	Begin   bool     `json:"begin,omitempty"` // run N is under way
	N       int      `json:"n,omitempty"`     //
	Step    int      `json:"step,omitempty"`  // was completed
	Record  *Record  `json:"record,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	Done    bool     `json:"done,omitempty"`    // with an assignment
	Problem string   `json:"problem,omitempty"` // the worker cannot go on, and it is not the code under test
}

// Outcome is what came of a trial. At most one of its fields is set.
type Outcome struct {
	Result    *scenarios.Result `json:"result,omitempty"`
	Cause     *why.Cause        `json:"cause,omitempty"` // of a trial that asks why; nil if it did not find out
	Contained *Contained        `json:"contained,omitempty"`
	Problem   string            `json:"problem,omitempty"` // the trial is none: its plan cannot be read
}

// Death says how a worker ended that was not told to.
type Death struct {
	Killed bool   // from outside: it did nothing to end
	Output string // what it said on its standard error, from the panic on if there was one
}
