package model

import (
	"reflect"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Checker is what an invariant hooks into; any of its functions may be nil. They are called when the facts
// are up to date. The last two are for the judge: an observer does not know of an end.
type Checker struct {
	Read            func(*Step)                                           // a state read has ended
	Wrote           func(*Step, *Write)                                   // a job's record was written
	Amended         func(*Step, *Write)                                   // it was changed without a write of its state
	Requested       func(*Step, *Job, *history.Request)                   // a client stored a request, in its job's record or in a stream; nil if the request is unreadable
	CancelRequested func(s *Step, j *Job, reason string)                  // a client stored a cancellation; likewise
	Confirmed       func(s *Step, times int)                              // a client or a worker is told that the stream has what it published; times is how often so far
	Sent            func(*Step)                                           // a dispatch's publish was granted, whatever its outcome
	Stored          func(*Step, *Dispatch)                                // a stream stored a dispatch, which is not yet among the job's
	Voided          func(*Step)                                           // a stream stored a void in place of a dispatch
	Locked          func(*Step, *LockChange)                              // a lock's key changed
	Renews          func(*Step)                                           // a handling asks for more time with its job's lock
	Overdue         func(*Step)                                           // a handling was seen to go on after its lock had expired, for the first time
	Released        func(*Step)                                           // a handling ended
	Acked           func(*Step, *Message)                                 // a scheduler acknowledged a message; nil if the stream was not seen to store it
	Termed          func(*Step, *Message)                                 // a scheduler terminated a message; likewise
	SentBack        func(*Step, *Message)                                 // a scheduler sent a message back
	Resent          func(j *Job, u *Unconfirmed, late bool)               // a failed answer to a delivery is sent again, or is late with that
	Back            func(*Step, *Message)                                 // a message that was sent back was redelivered, for no other reason
	Again           func(*Step, *Message)                                 // a message whose handling is known to be done was redelivered
	Twice           func(*Step, *Message)                                 // and is handled again
	Replied         func(*Job, *Message)                                  // a stream stored a worker's result
	Given           func(*Job, *Message)                                  // JetStream no longer delivers a message that nobody has acknowledged; likewise
	Ticked          func(*Step, *Tick)                                    // a replica began a tick, or wrote what its tick is for
	Listed          func(*Step, *Tick)                                    // a replica looks for the work of its tick
	Ran             func(*Step, *WorkflowRun, *RunWrite)                  // a run's record was written
	RunLocked       func(*Step, *WorkflowRun)                             // the lock of a run was taken or renewed
	Fired           func(*Step, *StepJob)                                 // the record of a step's job was made
	Submitted       func(*Step, *StepJob, StepAgain)                      // a stream stored the request of a step's job
	TakenUp         func(s *Step, due time.Duration)                      // a replayer handles a waiting job, for the first time since the job was written
	Saved           func(*Step, *Job)                                     // a rescue did what another part should have done, for a job or a run
	Buried          func(*Step, *history.DeadLetter)                      // a handling wrote its job's dead letter
	Done            func(*Step)                                           // a worker acknowledged a dispatch, and the stream knows
	Effect          func(*Step)                                           // a worker began or finished an execution
	Beat            func(*sim.Event)                                      // a worker sends a heartbeat
	Heard           func(*sim.Event)                                      // a replica has received a heartbeat
	Calling         func(*Step, history.Circuit, *Leave)                  // a call that a circuit guards is sent
	CircuitRead     func(s *Step, c history.Circuit, was, is *Leave)      // somebody reads the shared counter; was is what they found before
	FailuresCounted func(s *Step, c history.Circuit, was, is, owed int)   // somebody counts failures in it
	CircuitClosed   func(*Step, history.Circuit)                          // somebody deletes the shared counter
	ProbeCounted    func(*Step, history.Circuit, time.Duration)           // somebody counts a call of half-open there, for so long; negative is for ever
	Recorded        func(s *Step, c *Compensation, again bool)            // a compensation was pushed onto its saga's stack
	Compensated     func(s *Step, c *Compensation, first bool)            // a rollback submitted a compensation
	RolledOn        func(s *Step, g *Saga, due time.Duration)             // somebody resumes a rollback that was due
	SagaLocked      func(s *Step, g *Saga, was Lock)                      // the key of a rollback's lock changed
	RolledBack      func(*Step, *Saga)                                    // the holder of a rollback's lock begins to release it
	LetterFiled     func(s *Step, id string, was, is *history.DeadLetter) // a dead letter was written, whatever it is about; was is what it said before, if anything
	LetterRewritten func(s *Step, id string, was, is *Letter)             // a job's dead letter was written
	LetterDecided   func(s *Step, id string, was, is *Letter)             // and triage, a replay or a person has decided on it; all changes of the step are known
	ReplayPutOff    func(s *Step, id string, is *Letter)                  // its replay was put off
	LetterCalled    func(s *Step, due time.Duration)                      // a dead letter that was due is visited for the first time since
	LetterMisplaced func(s *Step, id string, at, due time.Duration)       // the replay worker's list has a dead letter at another time than the letter itself
	LetterVisited   func(*Step, *Visit)                                   // a visit of a dead letter has ended while others waited
	LetterLeft      func(*Step, *Visit)                                   // a visit has ended in which nothing failed
	LetterTried     func(id string, y *Try)                               // the operator looks at a dead letter again, which shows the result of the last try
	LetterRefused   func(*Step, *history.AuditEvent, *Try)                // the audit trail says that the operator may not decide on a dead letter
	Noted           func(*Step, *history.AuditEvent)                      // an event was put into the audit trail; all of the step's changes are known
	CommitNoted     func(*Step, Lasting)                                  // it was noted who has done what an idempotency key stands for
	GrowthRead      func(*Step, *Look)                                    // a process checks how the queue of dead letters grows, as it did before
	GrowthAlarmed   func(*Step)                                           // the growth alert was raised, or ended
	Scanning        func(*Step)                                           // the writer of SUCCEEDED begins to scan the output
	ScanLeft        func(s *Step, id string, lasts time.Duration)         // somebody has a scan that is kept, and nobody else takes it up for at least so long
	GivenUp         func(e *sim.Event, h *Hanging)                        // an operation that hung ends for its caller
	Changed         func(*Step, *history.Fact)                            // a step changed a key of Redis, or a stream; all of its changes are known
	Ended           func(*invariants.End)                                 // the run is over
	Audited         func(*invariants.End)                                 // only the content of the servers is known, without events
}

// Hooks are the functions of all checkers. Its fields have the names of the checker's.
type Hooks struct {
	Read            []func(*Step)
	Wrote           []func(*Step, *Write)
	Amended         []func(*Step, *Write)
	Requested       []func(*Step, *Job, *history.Request)
	CancelRequested []func(s *Step, j *Job, reason string)
	Confirmed       []func(s *Step, times int)
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
	Resent          []func(j *Job, u *Unconfirmed, late bool)
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
	ProbeCounted    []func(*Step, history.Circuit, time.Duration)
	Recorded        []func(s *Step, c *Compensation, again bool)
	Compensated     []func(s *Step, c *Compensation, first bool)
	RolledOn        []func(s *Step, g *Saga, due time.Duration)
	SagaLocked      []func(s *Step, g *Saga, was Lock)
	RolledBack      []func(*Step, *Saga)
	LetterFiled     []func(s *Step, id string, was, is *history.DeadLetter)
	LetterRewritten []func(s *Step, id string, was, is *Letter)
	LetterDecided   []func(s *Step, id string, was, is *Letter)
	ReplayPutOff    []func(s *Step, id string, is *Letter)
	LetterCalled    []func(s *Step, due time.Duration)
	LetterMisplaced []func(s *Step, id string, at, due time.Duration)
	LetterVisited   []func(*Step, *Visit)
	LetterLeft      []func(*Step, *Visit)
	LetterTried     []func(id string, y *Try)
	LetterRefused   []func(*Step, *history.AuditEvent, *Try)
	Noted           []func(*Step, *history.AuditEvent)
	CommitNoted     []func(*Step, Lasting)
	GrowthRead      []func(*Step, *Look)
	GrowthAlarmed   []func(*Step)
	Scanning        []func(*Step)
	ScanLeft        []func(s *Step, id string, lasts time.Duration)
	GivenUp         []func(e *sim.Event, h *Hanging)
	Changed         []func(*Step, *history.Fact)
}

// Add adds the checker's functions.
func (h *Hooks) Add(c *Checker) {
	all, its := reflect.ValueOf(h).Elem(), reflect.ValueOf(c).Elem()
	for i := range all.NumField() {
		if hook := its.FieldByName(all.Type().Field(i).Name); !hook.IsNil() {
			all.Field(i).Set(reflect.Append(all.Field(i), hook))
		}
	}
}
