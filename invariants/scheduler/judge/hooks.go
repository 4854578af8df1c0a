package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"
)

// checker is what an invariant hooks into; any of its functions may be nil. Each is called with the
// facts already up to date. The last two are for whoever judges: an observer does not know of an end.
type checker struct {
	read      func(*step)                          // a state read has ended
	wrote     func(*step, *write)                  // a job's record was written
	sent      func(*step)                          // a dispatch's publish was granted, whatever came of it
	stored    func(*step, *dispatch)               // a stream stored a dispatch; it is not among the job's yet
	voided    func(*step)                          // a stream stored a void in a dispatch's place
	locked    func(*step, *lockChange)             // a lock's key changed
	overdue   func(*step)                          // a handling was seen to go on after its lock had expired, for the first time
	released  func(*step)                          // a handling ended
	acked     func(*step, *message)                // a scheduler acknowledged a message; nil if the stream was not seen to store it
	again     func(*step, *message)                // a message whose handling is known to be done was delivered again
	twice     func(*step, *message)                // and is handled again
	given     func(*job, *message)                 // JetStream delivers a message no more, which nobody has acknowledged; likewise
	ticked    func(*step, *tick)                   // a replica began a tick, or wrote what its tick is for
	ran       func(*step, *workflowRun, *runWrite) // a run's record was written
	fired     func(*step, *stepJob)                // the record of a step's job was made
	submitted func(*step, *stepJob, stepAgain)     // a stream stored the request of one
	saved     func(*step, *job)                    // a path of rescue did what another should have done, for a job or a run
	effect    func(*step)                          // a worker began or finished an execution
	ended     func(*invariants.End)                // the run is over
	audited   func(*invariants.End)                // only what the servers hold is known, and no event
}

// observer brings the facts up to date, event by event, and calls the checkers' hooks. It is not safe for concurrent use.
type observer struct {
	facts *facts

	// What the hooks are shown, reused from event to event so that observing allocates nothing.
	step       step // the event as it concerns its own job
	about      step // the same, as it concerns the job of one change
	write      write
	dispatch   dispatch
	lockChange lockChange

	read      []func(*step)
	wrote     []func(*step, *write)
	sent      []func(*step)
	stored    []func(*step, *dispatch)
	voided    []func(*step)
	locked    []func(*step, *lockChange)
	overdue   []func(*step)
	released  []func(*step)
	acked     []func(*step, *message)
	again     []func(*step, *message)
	twice     []func(*step, *message)
	given     []func(*job, *message)
	ticked    []func(*step, *tick)
	ran       []func(*step, *workflowRun, *runWrite)
	fired     []func(*step, *stepJob)
	submitted []func(*step, *stepJob, stepAgain)
	saved     []func(*step, *job)
	effect    []func(*step)
}

// newObserver returns an observer of a run that has not begun.
func newObserver(cfg config.Config) *observer {
	return &observer{facts: &facts{
		config: cfg.WithDefaults(),
		jobs:   map[string]*job{}, nodes: map[string]*node{}, heard: map[hearing]ear{}, listens: map[string]listening{},
		workflow: workflows{began: time.UnixMilli(0)},
		policy:   newPolicyFacts(),
	}}
}

// hook has the checker called from now on.
func (j *observer) hook(c *checker) {
	j.read = add(j.read, c.read, c.read != nil)
	j.wrote = add(j.wrote, c.wrote, c.wrote != nil)
	j.sent = add(j.sent, c.sent, c.sent != nil)
	j.stored = add(j.stored, c.stored, c.stored != nil)
	j.voided = add(j.voided, c.voided, c.voided != nil)
	j.locked = add(j.locked, c.locked, c.locked != nil)
	j.overdue = add(j.overdue, c.overdue, c.overdue != nil)
	j.released = add(j.released, c.released, c.released != nil)
	j.acked = add(j.acked, c.acked, c.acked != nil)
	j.again = add(j.again, c.again, c.again != nil)
	j.twice = add(j.twice, c.twice, c.twice != nil)
	j.given = add(j.given, c.given, c.given != nil)
	j.ticked = add(j.ticked, c.ticked, c.ticked != nil)
	j.ran = add(j.ran, c.ran, c.ran != nil)
	j.fired = add(j.fired, c.fired, c.fired != nil)
	j.submitted = add(j.submitted, c.submitted, c.submitted != nil)
	j.saved = add(j.saved, c.saved, c.saved != nil)
	j.effect = add(j.effect, c.effect, c.effect != nil)
}

func add[F any](hooks []F, hook F, ok bool) []F {
	if ok {
		return append(hooks, hook)
	}
	return hooks
}
