package observe

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"
)

// checker is what an invariant hooks into; any of its functions may be nil. Each is called with the
// facts already up to date. The last two are for whoever judges: an observer does not know of an end.
type Checker struct {
	Read      func(*Step)                          // a state read has ended
	Wrote     func(*Step, *Write)                  // a job's record was written
	Sent      func(*Step)                          // a dispatch's publish was granted, whatever came of it
	Stored    func(*Step, *Dispatch)               // a stream stored a dispatch; it is not among the job's yet
	Voided    func(*Step)                          // a stream stored a void in a dispatch's place
	Locked    func(*Step, *LockChange)             // a lock's key changed
	Overdue   func(*Step)                          // a handling was seen to go on after its lock had expired, for the first time
	Released  func(*Step)                          // a handling ended
	Acked     func(*Step, *Message)                // a scheduler acknowledged a message; nil if the stream was not seen to store it
	Again     func(*Step, *Message)                // a message whose handling is known to be done was delivered again
	Twice     func(*Step, *Message)                // and is handled again
	Given     func(*Job, *Message)                 // JetStream delivers a message no more, which nobody has acknowledged; likewise
	Ticked    func(*Step, *Tick)                   // a replica began a tick, or wrote what its tick is for
	Ran       func(*Step, *WorkflowRun, *RunWrite) // a run's record was written
	Fired     func(*Step, *StepJob)                // the record of a step's job was made
	Submitted func(*Step, *StepJob, StepAgain)     // a stream stored the request of one
	Saved     func(*Step, *Job)                    // a path of rescue did what another should have done, for a job or a run
	Effect    func(*Step)                          // a worker began or finished an execution
	Ended     func(*invariants.End)                // the run is over
	Audited   func(*invariants.End)                // only what the servers hold is known, and no event
}

// observer brings the facts up to date, event by event, and calls the checkers' hooks. It is not safe for concurrent use.
type Observer struct {
	Facts *Facts

	// What the hooks are shown, reused from event to event so that observing allocates nothing.
	step       Step // the event as it concerns its own job
	about      Step // the same, as it concerns the job of one change
	write      Write
	dispatch   Dispatch
	lockChange LockChange

	read      []func(*Step)
	wrote     []func(*Step, *Write)
	sent      []func(*Step)
	stored    []func(*Step, *Dispatch)
	voided    []func(*Step)
	locked    []func(*Step, *LockChange)
	overdue   []func(*Step)
	released  []func(*Step)
	acked     []func(*Step, *Message)
	again     []func(*Step, *Message)
	twice     []func(*Step, *Message)
	given     []func(*Job, *Message)
	ticked    []func(*Step, *Tick)
	ran       []func(*Step, *WorkflowRun, *RunWrite)
	fired     []func(*Step, *StepJob)
	submitted []func(*Step, *StepJob, StepAgain)
	saved     []func(*Step, *Job)
	effect    []func(*Step)
}

// newObserver returns an observer of a run that has not begun.
func NewObserver(cfg config.Config) *Observer {
	return &Observer{Facts: &Facts{
		Config: cfg.WithDefaults(),
		Jobs:   map[string]*Job{}, nodes: map[string]*node{}, Heard: map[Hearing]ear{}, listens: map[string]listening{},
		Workflow: workflows{Began: time.UnixMilli(0)},
		Policy:   newPolicyFacts(),
	}}
}

// hook has the checker called from now on.
func (j *Observer) Hook(c *Checker) {
	j.read = add(j.read, c.Read, c.Read != nil)
	j.wrote = add(j.wrote, c.Wrote, c.Wrote != nil)
	j.sent = add(j.sent, c.Sent, c.Sent != nil)
	j.stored = add(j.stored, c.Stored, c.Stored != nil)
	j.voided = add(j.voided, c.Voided, c.Voided != nil)
	j.locked = add(j.locked, c.Locked, c.Locked != nil)
	j.overdue = add(j.overdue, c.Overdue, c.Overdue != nil)
	j.released = add(j.released, c.Released, c.Released != nil)
	j.acked = add(j.acked, c.Acked, c.Acked != nil)
	j.again = add(j.again, c.Again, c.Again != nil)
	j.twice = add(j.twice, c.Twice, c.Twice != nil)
	j.given = add(j.given, c.Given, c.Given != nil)
	j.ticked = add(j.ticked, c.Ticked, c.Ticked != nil)
	j.ran = add(j.ran, c.Ran, c.Ran != nil)
	j.fired = add(j.fired, c.Fired, c.Fired != nil)
	j.submitted = add(j.submitted, c.Submitted, c.Submitted != nil)
	j.saved = add(j.saved, c.Saved, c.Saved != nil)
	j.effect = add(j.effect, c.Effect, c.Effect != nil)
}

func add[F any](hooks []F, hook F, ok bool) []F {
	if ok {
		return append(hooks, hook)
	}
	return hooks
}
