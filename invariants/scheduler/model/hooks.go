package model

import (
	"reflect"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Checker is what an invariant hooks into; any of its functions may be nil. Each is called with the
// facts already up to date. The last two are for whoever judges: an observer does not know of an end.
type Checker struct {
	Read            func(*Step)                                         // a state read has ended
	Wrote           func(*Step, *Write)                                 // a job's record was written
	Amended         func(*Step, *Write)                                 // it was changed, and its state was not written
	Requested       func(*Step, *Job, *history.Request)                 // a client stored a request, in its job's record or in a stream; nil is one that nobody can read
	CancelRequested func(s *Step, j *Job, reason string)                // a client stored a cancellation; likewise
	Sent            func(*Step)                                         // a dispatch's publish was granted, whatever came of it
	Stored          func(*Step, *Dispatch)                              // a stream stored a dispatch; it is not among the job's yet
	Voided          func(*Step)                                         // a stream stored a void in a dispatch's place
	Locked          func(*Step, *LockChange)                            // a lock's key changed
	Renews          func(*Step)                                         // a handling asks for more time with its job's lock
	Overdue         func(*Step)                                         // a handling was seen to go on after its lock had expired, for the first time
	Released        func(*Step)                                         // a handling ended
	Acked           func(*Step, *Message)                               // a scheduler acknowledged a message; nil if the stream was not seen to store it
	Termed          func(*Step, *Message)                               // a scheduler terminated a message; likewise
	SentBack        func(*Step, *Message)                               // a scheduler sent a message back
	Back            func(*Step, *Message)                               // a message that was sent back was delivered again, for no other reason
	Again           func(*Step, *Message)                               // a message whose handling is known to be done was delivered again
	Twice           func(*Step, *Message)                               // and is handled again
	Replied         func(*Job, *Message)                                // a stream stored a worker's result
	Given           func(*Job, *Message)                                // JetStream delivers a message no more, which nobody has acknowledged; likewise
	Ticked          func(*Step, *Tick)                                  // a replica began a tick, or wrote what its tick is for
	Listed          func(*Step, *Tick)                                  // a replica looks for what its tick is to deal with
	Ran             func(*Step, *WorkflowRun, *RunWrite)                // a run's record was written
	RunLocked       func(*Step, *WorkflowRun)                           // the lock of a run was taken or renewed
	Fired           func(*Step, *StepJob)                               // the record of a step's job was made
	Submitted       func(*Step, *StepJob, StepAgain)                    // a stream stored the request of one
	TakenUp         func(s *Step, due time.Duration)                    // a replayer sees to a job that waits, for the first time since it was written
	Saved           func(*Step, *Job)                                   // a path of rescue did what another should have done, for a job or a run
	Buried          func(*Step, *history.DeadLetter)                    // a handling wrote its job's dead letter
	Done            func(*Step)                                         // a worker acknowledged a dispatch, and the stream knows
	Effect          func(*Step)                                         // a worker began or finished an execution
	Beat            func(*sim.Event)                                    // a worker sends a heartbeat
	Heard           func(*sim.Event)                                    // a replica has heard one
	Calling         func(*Step, history.Circuit, *Leave)                // a call that a circuit guards sets out
	CircuitRead     func(s *Step, c history.Circuit, was, is *Leave)    // somebody reads the shared counter; was is what it found before
	FailuresCounted func(s *Step, c history.Circuit, was, is, owed int) // somebody counts failures there
	CircuitClosed   func(*Step, history.Circuit)                        // somebody deletes the shared counter
	Recorded        func(s *Step, c *Compensation, again bool)          // a compensation was put onto its saga's stack
	Compensated     func(s *Step, c *Compensation, first bool)          // a rollback submitted one
	RolledOn        func(s *Step, g *Saga, due time.Duration)           // somebody takes up what a rollback has left, which was due
	SagaLocked      func(s *Step, g *Saga, was Lock)                    // the key of a rollback's lock changed
	RolledBack      func(*Step, *Saga)                                  // who holds that begins to give it back
	LetterRewritten func(s *Step, id string, was, is *Letter)           // a job's dead letter was written
	LetterDecided   func(s *Step, id string, was, is *Letter)           // and triage, a replay or a person has decided on it; all of the step's changes are known
	ReplayPutOff    func(s *Step, id string, is *Letter)                // its replay was put off
	LetterCalled    func(s *Step, due time.Duration)                    // a dead letter that was due is visited for the first time since
	LetterMisplaced func(s *Step, id string, at, due time.Duration)     // one is before the replay worker at another time than it says itself
	LetterVisited   func(*Step, *Visit)                                 // a visit of a dead letter has ended while others waited
	LetterLeft      func(*Step, *Visit)                                 // a visit has ended in which nothing failed
	LetterTried     func(id string, y *Try)                             // the operator looks anew at a dead letter: what has come of the last try shows
	LetterRefused   func(*Step, *history.AuditEvent, *Try)              // the audit trail says that the operator may not decide on one
	CommitNoted     func(*Step, Lasting)                                // who has done what an idempotency key stands for was noted
	GrowthRead      func(*Step, *Look)                                  // a process looks at how the queue of dead letters grows, as it did before
	GrowthAlarmed   func(*Step)                                         // the growth alert was raised, or ended
	Scanning        func(*Step)                                         // who wrote SUCCEEDED begins to scan the output
	Changed         func(*Step, *history.Fact)                          // a step changed a key of Redis, or a stream; all of its changes are known
	Ended           func(*invariants.End)                               // the run is over
	Audited         func(*invariants.End)                               // only what the servers hold is known, and no event
}

// Hooks are those of all checkers. Its fields are named and ordered as the checker's.
type Hooks struct {
	Read            []func(*Step)
	Wrote           []func(*Step, *Write)
	Amended         []func(*Step, *Write)
	Requested       []func(*Step, *Job, *history.Request)
	CancelRequested []func(s *Step, j *Job, reason string)
	Sent            []func(*Step)
	Stored          []func(*Step, *Dispatch)
	Voided          []func(*Step)
	Locked          []func(*Step, *LockChange)
	Renews          []func(*Step)
	Overdue         []func(*Step)
	Released        []func(*Step)
	Acked           []func(*Step, *Message)
	Termed          []func(*Step, *Message)
	SentBack        []func(*Step, *Message)
	Back            []func(*Step, *Message)
	Again           []func(*Step, *Message)
	Twice           []func(*Step, *Message)
	Replied         []func(*Job, *Message)
	Given           []func(*Job, *Message)
	Ticked          []func(*Step, *Tick)
	Listed          []func(*Step, *Tick)
	Ran             []func(*Step, *WorkflowRun, *RunWrite)
	RunLocked       []func(*Step, *WorkflowRun)
	Fired           []func(*Step, *StepJob)
	Submitted       []func(*Step, *StepJob, StepAgain)
	TakenUp         []func(s *Step, due time.Duration)
	Saved           []func(*Step, *Job)
	Buried          []func(*Step, *history.DeadLetter)
	Done            []func(*Step)
	Effect          []func(*Step)
	Beat            []func(*sim.Event)
	Heard           []func(*sim.Event)
	Calling         []func(*Step, history.Circuit, *Leave)
	CircuitRead     []func(s *Step, c history.Circuit, was, is *Leave)
	FailuresCounted []func(s *Step, c history.Circuit, was, is, owed int)
	CircuitClosed   []func(*Step, history.Circuit)
	Recorded        []func(s *Step, c *Compensation, again bool)
	Compensated     []func(s *Step, c *Compensation, first bool)
	RolledOn        []func(s *Step, g *Saga, due time.Duration)
	SagaLocked      []func(s *Step, g *Saga, was Lock)
	RolledBack      []func(*Step, *Saga)
	LetterRewritten []func(s *Step, id string, was, is *Letter)
	LetterDecided   []func(s *Step, id string, was, is *Letter)
	ReplayPutOff    []func(s *Step, id string, is *Letter)
	LetterCalled    []func(s *Step, due time.Duration)
	LetterMisplaced []func(s *Step, id string, at, due time.Duration)
	LetterVisited   []func(*Step, *Visit)
	LetterLeft      []func(*Step, *Visit)
	LetterTried     []func(id string, y *Try)
	LetterRefused   []func(*Step, *history.AuditEvent, *Try)
	CommitNoted     []func(*Step, Lasting)
	GrowthRead      []func(*Step, *Look)
	GrowthAlarmed   []func(*Step)
	Scanning        []func(*Step)
	Changed         []func(*Step, *history.Fact)
}

// Add has the checker called from now on.
func (h *Hooks) Add(c *Checker) {
	all, its := reflect.ValueOf(h).Elem(), reflect.ValueOf(c).Elem()
	for i := range all.NumField() {
		if hook := its.Field(i); !hook.IsNil() {
			all.Field(i).Set(reflect.Append(all.Field(i), hook))
		}
	}
}
