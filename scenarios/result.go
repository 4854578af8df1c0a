package scenarios

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/samples"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// ResultVersion is the version of the format of result.json.
const ResultVersion = 3 // 3: the command as data; 2: derived jobs are told as fully as others, and runs

// Verdict is the outcome of a run.
type Verdict string

// The verdicts, and the exit codes of `wavetank run` for them.
const (
	Held         Verdict = "held"         // 0: no invariant was violated within its promise
	Violated     Verdict = "violated"     // 1
	Inconclusive Verdict = "inconclusive" // 3: a budget ran out, a fault never fired, or an expectation was not met
)

// Result is the result of a run: the content of result.json. It depends only on the plan and the build.
type Result struct {
	Version    int                `json:"version"`
	Build      string             `json:"build"`
	Scenario   string             `json:"scenario"`
	Story      string             `json:"story,omitempty"`
	Preset     string             `json:"preset"`
	Seed       uint64             `json:"seed"`
	Overrides  []string           `json:"overrides,omitempty"` // key=value, as --set takes them; judge=invariant, as --judge does
	Replay     string             `json:"replay"`              // the command that repeats this run
	Command    Command            `json:"command"`             // the same, as data
	Verdict    Verdict            `json:"verdict"`
	Reason     string             `json:"reason"`             // one sentence
	Expected   bool               `json:"expected,omitempty"` // violated as the plan expects
	Digest     string             `json:"digest"`             // 16 hexadecimal digits computed from every event
	Start      time.Time          `json:"start"`              // of the world, by its own calendar
	Redis      string             `json:"redis,omitempty"`    // name and version of the redis-server that was the world's Redis; empty for miniredis
	Steps      int                `json:"steps"`
	Virtual    time.Duration      `json:"virtual_ns"`
	OutOfSteps bool               `json:"out_of_steps,omitempty"` // it reached schedule.steps_max before it was over
	EndedSoon  bool               `json:"ended_soon,omitempty"`   // it ended before the world had its time to settle: no Eventually was judged
	PCT        *PCTResult         `json:"pct,omitempty"`          // of a run under that strategy
	Invariants []InvariantResult  `json:"invariants"`
	Violations []Violation        `json:"violations"`
	Fired      []FiredFault       `json:"faults_fired"`
	Unfired    []string           `json:"faults_unfired,omitempty"` // faults, in words, that did not fire as they should, and how often they did
	Idle       []string           `json:"idle,omitempty"`           // parts of the plan that do nothing, and why; a sentence each
	Telling    []string           `json:"telling"`                  // the story of the jobs that the plan is about; a sentence each
	TellingAt  []ToldAt           `json:"telling_at,omitempty"`     // the times of its sentences; the last sentences have none
	Jobs       []JobResult        `json:"jobs"`                     // in the order of their numbers
	Unsettled  []Unsettled        `json:"unsettled,omitempty"`
	Runs       []*RunResult       `json:"runs,omitempty"`     // of workflows, in the order of their starts
	Derived    []*DerivedJob      `json:"derived,omitempty"`  // in the order in which they first appeared
	Audit      []AuditEvent       `json:"audit,omitempty"`    // the recorded decisions, in order
	Breakers   []BreakerChange    `json:"breakers,omitempty"` // what the circuit breakers of each replica did, in the order of time
	Open       []string           `json:"open,omitempty"`     // what is still to come; a sentence each
	Cause      *why.Cause         `json:"cause,omitempty"`    // the cause of the first violation; nil if there is none, or nobody looked for it
	Counters   map[string]float64 `json:"counters,omitempty"` // the schedulers' metrics, summed over the replicas, as name{label="value"}

	Samples *samples.Recording `json:"-"` // what a Prometheus would have scraped; nil if it was not recorded
	Alerts  []samples.Alert    `json:"-"` // the alerts that fired over the samples, once the rules have been evaluated
}

// PCTResult says how likely a run with the strategy pct was to find a bug.
type PCTResult struct {
	Actors       int     `json:"actors"`        // n, the number of actors in the run
	Steps        int     `json:"steps"`         // k, the number of steps that the change points were drawn from
	ChangePoints int     `json:"change_points"` // d-1
	Bound        float64 `json:"bound"`         // 1/(n k^(d-1)): the least chance to find a bug of depth d
}

// Status is the status of an invariant after a run.
type Status string

// The statuses of an invariant.
const (
	StatusHeld         Status = "held"
	StatusViolated     Status = "violated"
	StatusUnpromised   Status = "broken outside its promise" // violated, but only under faults for which it is not promised
	StatusNotExercised Status = "not exercised"
	StatusNotJudged    Status = "not judged"  // at least for some job: an invariant that it depends on was violated before
	StatusReached      Status = "reached"     // a Sometimes
	StatusNotReached   Status = "not reached" // a Sometimes
)

// InvariantResult is one row of the report's table of invariants.
type InvariantResult struct {
	Name      string `json:"name"`
	Says      string `json:"says"`
	Kind      string `json:"kind"`              // always, eventually, sometimes
	Promise   string `json:"promise,omitempty"` // the class of faults under which it is promised, in words
	Status    Status `json:"status"`
	Exercised int    `json:"exercised"`          // how often there was something to judge
	Unlisted  int    `json:"unlisted,omitempty"` // how many violations the list of the result omits

	// StoppedBy lists the violated invariants that kept this one from being judged.
	StoppedBy []string `json:"stopped_by,omitempty"`

	Unprovided bool `json:"-"` // the settings do not provide for any of it, whatever strikes

	unlisted []invariants.Unlisted
}

// Violation is one violation of an invariant.
type Violation struct {
	Invariant string        `json:"invariant"`
	Promised  bool          `json:"promised"` // within the invariant's promise, or judged whatever the promise, by the plan's expect
	Job       string        `json:"job,omitempty"`
	Step      int           `json:"step"`
	At        time.Duration `json:"at_ns"`
	Message   string        `json:"message"`
	Steps     []int         `json:"steps,omitempty"`    // other steps that it depends on
	Released  []string      `json:"released,omitempty"` // outside the promise: the kinds of strike that release it; none if the settings do not provide for it, or the matrix leaves it open
	InGap     bool          `json:"-"`                  // it falls under what the matrix leaves open besides strikes
}

// FiredFault is one strike of a fault.
type FiredFault struct {
	Fault      string        `json:"fault"` // the plan's fault, in words
	Do         string        `json:"do"`
	Step       int           `json:"step"`
	At         time.Duration `json:"at_ns"`
	Until      time.Duration `json:"until_ns,omitempty"` // when a fault that lasts ended
	Node       string        `json:"node"`
	Job        string        `json:"job,omitempty"`
	Phase      string        `json:"phase,omitempty"`
	Occurrence int           `json:"occurrence,omitempty"`
	Number     int           `json:"-"` // the fault's index in the plan; strikes of world.dying have the indices after those
	Says       string        `json:"-"` // what it did, as the story begins to tell it
}

// JobResult is what happened to one job, from ground truth.
type JobResult struct {
	ID             string          `json:"id"`
	About          bool            `json:"about,omitempty"` // the plan is about this job
	Told           bool            `json:"told,omitempty"`  // the story follows this job, among others
	State          string          `json:"state"`           // at the end; empty if there is no record
	Attempts       int             `json:"attempts"`
	Path           []JobPoint      `json:"path,omitempty"`            // every state write, in order
	Dispatches     []DispatchPoint `json:"dispatches"`                // every dispatch that a stream stored
	Executions     int             `json:"executions"`                // how often a worker began to execute it
	Effects        int             `json:"effects,omitempty"`         // how often a worker had its effect
	StalePicks     int             `json:"stale_picks,omitempty"`     // picks that met a worker past its TTL
	StaleExhausted int             `json:"stale_exhausted,omitempty"` // dispatches whose picks all met one, so that the message went back
	StaleHeld      time.Duration   `json:"stale_held_ns,omitempty"`   // from a handling's first stale pick to its last, or to the dispatch; its message, lock and handler wait meanwhile
	ToDead         bool            `json:"to_dead,omitempty"`         // a dispatch went to a worker that was down, or went down before the job ended
	Submitted      time.Duration   `json:"submitted_ns"`
	Settled        time.Duration   `json:"settled_ns,omitempty"` // when it reached its terminal state; 0 if it did not
	Blind          *BlindWindow    `json:"blind_window,omitempty"`
	Reason         string          `json:"reason_code,omitempty"`
	LastCause      string          `json:"last_cause,omitempty"` // for a job that was given up: the failure of its last attempt
	Why            string          `json:"reason,omitempty"`     // in words, as in its record
	DoneBy         string          `json:"done_by,omitempty"`    // the replay that succeeded for it
}

// JobPoint is one state write.
type JobPoint struct {
	Step     int           `json:"step"`
	At       time.Duration `json:"at_ns"`
	State    string        `json:"state"`
	Attempts int           `json:"attempts"`
	Phase    string        `json:"phase"`
}

// DispatchPoint is one stored dispatch.
type DispatchPoint struct {
	Step    int           `json:"step"`
	At      time.Duration `json:"at_ns"`
	Subject string        `json:"subject"`
	Seq     uint64        `json:"seq"`
}

// BreakerChange is a change of state of a replica's circuit breaker (Scheduler internals, section 6). It is
// derived from what the replica read of the shared counter, and from the outcomes of its calls.
type BreakerChange struct {
	At      time.Duration `json:"at_ns"`
	Node    string        `json:"node"`
	Circuit string        `json:"circuit"`         // safety or output
	State   string        `json:"state"`           // closed, open or half-open
	Alone   bool          `json:"alone,omitempty"` // it uses its own counter, since Redis is away
}

// ToldAt is the time of a sentence of the story, and what it tells of.
type ToldAt struct {
	Step     int           `json:"step,omitempty"` // 0 if no step shows it
	At       time.Duration `json:"at_ns"`
	Violates string        `json:"violates,omitempty"` // the invariant whose violation it tells of
	Ends     int           `json:"ends,omitempty"`     // the step of the strike whose end it tells of
	Turn     bool          `json:"turn,omitempty"`     // a handling begins that is not the job's first
	Wrong    bool          `json:"wrong,omitempty"`    // it tells of a strike, or of an operation that failed, was late or did nothing
	Strike   bool          `json:"strike,omitempty"`   // it tells of a strike or of a strike's end
}

// Unsettled is a job that did not settle, and why.
type Unsettled struct {
	Job    string        `json:"job"`
	State  string        `json:"state"`
	Since  time.Duration `json:"since_ns"`
	Reason string        `json:"reason"`
}

// Leading returns the sentences of the story that lead to a violation, at most so many, and how many were
// left out. It keeps them in this order: steps that the violation depends on and those in needed; then
// strikes and what went wrong; then handlings that begin anew; then other sentences since the first fault.
// The rest, before the first fault or of the violation's own step, is left out first. Among equals Leading
// leaves out sentences that concern only other jobs first, and then the middle.
func (res *Result) Leading(v *Violation, most int, needed ...int) (list []int, left int) {
	struck, first := map[int]bool{}, -1
	for _, f := range res.Fired {
		struck[f.Step] = true
	}
	for i, at := range res.TellingAt {
		before := at.At < v.At || at.At == v.At && at.Step <= v.Step && (at.Step > 0 || v.Step == 0)
		if at.Violates == "" && before {
			list = append(list, i)
			if struck[at.Step] && first < 0 {
				first = i
			}
		}
	}
	left = max(0, len(list)-most)
	weight := func(i int) int {
		w := 0
		switch at := res.TellingAt[i]; {
		case at.Step == v.Step && v.Step > 0:
		case slices.Contains(v.Steps, at.Step), slices.Contains(needed, at.Step):
			return 8
		case at.Wrong || struck[at.Step]:
			w = 6
		case at.Turn && i >= first:
			w = 4
		case i >= first:
			w = 2
		}
		if w > 0 && res.ofOthers(v, res.Telling[i]) {
			w--
		}
		return w
	}
	for w := range 9 {
		list = withoutTheMiddle(list, len(list)-most, func(i int) bool { return weight(i) == w })
	}
	return list, left
}

// Aside says whether a sentence matters little for a violation. It does if it tells of a spared strike, on
// which the violation does not depend. It also does if it tells of no strike, at a step that the violation
// does not depend on, and of other jobs alone.
func (res *Result) Aside(sentence int, v *Violation, spared []int) bool {
	at, says := res.TellingAt[sentence], res.Telling[sentence]
	switch {
	case at.Strike && slices.Contains(spared, cmp.Or(at.Ends, at.Step)):
		return true
	case at.Strike || at.Step == v.Step || slices.Contains(v.Steps, at.Step):
		return false
	}
	return res.ofOthers(v, says)
}

// Invariant returns the result of an invariant; the zero value if it was not judged.
func (res *Result) Invariant(name string) InvariantResult {
	i := slices.IndexFunc(res.Invariants, func(i InvariantResult) bool { return i.Name == name })
	if i < 0 {
		return InvariantResult{}
	}
	return res.Invariants[i]
}

// CountViolations counts all violations, including those that the result does not list.
func (res *Result) CountViolations() int {
	n := len(res.Violations)
	for _, i := range res.Invariants {
		n += i.Unlisted
	}
	return n
}

// BrokenFor lists the jobs for which the run breaks an invariant, within its promise or anyway. "" stands for
// a violation that is of no single job. For a stored result, only listed violations count.
func (res *Result) BrokenFor(invariant string, anyway bool) (jobs []string) {
	there := map[string]bool{}
	add := func(job string, promised bool) {
		if (promised || anyway) && !there[job] {
			there[job] = true
			jobs = append(jobs, job)
		}
	}
	for _, v := range res.Violations {
		if v.Invariant == invariant {
			add(v.Job, v.Promised)
		}
	}
	for _, v := range res.Invariant(invariant).unlisted {
		add(v.Job, v.Promised)
	}
	return jobs
}

// ofOthers says whether a sentence is about other jobs than a violation. A sentence that names jobs is,
// unless it names the violation's job, a job in the violation's message, or one that is derived from such a
// job or it from that. A sentence that names none is only if the violation has no job, but its message names
// jobs.
func (res *Result) ofOthers(v *Violation, sentence string) bool {
	own, named := res.JobsIn(v.Message), res.JobsIn(sentence)
	if v.Job != "" {
		own = append(own, v.Job)
	}
	related := func(job string) bool {
		return res.comesOf(job, own) || slices.ContainsFunc(own, func(of string) bool { return res.comesOf(of, []string{job}) })
	}
	return len(own) > 0 && (v.Job == "" || len(named) > 0) && !slices.ContainsFunc(named, related)
}

// comesOf says whether a job is in the list or was submitted for one that is: as a compensation, a replay or
// a run's step.
func (res *Result) comesOf(job string, of []string) bool {
	if slices.Contains(of, job) {
		return true
	}
	i := slices.IndexFunc(res.Derived, func(j *DerivedJob) bool { return j.ID == job })
	return i >= 0 && res.comesOf(res.Derived[i].Of, of)
}

// JobsIn lists the jobs and runs that a sentence names, jobs of the schedulers included.
func (res *Result) JobsIn(sentence string) []string {
	return slices.DeleteFunc(wordsOf(sentence), func(word string) bool {
		return !slices.ContainsFunc(res.Jobs, func(j JobResult) bool { return j.ID == word }) &&
			!slices.ContainsFunc(res.Derived, func(j *DerivedJob) bool { return j.ID == word }) &&
			!slices.ContainsFunc(res.Runs, func(r *RunResult) bool { return r.ID == word })
	})
}

// wordsOf lists the words of a sentence, without punctuation.
func wordsOf(sentence string) []string {
	list := strings.Fields(sentence)
	for i := range list {
		list[i] = strings.Trim(list[i], ".,:;()")
	}
	return list
}

// withoutTheMiddle removes n of the elements that may go, or all of those, from the middle.
func withoutTheMiddle(list []int, n int, goes func(int) bool) []int {
	var may []int
	for _, i := range list {
		if goes(i) {
			may = append(may, i)
		}
	}
	n = min(max(n, 0), len(may))
	from := (len(may) - n + 1) / 2
	out := may[from : from+n]
	return slices.DeleteFunc(list, func(i int) bool { return slices.Contains(out, i) })
}
