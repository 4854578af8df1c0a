package scheduler

import (
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// State is a job's state.
type State = job.State

// The states (Scheduler internals, section 3).
const (
	Absent            = job.Absent
	Pending           = job.Pending
	ApprovalRequired  = job.ApprovalRequired
	Scheduled         = job.Scheduled
	Dispatched        = job.Dispatched
	Running           = job.Running
	Succeeded         = job.Succeeded
	OutputQuarantined = job.OutputQuarantined
	Denied            = job.Denied
	Cancelled         = job.Cancelled
	Timeout           = job.Timeout
	Failed            = job.Failed
)

// Words of records and metrics besides states.
const (
	DecidedFailOpen   = store.FailOpen             // a decision: the job went on while the safety kernel could not be reached
	ReasonStaleWorker = job.ReasonStaleWorker      // a reason code
	RunSucceeded      = string(workflow.Succeeded) // a run's state
)

// States lists the states; Transitions lists the documented moves between them.
var (
	States      = job.States
	Transitions = job.Transitions
)

// CanMove says whether there is a documented move from one state to the other.
func CanMove(from, to State) bool { return job.CanMove(from, to) }

// Terminal says whether a state is terminal.
func Terminal(state string) bool { return State(state).Terminal() }
