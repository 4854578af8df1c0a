package observe

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
)

// Checker is what an invariant hooks into; any of its functions may be nil. Each is called with the
// facts already up to date. The last two are for whoever judges: an observer does not know of an end.
type Checker struct {
	Read      func(*model.Step)                                      // a state read has ended
	Wrote     func(*model.Step, *model.Write)                        // a job's record was written
	Sent      func(*model.Step)                                      // a dispatch's publish was granted, whatever came of it
	Stored    func(*model.Step, *model.Dispatch)                     // a stream stored a dispatch; it is not among the job's yet
	Voided    func(*model.Step)                                      // a stream stored a void in a dispatch's place
	Locked    func(*model.Step, *model.LockChange)                   // a lock's key changed
	Overdue   func(*model.Step)                                      // a handling was seen to go on after its lock had expired, for the first time
	Released  func(*model.Step)                                      // a handling ended
	Acked     func(*model.Step, *model.Message)                      // a scheduler acknowledged a message; nil if the stream was not seen to store it
	Termed    func(*model.Step, *model.Message)                      // a scheduler terminated a message; likewise
	Again     func(*model.Step, *model.Message)                      // a message whose handling is known to be done was delivered again
	Twice     func(*model.Step, *model.Message)                      // and is handled again
	Given     func(*model.Job, *model.Message)                       // JetStream delivers a message no more, which nobody has acknowledged; likewise
	Ticked    func(*model.Step, *model.Tick)                         // a replica began a tick, or wrote what its tick is for
	Listed    func(*model.Step, *model.Tick)                         // a replica looks for what its tick is to deal with
	Ran       func(*model.Step, *model.WorkflowRun, *model.RunWrite) // a run's record was written
	Fired     func(*model.Step, *model.StepJob)                      // the record of a step's job was made
	Submitted func(*model.Step, *model.StepJob, model.StepAgain)     // a stream stored the request of one
	Saved     func(*model.Step, *model.Job)                          // a path of rescue did what another should have done, for a job or a run
	Buried    func(*model.Step, *history.DeadLetter)                 // a handling wrote its job's dead letter
	Done      func(*model.Step)                                      // a worker acknowledged a dispatch, and the stream knows
	Effect    func(*model.Step)                                      // a worker began or finished an execution
	Ended     func(*invariants.End)                                  // the run is over
	Audited   func(*invariants.End)                                  // only what the servers hold is known, and no event
}

// Observer brings the facts up to date, event by event, and calls the checkers' hooks. It is not safe for concurrent use.
type Observer struct {
	Facts *model.Facts
	said  []history.Fact // by the event at hand

	// What the hooks are shown, reused from event to event so that observing allocates nothing.
	step       model.Step // the event as it concerns its own job
	about      model.Step // the same, as it concerns the job of one change
	write      model.Write
	dispatch   model.Dispatch
	lockChange model.LockChange

	read      []func(*model.Step)
	wrote     []func(*model.Step, *model.Write)
	sent      []func(*model.Step)
	stored    []func(*model.Step, *model.Dispatch)
	voided    []func(*model.Step)
	locked    []func(*model.Step, *model.LockChange)
	overdue   []func(*model.Step)
	released  []func(*model.Step)
	acked     []func(*model.Step, *model.Message)
	termed    []func(*model.Step, *model.Message)
	again     []func(*model.Step, *model.Message)
	twice     []func(*model.Step, *model.Message)
	given     []func(*model.Job, *model.Message)
	ticked    []func(*model.Step, *model.Tick)
	listed    []func(*model.Step, *model.Tick)
	ran       []func(*model.Step, *model.WorkflowRun, *model.RunWrite)
	fired     []func(*model.Step, *model.StepJob)
	submitted []func(*model.Step, *model.StepJob, model.StepAgain)
	saved     []func(*model.Step, *model.Job)
	buried    []func(*model.Step, *history.DeadLetter)
	done      []func(*model.Step)
	effect    []func(*model.Step)
}

// NewObserver returns an observer of a run that has not begun.
func NewObserver(cfg config.Config) *Observer {
	return &Observer{Facts: &model.Facts{
		Config: cfg.WithDefaults(),
		Jobs:   map[string]*model.Job{}, Nodes: map[string]*model.Node{}, Heard: map[model.Replica][]*model.Ear{}, Listens: map[string]model.Listening{},
		Workflow: model.Workflows{Began: time.UnixMilli(0)},
		Policy:   model.NewPolicyFacts(),
	}}
}

// Hook has the checker called from now on.
func (o *Observer) Hook(c *Checker) {
	o.read = add(o.read, c.Read, c.Read != nil)
	o.wrote = add(o.wrote, c.Wrote, c.Wrote != nil)
	o.sent = add(o.sent, c.Sent, c.Sent != nil)
	o.stored = add(o.stored, c.Stored, c.Stored != nil)
	o.voided = add(o.voided, c.Voided, c.Voided != nil)
	o.locked = add(o.locked, c.Locked, c.Locked != nil)
	o.overdue = add(o.overdue, c.Overdue, c.Overdue != nil)
	o.released = add(o.released, c.Released, c.Released != nil)
	o.acked = add(o.acked, c.Acked, c.Acked != nil)
	o.termed = add(o.termed, c.Termed, c.Termed != nil)
	o.again = add(o.again, c.Again, c.Again != nil)
	o.twice = add(o.twice, c.Twice, c.Twice != nil)
	o.given = add(o.given, c.Given, c.Given != nil)
	o.ticked = add(o.ticked, c.Ticked, c.Ticked != nil)
	o.listed = add(o.listed, c.Listed, c.Listed != nil)
	o.ran = add(o.ran, c.Ran, c.Ran != nil)
	o.fired = add(o.fired, c.Fired, c.Fired != nil)
	o.submitted = add(o.submitted, c.Submitted, c.Submitted != nil)
	o.saved = add(o.saved, c.Saved, c.Saved != nil)
	o.buried = add(o.buried, c.Buried, c.Buried != nil)
	o.done = add(o.done, c.Done, c.Done != nil)
	o.effect = add(o.effect, c.Effect, c.Effect != nil)
}

func add[F any](hooks []F, hook F, ok bool) []F {
	if ok {
		return append(hooks, hook)
	}
	return hooks
}

// concerning copies s, to be turned to the job that one of its changes is about.
func (o *Observer) concerning(s *model.Step) *model.Step {
	o.about = *s
	return &o.about
}
