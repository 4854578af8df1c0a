package model

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Workflows is what is known of workflow runs.
type Workflows struct {
	Began time.Time // when the world did, by the clock that records are written by
	Runs  map[string]*WorkflowRun
	Order []*WorkflowRun
	Jobs  map[string]*StepJob

	PollFailed time.Duration // when a strike last kept a poller of delays from all of them
}

// WorkflowRun is one run: its record, and who has to do with it.
type WorkflowRun struct {
	history.RunRecord
	As      Job               // what releases promises of it, and which of them are broken
	Made    time.Duration     // when its record was
	Asked   history.RunRecord // as its starter wrote it
	By      string
	Step    int // of the last write
	Lock    Lock
	Freed   time.Duration   // when that was last given back
	Place   string          // its score among the runs that are not over; "" for none
	Setting string          // the process that keeps a delay of it in Redis; "" for none
	Hands   map[string]bool // the processes that have it in hand
	Knowing map[string]bool // those that know that it is over: they have written so, or read so
	Failed  time.Duration   // when a strike last kept one from advancing it
}

// StepJob is the job of one attempt of a step.
type StepJob struct {
	Run       *WorkflowRun
	Step      *history.RunStep // as the run's last record has it, on its starter's terms
	Attempt   int
	ID        string
	Made      time.Duration // when its record was; 0 for never
	Stored    uint64        // the place of its request in the stream; 0 for none
	Told      bool          // who published that was told so
	Succeeded When
	Failed    When  // in a way that allows it to be tried again: a denial, say, is a decision, which stands
	Ended     When  // the last of these, where its end was written again
	Ends      []End // all that its record has had
	Decided   bool  // a record of the run has said SUBMITTED, and named it
	Waits     Wait
}

// End is how a job has ended.
type End struct {
	State State
	Code  string // why, as its record has it; "" for none
}

// String is an end as a run's record tells it.
func (e End) String() string {
	if e.Code == "" {
		return e.State.String()
	}
	return e.State.String() + " (" + e.Code + ")"
}

// Wait is what is known of the delay of a step's job.
type Wait struct {
	Since time.Duration // when the run's record first told of it; 0 for never
	Due   When          // its end, by what was known of the jobs that it counts from when the record was last written
	Armed time.Duration // when a process last had reason to set a timer for it; 0 for never
}

// When is a time, as a record has it and as the world had it. Both are 0 for never.
type When struct {
	Told int64 // unix milliseconds, by the clock of the record's writer
	At   time.Duration
}

// Later is the later one of two, by records and by the world.
func (w When) Later(o When) When { return When{max(w.Told, o.Told), max(w.At, o.At)} }

// after is so many milliseconds later.
func (w When) after(ms int64) When {
	return When{w.Told + ms, w.At + time.Duration(ms)*time.Millisecond}
}

// StepJob finds the job of a step by its id, or returns nil: it is none's.
func (k *Workflows) StepJob(id string) *StepJob {
	if len(k.Runs) == 0 {
		return nil
	}
	rest, attempt, _ := history.CutLast(id)
	run, step, _ := history.CutLast(rest)
	n, err := strconv.Atoi(attempt)
	r := k.Runs[run]
	if r == nil || err != nil {
		return nil
	}
	found := r.StepCalled(step)
	if found == nil {
		return nil
	}
	j := k.Jobs[id]
	if j == nil {
		j = &StepJob{Run: r, Attempt: n, ID: id}
		k.Jobs[id] = j
	}
	j.Step = found
	return j
}

// Unix is the time of an event as records would have it, in milliseconds.
func (k *Workflows) Unix(at time.Duration) int64 { return k.Began.Add(at).UnixMilli() }

// Since is when a time that a record has is, in the world.
func (k *Workflows) Since(unix int64) time.Duration { return time.UnixMilli(unix).Sub(k.Began) }

// RunWrite is a change of a run's record; the run's own fields hold what it is now.
type RunWrite struct {
	Was  history.RunRecord
	By   string // who wrote that
	Step int    // when

	Known   bool          // the run was over, and who writes this knew
	Expires time.Duration // the record does so then; 0 for never
	Place   string        // as the run's, after the step
	Delayed bool          // a delay of it is in Redis, after the step
}

// StepAgain is what was known of an earlier submission of the job.
type StepAgain struct {
	Seq  uint64
	Told bool
}

// advances has the phases of advancing a run.
var advances = map[string]bool{
	"run_lock": true, "run_read": true, "step_read": true, "run_write": true, "submit_write": true, "submit_publish": true,
}

// Answered takes in what came of a poll, or of asking for a run's lock.
func (k *Workflows) Answered(f *Facts, s *Step) {
	if s.Failed && strings.HasPrefix(s.Node, history.SchedulerNodes) && (s.Fault != "" || f.StruckNow() != 0) {
		switch r := k.advancedBy(s); {
		case s.Phase == "poll_lock", s.Phase == "timer_pop", advances[s.Phase] && s.Kind == sim.KindReturn: // the runs behind it have waited
			k.PollFailed = s.At
		case advances[s.Phase] && r != nil:
			r.Failed = s.At
		}
	}
	if s.Failed && s.Phase == "timer_write" { // without Redis the timer in memory is left (Scheduler internals, section 8)
		for _, r := range k.Order {
			if r.Lock.HeldBy(s.Event) {
				r.Hands[s.Node+inMemory] = true
			}
		}
	}
	if s.Phase == "run_read" && s.Kind == sim.KindRedis && !s.Failed && s.Outcome != sim.OutcomePending {
		if r := k.advancedBy(s); r != nil && r.Over() {
			r.Knowing[invariants.Who(s.Event)] = true
		}
	}
	if s.Phase != "run_lock" || s.Failed || s.Outcome == sim.OutcomePending || s.Outcome == history.TransactionFailed || s.Kind != sim.KindRedis {
		return
	}
	_, run := history.KeyOf(s.Target)
	if r := k.Runs[run]; r != nil && !r.Lock.HeldBy(s.Event) {
		f.Reach(RunContended)
		r.Hands[invariants.Who(s.Event)] = true // it asks again
	}
}

// advancedBy is the run that an operation is about, by its key or by its job; nil for none.
func (k *Workflows) advancedBy(s *Step) *WorkflowRun {
	if job := k.StepJob(s.Job); job != nil {
		return job.Run
	}
	_, run := history.KeyOf(s.Target)
	return k.Runs[run]
}

// inMemory marks the hand of a scheduler that could not keep a delay of the run in Redis.
const inMemory = " in memory"

// Advanced takes in that a run goes on, so that no delay is in a scheduler's memory alone.
func (r *WorkflowRun) Advanced() {
	maps.DeleteFunc(r.Hands, func(by string, _ bool) bool { return strings.HasSuffix(by, inMemory) })
}

// inHandOf says whether a process of the node has the run in hand.
func (r *WorkflowRun) inHandOf(node string) bool {
	for by := range r.Hands {
		if name, _, _ := strings.Cut(by, " "); name == node {
			return true
		}
	}
	return false
}

// crashed takes in the end of a node's process.
func (k *Workflows) crashed(f *Facts, node string) {
	for _, r := range k.Order {
		for by := range r.Hands {
			if name, _, _ := strings.Cut(by, " "); name == node {
				delete(r.Hands, by)
			}
		}
	}
}

// started takes in that a scheduler starts: it sets timers for the delays that it finds in Redis, unless who has left them holds the
// run's lock.
func (k *Workflows) started(f *Facts) {
	if !f.Config.Workflow.DurableTimers {
		return
	}
	for _, r := range k.Order {
		if r.Setting == "" || r.Lock.Live(f.At) {
			continue
		}
		for i := range r.Steps {
			if j := k.StepJob(history.StepJobID(r.RunID, r.Steps[i].ID, r.Steps[i].Attempt)); r.Steps[i].State == "WAITING" && k.Delay(j) >= f.Config.Workflow.DurableFrom {
				j.Waits.Armed = f.At
			}
		}
	}
}

// Due is when the job of a step's attempt may be submitted, by the steps' own words and by the ends of the jobs that it
// counts from: as they were first written, or last.
func (k *Workflows) Due(j *StepJob, last bool) When {
	if j.Attempt > 1 {
		before := k.Jobs[history.StepJobID(j.Run.RunID, j.Step.ID, j.Attempt-1)]
		switch {
		case before == nil || before.Failed == (When{}):
			return When{}
		case last:
			return before.Ended.after(k.delay(j))
		}
		return before.Failed.after(k.delay(j))
	}
	until := When{Told: j.Step.DelayUntil}
	if until.Told != 0 {
		until.At = k.Since(until.Told)
	}
	return k.begins(j, last).after(1000 * j.Step.DelaySec).Later(until)
}

// begins is when the delay of a step's first attempt does.
func (k *Workflows) begins(j *StepJob, last bool) When {
	since := When{j.Run.CreatedAt, j.Run.Made}
	for _, id := range j.Step.DependsOn {
		switch of := k.succeeded(j.Run, id); {
		case of == nil:
		case last:
			since = since.Later(of.Ended)
		default:
			since = since.Later(of.Succeeded)
		}
	}
	return since
}

// Delay is how long a step's attempt is to wait, by the step's own words and by the records of the jobs that it counts from.
func (k *Workflows) Delay(j *StepJob) time.Duration {
	return time.Duration(k.delay(j)) * time.Millisecond
}

func (k *Workflows) delay(j *StepJob) (ms int64) {
	if j.Attempt > 1 {
		return Backoff(j.Step.Retry.BackoffMS, j.Attempt-1)
	}
	return max(1000*j.Step.DelaySec, j.Step.DelayUntil-k.begins(j, false).Told)
}

// UsedUp says whether a step is tried no more: its jobs have failed as often as it says that they may, or one has ended
// in a way that stands. An id that somebody else's job bears stands as well.
func (f *Facts) UsedUp(r *WorkflowRun, s *history.RunStep) bool {
	failed := 0
	for n := 1; ; n++ {
		id := history.StepJobID(r.RunID, s.ID, n)
		k, j := f.Workflow.Jobs[id], f.Jobs[id]
		switch {
		case j == nil || !j.Accepted:
			return failed > s.Retry.Max
		case k != nil && k.Failed != (When{}):
			failed++
		case j.State.Terminal() && j.State != Succeeded, j.Saga.Workflow != r.RunID:
			return true
		}
	}
}

// yearMS is the longest delay of a step, in milliseconds.
const yearMS = 365 * 24 * 60 * 60 * 1000

// Backoff is how long after its n-th failure a step is tried again, in milliseconds: it doubles, to a year at most.
func Backoff(ms int64, n int) int64 {
	for range n - 1 {
		if ms *= 2; ms > yearMS {
			return yearMS
		}
	}
	return ms
}

// Success is when a step of a run succeeded.
func (k *Workflows) Success(r *WorkflowRun, step string) When {
	if j := k.succeeded(r, step); j != nil {
		return j.Succeeded
	}
	return When{}
}

// succeeded is the first job of a step that succeeded; nil for none.
func (k *Workflows) succeeded(r *WorkflowRun, step string) *StepJob {
	for n := 1; ; n++ {
		if j := k.Jobs[history.StepJobID(r.RunID, step, n)]; j == nil || j.Succeeded != (When{}) {
			return j
		}
	}
}

// LiveRuns says which runs are not over.
func (f *Facts) LiveRuns() (list []string) {
	for _, r := range f.Workflow.Order {
		if !r.Over() {
			list = append(list, fmt.Sprintf("%s is not over: %s", r.RunID, r.Why()))
		}
	}
	return list
}

// Why says what a run is at.
func (r *WorkflowRun) Why() string {
	for _, s := range r.Steps {
		switch s.State {
		case "SUBMITTED":
			return fmt.Sprintf("step %s waits for %s", s.ID, s.JobID)
		case "WAITING":
			return fmt.Sprintf("step %s waits for its time", s.ID)
		}
	}
	return "no step of it has begun"
}
