package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// workflows is what is known of workflow runs.
type workflows struct {
	began time.Time // when the world did, by the clock that records are written by
	runs  map[string]*workflowRun
	order []*workflowRun
	jobs  map[string]*stepJob
}

// wfRun is one run: its record, and who has to do with it.
type workflowRun struct {
	history.RunRecord
	as      job // what releases promises of it, and which of them are broken
	by      string
	step    int // of the last write
	lock    lock
	waits   map[string]wfWait // by the job that a step waits to have submitted
	setting string            // the process that keeps a delay of it in Redis; "" for none
	hands   map[string]bool   // the processes that have it in hand
}

// wfWait is a delay that the run's record tells of.
type wfWait struct {
	since time.Duration // when the record first told of it
	until int64         // unix milliseconds
}

// stepJob is the job of one attempt of a step.
type stepJob struct {
	run       *workflowRun
	step      *history.RunStep // as the run's last record has it; see at
	attempt   int
	id        string
	made      time.Duration // when its record was; 0 for never
	stored    uint64        // the place of its request in the stream; 0 for none
	told      bool          // who published that was told so
	succeeded int64         // when, by its record, in unix milliseconds; 0 for never
	failed    int64         // likewise, in a way that allows it to be tried again: a denial, say, is a decision, which stands
}

// stepJob finds the job of a step by its id, or returns nil: it is none's.
func (k *workflows) stepJob(id string) *stepJob {
	if len(k.runs) == 0 {
		return nil
	}
	rest, attempt, _ := history.CutLast(id)
	run, step, _ := history.CutLast(rest)
	n, err := strconv.Atoi(attempt)
	r := k.runs[run]
	if r == nil || err != nil {
		return nil
	}
	found := r.StepCalled(step)
	if found == nil {
		return nil
	}
	j := k.jobs[id]
	if j == nil {
		j = &stepJob{run: r, attempt: n, id: id}
		k.jobs[id] = j
	}
	j.step = found
	return j
}

// unix is the time of an event as records would have it, in milliseconds.
func (k *workflows) unix(at time.Duration) int64 { return k.began.Add(at).UnixMilli() }

// Began says when the world began, by the clock that its processes write times by. It comes before any event.
func (j *observer) Began(at time.Time) { j.facts.workflow.began = at }

// runWritten takes in a write of a run's record.
func (j *observer) runWritten(s *step, c *sim.Change) {
	k := &j.facts.workflow
	id := c.Key[len(history.RunPrefix):]
	r := k.runs[id]
	if r == nil {
		if k.runs == nil {
			k.runs, k.jobs = map[string]*workflowRun{}, map[string]*stepJob{}
		}
		r = &workflowRun{as: job{id: id}, waits: map[string]wfWait{}, hands: map[string]bool{}}
		k.runs[id] = r
		j.facts.appears(&r.as, j.facts.at)
		k.order = append(k.order, r)
	}
	before := r.RunRecord
	var now history.RunRecord
	if c.Gone && before.State != "RUNNING" {
		return // the record of a run that is over has expired
	}
	if c.Gone || json.Unmarshal([]byte(c.Value), &now) != nil {
		now = history.RunRecord{RunID: id}
	}
	w := runWrite{was: before, by: r.by, step: r.step}
	r.RunRecord, r.by, r.step = now, invariants.Who(s.Event), s.Step
	for i := range now.Steps {
		step := &now.Steps[i]
		if step.State != "WAITING" {
			continue
		}
		id := history.StepJobID(r.RunID, step.ID, step.Attempt)
		if _, known := r.waits[id]; !known {
			r.waits[id] = wfWait{s.At, step.NextAttemptAt}
			if step.Attempt > 1 {
				j.facts.reach(stepRetried)
			}
		}
	}
	if now.State == "FAILED" && j.facts.config.Saga.DurableRollback && j.facts.config.Reconciler {
		if g := j.facts.sagas.of(id); g.due == 0 { // whatever a worker said of its steps
			g.due = s.Step
		}
	}
	j.tookIn(s, r, &before)
	for _, check := range j.ran {
		check(s, r, &w)
	}
}

// runWrite is a change of a run's record; the run's own fields hold what it is now.
type runWrite struct {
	was  history.RunRecord
	by   string // who wrote that
	step int    // when
}

// runLockChanged takes in a change of the key of a run's lock.
func (j *observer) runLockChanged(s *step, c *sim.Change) {
	r := j.facts.workflow.runs[c.Key[len(history.RunLockPrefix):]]
	if r == nil {
		return
	}
	me := invariants.Who(s.Event)
	switch {
	case c.Gone:
		r.lock = lock{}
		delete(r.hands, me)
	case r.lock.node == "" || r.lock.token != c.Value:
		r.lock = lock{node: s.Node, incarnation: s.Incarnation, token: c.Value, expires: c.Expires, step: s.Step}
		r.hands[me] = true
	default:
		r.lock.expires = c.Expires
	}
}

// timerChanged takes in a change of the delays that are kept in Redis. Of a script that takes out the last of
// them it is the key that is gone.
func (j *observer) timerChanged(s *step, c *sim.Change) {
	k, me := &j.facts.workflow, invariants.Who(s.Event)
	_, id, _ := strings.Cut(c.Field, ":")
	for _, r := range k.order {
		switch {
		case r.RunID != id && (c.Field != "" || !c.Gone):
		case !c.Gone:
			r.setting = me
		case r.setting == "":
		default:
			if s.Phase == "timer_pop" && r.setting != me {
				j.facts.reach(delayPolled)
			}
			if r.State == "RUNNING" {
				r.hands[me] = true
			}
			r.setting = ""
		}
	}
}

// stepWritten takes in a write of the record of a step's job.
func (j *observer) stepWritten(s *step) {
	k := j.facts.workflow.stepJob(s.about.id)
	if k == nil {
		return
	}
	if k.made == 0 {
		k.made = s.At
		for _, check := range j.fired {
			check(s, k)
		}
	}
	switch state := s.about.state; { // whether an end is final another invariant judges
	case state == succeeded && k.succeeded == 0:
		k.succeeded = s.about.updated
	case (state == failed && !s.about.saga.fatal || state == timedOut) && k.failed == 0:
		k.failed = s.about.updated
	}
}

// stepStored takes in that the stream stores the request of a step's job.
func (j *observer) stepStored(s *step, id string, seq uint64) {
	k := j.facts.workflow.stepJob(id)
	if k == nil {
		return
	}
	again := stepAgain{seq: k.stored, told: k.told}
	k.stored, k.told = seq, !s.failed && s.Outcome != sim.OutcomePending && s.Kind != sim.KindLate
	for _, check := range j.submitted {
		check(s, k, again)
	}
}

// stepAgain is what was known of an earlier submission of the job.
type stepAgain struct {
	seq  uint64
	told bool
}

// answered takes in what came of asking for a run's lock.
func (k *workflows) answered(f *facts, s *step) {
	if s.Phase != "run_lock" || s.failed || s.Outcome == sim.OutcomePending || s.Outcome == history.TransactionFailed || s.Kind != sim.KindRedis {
		return
	}
	if r := k.runs[strings.TrimPrefix(s.Target, history.RunLockPrefix)]; r != nil && !r.lock.heldBy(s.Event) {
		f.reach(runContended)
	}
}

// inHandOf says whether a process of the node has the run in hand.
func (r *workflowRun) inHandOf(node string) bool {
	for by := range r.hands {
		if name, _, _ := strings.Cut(by, " "); name == node {
			return true
		}
	}
	return false
}

// crashed takes in the end of a node's process.
func (k *workflows) crashed(f *facts, node string) {
	for _, r := range k.order {
		for by := range r.hands {
			if name, _, _ := strings.Cut(by, " "); name == node {
				delete(r.hands, by)
			}
		}
	}
}

// due is when the job of a step's attempt may be submitted, by the steps' own words and by the records of the
// jobs that it counts from, in unix milliseconds.
func (k *workflows) due(j *stepJob) int64 {
	r := j.run
	if j.attempt > 1 {
		before := k.jobs[history.StepJobID(r.RunID, j.step.ID, j.attempt-1)]
		if before == nil || before.failed == 0 {
			return 0
		}
		return before.failed + backoff(j.step.Retry.BackoffMS, j.attempt-1)
	}
	since := r.CreatedAt
	for _, id := range j.step.DependsOn {
		since = max(since, k.success(r, id))
	}
	return max(since+1000*j.step.DelaySec, j.step.DelayUntil)
}

// yearMS is the longest delay of a step, in milliseconds.
const yearMS = 365 * 24 * 60 * 60 * 1000

// backoff is how long after its n-th failure a step is tried again, in milliseconds: it doubles, to a year at most.
func backoff(ms int64, n int) int64 {
	for range n - 1 {
		if ms *= 2; ms > yearMS {
			return yearMS
		}
	}
	return ms
}

// success is when a step of a run succeeded, by its job's record; 0 for not.
func (k *workflows) success(r *workflowRun, step string) int64 {
	for n := 1; ; n++ {
		switch j := k.jobs[history.StepJobID(r.RunID, step, n)]; {
		case j == nil:
			return 0
		case j.succeeded != 0:
			return j.succeeded
		}
	}
}

// liveRuns says which runs are not over.
func (f *facts) liveRuns() (list []string) {
	for _, r := range f.workflow.order {
		if r.State == "RUNNING" {
			list = append(list, fmt.Sprintf("%s is not over: %s", r.RunID, r.why()))
		}
	}
	return list
}

// why says what a run is at.
func (r *workflowRun) why() string {
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
