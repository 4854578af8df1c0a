package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Sagas is what is known of compensations and rollbacks.
type Sagas struct {
	byID  map[string]*Saga
	Order []*Saga                  // in the order of their first event
	byKey map[string]*Compensation // by scoped
	Dirty []*Saga                  // whose stack the step at hand has changed

	Submitted, Resumed, Late, Denied, Unreadable int
}

// Saga is that of one tenant's workflow.
type Saga struct {
	ID       string        // by history.SagaOf
	Stack    []string      // as Redis holds it
	Expires  time.Duration // when that expires; 0 for never
	Before   int           // how much that held before the step at hand
	Recorded []*Compensation
	Of       *Job          // which failed last for good; nil for none
	called   time.Duration // when that did, or its run
	tried    time.Duration // when somebody took its lock last, or gave it back
	Due      int           // the step at which a job of it first failed for good; 0 for never
	Began    int           // the step at which its rollback took its lock for the first time; 0 for never
	Lock     Lock          // of its rollback
	Emptied  Sight
	rollers  []string // the nodes that have begun to roll it back, and not to give its lock back
	Noted    Note
	by       string
	struck   invariants.Kinds // by strikes on operations of its own
}

// Sight is that the holder of a rollback's lock saw the stack empty, and has only to say so and to give the lock back.
type Sight struct {
	Step int // 0 for no such sight, or one after which something kept it from that
	At   time.Duration
}

// Note is what saga:rollbacks says of a saga.
type Note struct {
	Due  time.Duration // when somebody is to take its rollback up
	Step int           // at which that was written; 0 if it says nothing
}

// InSight says whether somebody will take the rollback up that the note is of, before the stack is forgotten.
func (n *Note) InSight(at time.Duration) bool { return n.Step != 0 && n.Due < at+StackTTL }

// StackTTL is how long a stack is kept from its last push on: as long as a dead letter.
const StackTTL = 30 * 24 * time.Hour

// Holds is how many compensations the stack has at an instant.
func (g *Saga) Holds(at time.Duration) int {
	if g.Expires != 0 && at >= g.Expires {
		return 0
	}
	return len(g.Stack)
}

// scoped is the name of a compensation among all: each job of a saga has one, whatever its key. By its key goes one that
// names no job.
func scoped(saga string, p *history.Request) string {
	if job := p.Labels["saga_job_id"]; job != "" {
		return saga + "|of " + job
	}
	return saga + "|" + p.IdempotencyKey
}

// Compensation is one that was put onto a stack.
type Compensation struct {
	Saga   *Saga
	entry  string
	key    string   // its idempotency key; "" for what cannot be read
	Job    string   // what it undoes; "" for what cannot be read
	Step   int      // when it was put there first
	Late   bool     // its saga was to be rolled back by then
	Jobs   []string // that were submitted for it
	As     string   // the last of these submissions
	First  int      // the step of the first of these
	pushed int      // when it was put there last
	ended  bool     // denied, or in the DLQ
	Entry  string   // the id of its DLQ entry; "" for none
	lost   bool     // a failover has taken it off its stack
}

func (c *Compensation) Accounted() bool { return len(c.Jobs) > 0 || c.ended }

// SubmittedAs returns the jobs that were submitted for the compensation: with peek, for all of its saga under its key.
func (f *Facts) SubmittedAs(c *Compensation) (jobs []string) {
	jobs = slices.Clone(c.Jobs)
	for _, other := range c.Saga.Recorded {
		if f.Config.Saga.Peek && other != c && other.key == c.key {
			jobs = append(jobs, other.Jobs...)
		}
	}
	slices.Sort(jobs)
	return slices.Compact(jobs)
}

func (c *Compensation) RecordedAs() invariants.Clause {
	if c.Job == "" {
		return invariants.Say("%q that nobody can read ", c.entry)
	}
	return invariants.Say("that was recorded at step %d ", invariants.StepNo(c.Step))
}

// DueAs says since when the saga is to be rolled back, and when that began.
func (g *Saga) DueAs() invariants.Clause {
	if g.Began == 0 {
		return invariants.Say("has been due since step %d", invariants.StepNo(g.Due))
	}
	return invariants.Say("has been due since step %d and began at step %d", invariants.StepNo(g.Due), invariants.StepNo(g.Began))
}

// Recorded finds what was recorded to undo a job; nil if nothing was.
func (k *Sagas) Recorded(job string) *Compensation {
	for _, g := range k.Order {
		for _, c := range slices.Backward(g.Recorded) {
			if c.Job == job && !c.lost {
				return c
			}
		}
	}
	return nil
}

// sagaJob is what sagas need to know of a job.
type sagaJob struct {
	Workflow string
	ID       string // of its saga; "" for none
	Fatal    bool   // a worker has answered that it failed for good
	Answered bool   // a worker has answered that it succeeded, whatever became of the job before
	Undoable bool   // a request of it names a compensation
	Denied   bool   // the safety kernel has denied it
	Recorded bool   // that has been on its saga's stack
	Done     int    // the step at which its success was in its record, or taken note of although it had ended otherwise; 0 for never
}

// FirstOf is the first of the jobs that have the job's effect once between them, under one idempotency key: the first attempt
// of a run's step, and the original of a replay that keeps its key.
func (f *Facts) FirstOf(j *Job) string {
	first := j.ID
	if j.Replay.Of != "" && j.Request.IdempotencyKey != j.ID {
		first = j.Replay.Of
	}
	if k := f.Workflow.Jobs[first]; k != nil {
		first = history.StepJobID(k.Run.Asked.RunID, k.Step.ID, 1)
	}
	return first
}

func (k *Sagas) Of(id string) *Saga {
	g := k.byID[id]
	if g == nil {
		if k.byID == nil {
			k.byID, k.byKey = map[string]*Saga{}, map[string]*Compensation{}
		}
		g = &Saga{ID: id}
		k.byID[id] = g
		k.Order = append(k.Order, g)
	}
	return g
}

// SagaLocked takes in a change of the key of a rollback's lock.
func (f *Facts) SagaLocked(s *Step, g *Saga, c *sim.Change) {
	was := g.Lock
	g.Lock, g.tried = Lock{}, s.At
	if !c.Gone {
		g.Lock = Lock{Node: s.Node, Incarnation: s.Incarnation, Token: c.Value, Expires: c.Expires, Step: s.Step}
		if g.Began == 0 {
			g.Began = s.Step
		}
		if s.Kind == sim.KindRedis && s.Outcome == sim.OutcomeOK {
			f.Count.Sure(history.CounterRolledBack)
			g.rollers = append(g.rollers, s.Node)
		}
		me := invariants.Process(s.Node, s.Incarnation)
		if g.by != "" && g.by != me && len(g.Stack) > 0 {
			f.Sagas.Resumed++
		}
		g.by = me
	}
	for _, check := range f.Hooks.SagaLocked {
		check(s, g, was)
	}
	if !c.Gone {
		g.Emptied = Sight{}
	}
}

// RollbackNoted takes in a change of what is to be rolled back.
func (f *Facts) RollbackNoted(s *Step, c *sim.Change) {
	if c.Field == "" {
		for _, g := range f.Sagas.Order {
			g.Noted = Note{}
		}
		return
	}
	g := f.Sagas.Of(c.Field)
	ms, err := strconv.ParseFloat(c.Value, 64)
	if g.Noted = (Note{}); !c.Gone && err == nil {
		g.Noted = Note{Due: f.Workflow.Since(int64(ms)), Step: s.Step}
	}
}

// SagaOperation takes in an operation of a rollback, or of who records a compensation.
func (f *Facts) SagaOperation(s *Step) {
	if s.Phase == "saga_publish" && s.Kind == sim.KindPublish && !s.Failed && s.Outcome != sim.OutcomePending {
		f.Count.Sure(history.CounterCompensated)
	}
	if s.Phase == "saga_publish" && s.Kind != sim.KindLate && s.Failed {
		f.Count.Sure(history.CounterUncompensated)
	}
	what, id := history.KeyOf(s.Target)
	for _, g := range f.Sagas.Order {
		own := g.ID == id && (what == history.SagaStack || what == history.SagaLock)
		unlocks := own && s.Phase == "saga_unlock" && s.Name == "watch"
		if i := slices.Index(g.rollers, s.Node); unlocks && i >= 0 {
			g.rollers = slices.Delete(g.rollers, i, i+1)
		}
		switch {
		case !g.Lock.HeldBy(s.Event):
		case s.Phase == "saga_close" && s.Failed: // it may be of any rollback of its process
			g.Emptied = Sight{}
		case !own:
		case unlocks:
			for _, check := range f.Hooks.RolledBack {
				check(s, g)
			}
			g.Emptied = Sight{}
		case s.Phase == "saga_read", s.Phase == "saga_pop":
			if g.Emptied = (Sight{}); s.Outcome == sim.OutcomeNil {
				g.Emptied = Sight{s.Step, s.At}
			}
		}
	}
}

// crashed forgets the rollbacks of a node's process.
func (k *Sagas) crashed(node string) {
	k.keptUp(node)
	for _, g := range k.Order {
		g.rollers = slices.DeleteFunc(g.rollers, func(by string) bool { return by == node })
	}
}

// keptUp notes that something keeps a node from going on with its rollbacks.
func (k *Sagas) keptUp(node string) {
	for _, g := range k.Order {
		if g.Lock.Node == node {
			g.Emptied = Sight{}
		}
	}
}

// LeftBehind are the compensations that were on a run's stack when its record was last written, and are.
func (f *Facts) LeftBehind(r *WorkflowRun) (list []*Compensation) {
	g := f.Sagas.byID[history.SagaOf(r.Tenant, r.RunID)]
	if g == nil || g.Holds(f.At) == 0 {
		return nil
	}
	for _, c := range g.Recorded {
		if c.pushed < r.Step && slices.Contains(g.Stack, c.entry) {
			list = append(list, c)
		}
	}
	return list
}

// RecordChanges takes in what the step has put onto stacks, or taken off them with what it lost, now that all of its
// changes are known.
func (f *Facts) RecordChanges(s *Step) {
	k := &f.Sagas
	for _, g := range k.Dirty {
		for _, entry := range g.Stack[min(g.Before, len(g.Stack)):] {
			f.compensationRecorded(s, g, entry)
		}
	}
	if s.Rewinds() {
		for _, g := range k.Order {
			g.Emptied = Sight{}
			f.stackTakenBack(g, slices.Contains(k.Dirty, g))
		}
	}
	k.Dirty = k.Dirty[:0]
}

// stackTakenBack notes which compensations a failover of Redis has taken off the saga's stack: their jobs have to record them once
// more. Where the stack is as it was, it had been given up before, but for those of jobs that are not over any more: that they were
// put there and that the stack was given up is lost. Those that nobody can read are forgotten, as no job has them, and whoever
// recorded them waited for no replica.
func (f *Facts) stackTakenBack(g *Saga, changed bool) {
	g.Recorded = slices.DeleteFunc(g.Recorded, func(c *Compensation) bool {
		if c.Accounted() || slices.Contains(g.Stack, c.entry) {
			return false
		}
		if j := f.Jobs[c.Job]; !changed && (j == nil || j.State.Terminal()) {
			return false
		}
		if c.Job == "" {
			delete(f.Sagas.byKey, unreadableKey(g, c.entry))
			return true
		}
		c.lost = true
		if j := f.Jobs[c.Job]; j != nil {
			j.Saga.Recorded = false
		}
		return false
	})
}

func unreadableKey(g *Saga, entry string) string { return "unreadable " + g.ID + " " + entry }

func (f *Facts) compensationRecorded(s *Step, g *Saga, entry string) {
	k := &f.Sagas
	p, err := history.Read[history.Request](entry)
	key, readable := unreadableKey(g, entry), err == nil && p.Topic != ""
	if readable {
		key = scoped(g.ID, p)
	}
	if j := f.Jobs[p.Labels["saga_job_id"]]; readable && j != nil && j.Saga.ID == g.ID {
		j.Saga.Recorded = true
	}
	c := k.byKey[key]
	again := c != nil && !c.lost
	switch {
	case c == nil:
		c = &Compensation{Saga: g, entry: entry}
		if readable {
			c.Job, c.key = p.Labels["saga_job_id"], p.IdempotencyKey
		}
		k.byKey[key] = c
		g.Recorded = append(g.Recorded, c)
	case len(c.Jobs) == 0: // it is on top now
		g.Recorded = append(slices.DeleteFunc(g.Recorded, func(other *Compensation) bool { return other == c }), c)
	}
	c.pushed = s.Step
	if !again { // what a failover took off the stack, nobody who rolls back has seen there
		c.Step, c.Late, c.lost = s.Step, g.Due != 0, false
	}
	if c.Job == "" {
		return
	}
	if !again && c.Late {
		k.Late++
	}
	if s.Rewinds() {
		return
	}
	if s.Kind == sim.KindRedis && s.Outcome == sim.OutcomeOK {
		f.Count.Sure(history.CounterRecorded)
	}
	for _, check := range f.Hooks.Recorded {
		check(s, c, again)
	}
}

// CompensationSubmitted takes in a submission by a rollback.
func (f *Facts) CompensationSubmitted(s *Step, p *history.Request) {
	k := &f.Sagas
	if p.Labels["saga_compensation"] != "true" || p.Labels[history.LabelReplayOf] != "" { // a replay is its dead letter's
		return
	}
	g := k.Of(history.SagaOf(p.Tenant, p.Labels["saga_workflow_id"]))
	key := scoped(g.ID, p)
	c := k.byKey[key]
	if c == nil { // nobody was seen to record it
		c = &Compensation{Saga: g, Job: p.Labels["saga_job_id"], key: p.IdempotencyKey, Step: s.Step}
		k.byKey[key] = c
	}
	first := len(c.Jobs) == 0
	if first {
		c.First = s.Step
	}
	k.Submitted++
	c.As = p.JobID
	if !slices.Contains(c.Jobs, p.JobID) {
		c.Jobs = append(c.Jobs, p.JobID)
	}
	for _, check := range f.Hooks.Compensated {
		check(s, c, first)
	}
}

// Answered notes what a worker's result says of its job.
func (j *Job) Answered(r *history.Reply) {
	j.Saga.Fatal = j.Saga.Fatal || r.Status == history.StatusFatal
	j.Saga.Answered = j.Saga.Answered || r.Status == Succeeded.String()
}

// SagaWrote takes in a state write of a job that may be part of a saga.
func (f *Facts) SagaWrote(s *Step) {
	j := s.About
	switch {
	case j.State == Succeeded, j.State == Quarantined:
		j.Saga.Done = s.Step
	case j.State == Failed && j.Saga.Fatal && j.Saga.ID != "" && s.Phase == "result_write":
		f.Sagas.Of(j.Saga.ID).Call(s, j)
	}
}

// Call takes in that the saga is to be rolled back, as a job has failed for good; without a job its run has.
func (g *Saga) Call(s *Step, of *Job) {
	if g.Due == 0 {
		g.Due = s.Step
	}
	if of != nil {
		g.Of = of
	}
	g.called = s.At
}

// Left says whether the stack holds anything that a rollback, which was due by then, has left there.
func (g *Saga) Left(at time.Duration) bool {
	return g.Holds(at) > 0 && slices.ContainsFunc(g.Recorded, func(c *Compensation) bool {
		return c.Job != "" && !c.Late && !c.lost && !c.Accounted() && slices.Contains(g.Stack, c.entry)
	})
}

// LeftAlone says whether whoever failed a job of the saga for good has had the time to roll that back, and nothing has struck.
func (f *Facts) LeftAlone(g *Saga) bool {
	since, calm := f.Calm()
	return calm && since <= g.called && g.Of != nil && f.At-g.called > f.Promptly()
}

// Reconciled is when a reconciler is to take up what a rollback has left: the one that begins at once has had its time, its lock
// is gone, and so is that of who tried after it.
func (f *Facts) Reconciled(g *Saga) time.Duration {
	return max(g.called+f.Config.Saga.RollbackTimeout, g.tried, g.Lock.Expires)
}

// SagaAnswered takes in that a process acknowledges a result that it has handled. One that it got when the job was over
// may tell of what is to be undone all the same.
func (f *Facts) SagaAnswered(s *Step, m *Message) {
	if c := &f.Config.Saga; c.AtomicRecord && c.DurableRollback && m.Succeeded() && m.Over == invariants.Process(s.Node, s.Incarnation) && s.About.Saga.Done == 0 {
		s.About.Saga.Done = s.Step
	}
}

// SagaBuried takes in a DLQ entry of a compensation that cannot be read, or that the stream will never have.
func (f *Facts) SagaBuried(s *Step, id string, c *sim.Change) {
	f.FileLetter(s, id, f.Letter(id), c)
	entry, err := history.Read[history.DeadLetter](c.Value)
	if c.Gone || err != nil || entry.ReasonCode != history.SagaUnmarshal && entry.ReasonCode != history.SagaRefused {
		return
	}
	for _, g := range f.Sagas.Order {
		for _, c := range g.Recorded {
			if entry.Topic == history.StackKey(g.ID) && strings.HasSuffix(entry.Reason, c.entry) && !c.ended {
				c.ended, c.Entry = true, id
				if entry.ReasonCode == history.SagaUnmarshal {
					f.Sagas.Unreadable++
				}
			}
		}
	}
}

// compensationDenied takes in an entry of the audit trail, by which the safety kernel has denied the compensation that its
// reason names. It counts only if the kernel has.
func (f *Facts) compensationDenied(e *history.AuditEvent) {
	if j := f.Jobs[e.JobID]; j == nil || !j.Saga.Denied {
		return
	}
	for _, g := range f.Sagas.Order {
		for _, comp := range g.Recorded {
			if comp.Job != "" && !comp.ended && strings.HasPrefix(e.Reason, "compensation "+comp.key+" of saga "+g.ID+": ") {
				comp.ended = true
				f.Sagas.Denied++
				return
			}
		}
	}
}

// OpenSagas says which rollbacks are not over.
func OpenSagas(f *Facts) (list []string) {
	for _, g := range f.Sagas.Order {
		taken := f.Config.Saga.DurableRollback && f.Config.Reconciler
		n := g.Holds(f.At)
		if active := g.Lock.Live(f.At); g.Due != 0 && (active || taken && n > 0) {
			list = append(list, fmt.Sprintf("the rollback of %s is under way, with %s to go", g.ID, invariants.CountOf(n, "compensation", "compensations")))
		}
	}
	return list
}
