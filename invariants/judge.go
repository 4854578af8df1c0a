package invariants

import (
	"time"

	"github.com/faultline-sim/faultline/sim"
)

// Config holds the facts of a plan that judging needs. A zero field takes the documented value.
type Config struct {
	DispatchOrder        string        // "state-first", "publish-first" or "outbox" (seed 000)
	MaxSchedulingRetries int           // attempts before FAILED (seed 003)
	MaxDeliver           int           // deliveries before JetStream gives a message up (seed 003)
	WorkerTTL            time.Duration // how long a worker counts as alive after a heartbeat (seed 002)
	RegistrySweep        time.Duration // how often workers past their TTL are evicted
	JobLockTTL           time.Duration // (seed 003)
}

func (c Config) withDefaults() Config {
	if c.MaxSchedulingRetries == 0 {
		c.MaxSchedulingRetries = 50
	}
	if c.MaxDeliver == 0 {
		c.MaxDeliver = 100
	}
	if c.WorkerTTL == 0 {
		c.WorkerTTL = 30 * time.Second
	}
	if c.RegistrySweep == 0 {
		c.RegistrySweep = 10 * time.Second
	}
	if c.JobLockTTL == 0 {
		c.JobLockTTL = 60 * time.Second
	}
	return c
}

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

	read     []func(*step)
	wrote    []func(*step, *write)
	sent     []func(*step)
	stored   []func(*step, *dispatch)
	locked   []func(*step, *lockChange)
	released []func(*step)
	acked    []func(*step)
	effect   []func(*step)
	ended    []func(*End) // one for each tally; nil where there is nothing to judge at the end
}

// NewJudge returns a judge of a run that has not begun.
func NewJudge(cfg Config) *Judge {
	f := &facts{
		cfg:  cfg.withDefaults(),
		jobs: map[string]*job{}, nodes: map[string]*node{}, heard: map[hearing]time.Duration{},
	}
	j := &Judge{facts: f}
	place := map[string]int{}
	for i, inv := range All() {
		place[inv.Name] = i
		t := &tally{inv: inv, facts: f, bit: 1 << i}
		for _, need := range inv.Needs {
			t.needs |= 1 << place[need]
		}
		j.tallies = append(j.tallies, t)
		j.hook(inv.check(f, t))
	}
	return j
}

// Broken says whether the invariant of that name was violated within its promise so far; with no
// name, whether any was.
func (j *Judge) Broken(name string) bool {
	if name == "" || j.facts.unkept == 0 {
		return j.facts.unkept != 0
	}
	for _, t := range j.tallies {
		if t.inv.Name == name {
			return j.facts.unkept&t.bit != 0
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
	j.locked = add(j.locked, c.locked, c.locked != nil)
	j.released = add(j.released, c.released, c.released != nil)
	j.acked = add(j.acked, c.acked, c.acked != nil)
	j.effect = add(j.effect, c.effect, c.effect != nil)
	j.ended = append(j.ended, c.ended)
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
	Streams []sim.Change                 // every message of every stream; nil if they were not read
	Metrics map[string]float64           // summed over the schedulers, as name{label="value"}; nil if there are none to judge
}

// Report is the judgement of one run.
type Report struct {
	Invariants []Outcome // in the order of All
	Classes    []string  // the fault classes that the run met, in a fixed order
	InTime     bool      // as the End says
}

// Outcome is the judgement of one invariant.
type Outcome struct {
	Invariant
	Exercised  int         // how often there was something to judge; of a Sometimes, how often it was reached
	Promised   int         // violations within the promise
	Unpromised int         // violations outside of it
	Stopped    int         // violations not counted, since an invariant that this one needs was violated before
	Violations []Violation // in the order of their steps; at most ViolationsMax of each sort
}

// Violation is one way in which an invariant did not hold.
type Violation struct {
	Invariant string
	Promised  bool   // no fault that releases the promise met the job before
	Job       string // empty if it is about no single job
	Step      int
	At        time.Duration
	Message   string
}

// Finish judges what can only be judged at the end, and returns the report. The judge is of no use
// afterwards.
func (j *Judge) Finish(end End) Report {
	f := j.facts
	f.at = end.At
	if end.InTime {
		f.giveUp()
	}
	for i, ended := range j.ended {
		t := j.tallies[i]
		if ended == nil || !end.InTime && t.inv.Kind == Eventually || f.broken&t.needs != 0 {
			continue
		}
		ended(&end)
	}
	r := Report{InTime: end.InTime}
	for _, t := range j.tallies {
		r.Invariants = append(r.Invariants, Outcome{
			Invariant: t.inv, Exercised: t.exercised, Promised: t.promised, Unpromised: t.unpromised,
			Stopped: t.stopped, Violations: t.violations,
		})
	}
	for i, c := range classes {
		if c.fault != "" && f.met[i] > 0 {
			r.Classes = append(r.Classes, c.fault)
		}
	}
	return r
}
