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
	Began time.Time // when the world began, by the clock that records are written by
	Runs  map[string]*WorkflowRun
	Order []*WorkflowRun
	Jobs  map[string]*StepJob

	PollFailed time.Duration // when a strike last kept a poller from all delays
}

// WorkflowRun is a run: its record, and the processes that work on it.
type WorkflowRun struct {
	history.RunRecord
	As      Job               // what releases promises about it, and which of them are broken
	Made    time.Duration     // when its record was made
	Asked   history.RunRecord // as its starter wrote it
	By      string
	Step    int // of the last write
	Lock    Lock
	Freed   time.Duration   // when that was last released
	Place   string          // its score among the runs that are not over; "" for none
	Setting string          // the process that keeps one of its delays in Redis; "" for none
	Hands   map[string]bool // the processes that have it in hand
	Knowing map[string]bool // the processes that know that it is over, because they have written or read so
	Failed  time.Duration   // when a strike last kept a process from advancing it
}

// StepJob is the job of one attempt of a step.
type StepJob struct {
	Run       *WorkflowRun
	Step      *history.RunStep // from the run's last record, with its starter's terms
	Attempt   int
	ID        string
	Made      time.Duration // when its record was made; 0 for never
	Stored    uint64        // the sequence of its request in the stream; 0 for none
	Told      bool          // its publisher was told that it is stored
	Succeeded When
	Failed    When    // when it failed in a way that allows another try; a denial, for example, is final
	Ended     When    // the last of these times, if its end was written again
	Ends      []State // all terminal states that its record has had
	Waits     Wait
}

// Wait is what is known of the delay of a step's job.
type Wait struct {
	Since time.Duration // when the run's record first had it; 0 for never
	Due   When          // its end, by what was known when the record was last written of the jobs from which it counts
	Armed time.Duration // when a process last had reason to set a timer for it; 0 for never
}

// When is a time, in a record and in the world. Both are 0 for never.
type When struct {
	Told int64 // unix milliseconds, by the clock of the record's writer
	At   time.Duration
}

// Later returns the later of two, by records and by the world.
func (w When) Later(o When) When { return When{max(w.Told, o.Told), max(w.At, o.At)} }

// after returns the time that many milliseconds later.
func (w When) after(ms int64) When {
	return When{w.Told + ms, w.At + time.Duration(ms)*time.Millisecond}
}

// StepJob returns the job of a step with that ID, or nil.
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

// Since is a record's time in the world's time.
func (k *Workflows) Since(unix int64) time.Duration { return time.UnixMilli(unix).Sub(k.Began) }

// RunWrite is a change of a run's record; the run's own fields hold the new values.
type RunWrite struct {
	Was  history.RunRecord
	By   string // the process that wrote the former record
	Step int    // the step of that write

	Known   bool          // the run was over, and the writer knew
	Expires time.Duration // when the record expires; 0 for never
	Place   string        // like the run's, after the step
	Delayed bool          // after the step, a delay of it is in Redis
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

// Answered notes the outcome of a poll, or of asking for a run's lock.
func (k *Workflows) Answered(f *Facts, s *Step) {
	if s.Failed && strings.HasPrefix(s.Node, history.SchedulerNodes) && (s.Fault != "" || f.StruckNow() != 0) {
		switch r := k.advancedBy(s); {
		case s.Phase == "poll_lock", s.Phase == "timer_pop",
			s.Kind == sim.KindReturn && (advances[s.Phase] || s.Phase == "run_unlock"), // the runs after it have waited
			s.Kind == sim.KindReturn && s.Phase == "snapshot_read":                     // its scheduler begins only now
			k.PollFailed = s.At
		case advances[s.Phase] && r != nil:
			r.Failed = s.At
		}
	}
	if s.Failed && s.Phase == "timer_write" { // without Redis, the timer in memory remains (Scheduler internals, section 8)
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

// advancedBy is the run that an operation concerns, by its key or by its job; nil for none.
func (k *Workflows) advancedBy(s *Step) *WorkflowRun {
	if job := k.StepJob(s.Job); job != nil {
		return job.Run
	}
	_, run := history.KeyOf(s.Target)
	return k.Runs[run]
}

// inMemory marks a scheduler that could not keep a delay of the run in Redis.
const inMemory = " in memory"

// Advanced notes that a run has advanced, so that no delay is only in a scheduler's memory.
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

// crashed notes the end of a node's process.
func (k *Workflows) crashed(f *Facts, node string) {
	for _, r := range k.Order {
		for by := range r.Hands {
			if name, _, _ := strings.Cut(by, " "); name == node {
				delete(r.Hands, by)
			}
		}
	}
}

// started notes that a scheduler starts. It sets timers for the delays that it finds in Redis, unless the
// process that left them holds the run's lock.
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

// Due is when the job of a step's attempt may be submitted, by the steps' own terms and by the ends of the
// jobs from which it counts: by their last writes if last, or else by their first.
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

// begins is when the delay of a step's first attempt begins.
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

// Delay is how long a step's attempt is to wait, by the step's own terms and by the records of the jobs from
// which it counts.
func (k *Workflows) Delay(j *StepJob) time.Duration {
	return time.Duration(k.delay(j)) * time.Millisecond
}

func (k *Workflows) delay(j *StepJob) (ms int64) {
	if j.Attempt > 1 {
		return Backoff(j.Step.Retry.BackoffMS, j.Attempt-1)
	}
	return max(1000*j.Step.DelaySec, j.Step.DelayUntil-k.begins(j, false).Told)
}

// UsedUp says whether a step is not tried again: its jobs have failed as often as it allows, or one has ended
// in a final way. An ID that belongs to somebody else's job is final, too.
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

// Backoff is how long after its n-th failure a step is tried again, in milliseconds. It doubles, up to a
// year.
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

// succeeded returns the first job of a step that succeeded; nil if there is none.
func (k *Workflows) succeeded(r *WorkflowRun, step string) *StepJob {
	for n := 1; ; n++ {
		if j := k.Jobs[history.StepJobID(r.RunID, step, n)]; j == nil || j.Succeeded != (When{}) {
			return j
		}
	}
}

// LiveRuns lists the runs that are not over.
func (f *Facts) LiveRuns() (list []string) {
	for _, r := range f.Workflow.Order {
		if !r.Over() {
			list = append(list, fmt.Sprintf("%s is not over: %s", r.RunID, r.Why()))
		}
	}
	return list
}

// Why describes what a run is waiting for or doing.
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
