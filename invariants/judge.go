package invariants

import (
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Judge watches one run. It is not safe for concurrent use.
type Judge struct {
	facts   *facts
	tallies []*tally

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
	ran       []func(*step, *wfRun, *runWrite)
	fired     []func(*step, *stepJob)
	submitted []func(*step, *stepJob, stepAgain)
	saved     []func(*step, *job)
	effect    []func(*step)
	ended     []func(*End) // one for each tally; nil where there is nothing to judge at the end
	audited   []func(*End) // likewise
}

// NewJudge returns a judge of a run that has not begun.
func NewJudge(cfg Config) *Judge {
	f := &facts{
		cfg:  cfg.withDefaults(),
		jobs: map[string]*job{}, nodes: map[string]*node{}, heard: map[hearing]ear{}, listens: map[string]listening{},
		workflow: workflows{began: time.UnixMilli(0)},
		policy:   newPolicyFacts(),
	}
	j := &Judge{facts: f}
	place := map[string]int{}
	for i, inv := range All() {
		place[inv.Name] = i
		t := &tally{inv: inv, facts: f, place: i, promises: inv.row.promised(&f.cfg), released: inv.row.released(&f.cfg)}
		if inv.Kind != Sometimes {
			t.inv.Promise = inv.row.says(&f.cfg)
		}
		for _, need := range inv.Needs {
			t.needs.add(place[need])
		}
		j.tallies = append(j.tallies, t)
		j.hook(inv.check(f, t))
	}
	return j
}

// Broken says whether the invariant of that name was violated within its promise so far; with no
// name, whether any was.
func (j *Judge) Broken(name string) bool {
	if name == "" || j.facts.unkept == (places{}) {
		return j.facts.unkept != places{}
	}
	for _, t := range j.tallies {
		if t.inv.Name == name {
			return j.facts.unkept.has(t.place)
		}
	}
	return false
}

// Violated says whether the invariant of that name was violated so far, within its promise or not.
func (j *Judge) Violated(name string) bool {
	for _, t := range j.tallies {
		if t.inv.Name == name {
			return t.promised+t.unpromised > 0
		}
	}
	return false
}

func (j *Judge) hook(c checker) {
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
	j.ended = append(j.ended, c.ended)
	j.audited = append(j.audited, c.audited)
}

func add[F any](hooks []F, hook F, ok bool) []F {
	if ok {
		return append(hooks, hook)
	}
	return hooks
}

// End is what the servers and the schedulers hold when a run is over.
type End struct {
	At      time.Duration                // virtual time since the world began
	InTime  bool                         // the world had its time to settle, and no budget ran out before; else no Eventually is judged
	Redis   map[string]map[string]string // every key: a hash's fields, a sorted set's members with their scores, a string under ""
	TTLs    map[string]time.Duration     // what the keys that expire have left; only an audit has it, since events tell
	Streams []sim.Change                 // every message of every stream; nil if they were not read
	Metrics map[string]float64           // summed over the schedulers, as name{label="value"}; nil if there are none to judge
}

// Report is the judgement of one run.
type Report struct {
	Invariants []Outcome // in the order of All
	Strikes    []Strike  // in the order of their steps
	InTime     bool      // as the End says
}

// Outcome is the judgement of one invariant.
type Outcome struct {
	Invariant
	Exercised  int          // how often there was something to judge; of a Sometimes, how often it was reached
	Promised   int          // violations within the promise
	Unpromised int          // violations outside of it
	Stopped    int          // violations not counted, since an invariant that this one needs was violated before
	Unprovided bool         // the settings of the run have nothing that provides for it, whatever the faults
	Released   []StrikeKind // the kinds of strike that release it under the settings of the run
	Violations []Violation  // in the order of their steps; at most ViolationsMax of each sort
}

// Violation is one way in which an invariant did not hold.
type Violation struct {
	Invariant string
	Promised  bool   // the settings promise it, and no strike that releases that has reached the job
	Job       string // empty if it is about no single job
	Step      int
	At        time.Duration
	Message   string
	Steps     []int        // others that it depends on
	Struck    []StrikeKind // the kinds of strike that had reached it
}

// Finish judges what can only be judged at the end, and returns the report. The judge is of no use
// afterwards.
func (j *Judge) Finish(end End) Report {
	f := j.facts
	f.at = end.At
	if end.InTime {
		j.giveUp()
	}
	for i, ended := range j.ended {
		t := j.tallies[i]
		if ended == nil || !end.InTime && t.inv.Kind == Eventually || f.broken.meets(t.needs) {
			continue
		}
		ended(&end)
	}
	return j.report(end.InTime)
}

func (j *Judge) report(inTime bool) Report {
	f, r := j.facts, Report{InTime: inTime}
	for _, t := range j.tallies {
		r.Invariants = append(r.Invariants, Outcome{
			Invariant: t.inv, Exercised: t.exercised, Promised: t.promised, Unpromised: t.unpromised,
			Stopped: t.stopped, Unprovided: !t.promises && t.inv.Kind != Sometimes, Released: t.released.list(), Violations: t.violations,
		})
	}
	r.Strikes = f.strikes.list
	return r
}
