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
	byKey map[string]*Compensation // by the result of scoped
	Dirty []*Saga                  // sagas whose stacks the present step has changed

	Submitted, Resumed, Late, Denied, Unreadable int
}

// Saga is the saga of one tenant's workflow.
type Saga struct {
	ID       string        // by history.SagaOf
	Stack    []string      // as in Redis
	Expires  time.Duration // when that expires; 0 for never
	Before   int           // how many entries it had before the present step
	Recorded []*Compensation
	Of       *Job          // the job that last failed for good; nil for none
	called   time.Duration // when that job failed, or the run
	tried    time.Duration // when somebody last took its lock, or released it
	Due      int           // the step at which one of its jobs first failed for good; 0 for never
	Began    int           // the step at which its rollback first took its lock; 0 for never
	Lock     Lock          // of its rollback
	Emptied  Sight
	rollers  []string // the nodes that have begun to roll it back, and not to release its lock
	Noted    Note
	by       string
	struck   invariants.Kinds // by strikes on its own operations
}

// Sight is the moment at which the holder of a rollback's lock saw the stack empty. It then only has to say
// so and to release the lock.
type Sight struct {
	Step int // 0 if there was none, or something kept the holder from that afterwards
	At   time.Duration
}

// Note is a saga's entry in saga:rollbacks.
type Note struct {
	Due  time.Duration // when somebody is to resume its rollback
	Step int           // the step of its write; 0 if there is no entry
}

// InSight says whether somebody will resume the note's rollback before the stack expires.
func (n *Note) InSight(at time.Duration) bool { return n.Step != 0 && n.Due < at+StackTTL }

// StackTTL is how long a stack is kept after its last push: as long as a dead letter.
const StackTTL = 30 * 24 * time.Hour

// Holds is the number of compensations on the stack at an instant.
func (g *Saga) Holds(at time.Duration) int {
	if g.Expires != 0 && at >= g.Expires {
		return 0
	}
	return len(g.Stack)
}

// scoped is the unique name of a compensation. Each job of a saga has one compensation, whatever its key. A
// compensation that names no job is named by its key.
func scoped(saga string, p *history.Request) string {
	if job := p.Labels["saga_job_id"]; job != "" {
		return saga + "|of " + job
	}
	return saga + "|" + p.IdempotencyKey
}

// Compensation is a compensation that was pushed onto a stack.
type Compensation struct {
	Saga   *Saga
	entry  string
	key    string   // its idempotency key; "" if it is unreadable
	Job    string   // the job that it undoes; "" if it is unreadable
	Step   int      // when it was first pushed
	Late   bool     // its saga was to be rolled back by then
	Jobs   []string // the jobs that were submitted for it
	As     string   // the last of these
	First  int      // the step of the first of these submissions
	pushed int      // when it was last pushed
	ended  bool     // it was denied, or is in the DLQ
	Entry  string   // the ID of its DLQ entry; "" for none
	lost   bool     // a failover has removed it from its stack
}

func (c *Compensation) Accounted() bool { return len(c.Jobs) > 0 || c.ended }

// SubmittedAs returns the jobs that were submitted for the compensation; with peek, those for all
// compensations of its saga with its key.
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

// DueAs says since when the saga is to be rolled back, and when the rollback began.
func (g *Saga) DueAs() invariants.Clause {
	if g.Began == 0 {
		return invariants.Say("has been due since step %d", invariants.StepNo(g.Due))
	}
	return invariants.Say("has been due since step %d and began at step %d", invariants.StepNo(g.Due), invariants.StepNo(g.Began))
}

// Recorded returns the compensation that was recorded for a job; nil if there is none.
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
	Fatal    bool   // a worker has reported that it failed for good
	Answered bool   // a worker has reported that it succeeded, whatever its state was by then
	Undoable bool   // a request of it names a compensation
	Denied   bool   // the safety kernel has denied it
	Recorded bool   // its compensation has been on its saga's stack
	Done     int    // the step at which its success was in its record, or was noted although it had ended otherwise; 0 for never
}

// FirstOf is the first of the jobs that share the job's effect and its idempotency key: the first attempt of
// a run's step, or the original of a replay that keeps its key.
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

// SagaLocked notes a change of the key of a rollback's lock.
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

// RollbackNoted notes a change of the list of rollbacks.
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

// SagaOperation notes an operation of a rollback, or of a process that records a compensation.
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
		case s.Phase == "saga_close" && s.Failed: // it may belong to any rollback of its process
			g.Emptied = Sight{}
		case !own:
		case unlocks:
			if !slices.Contains(g.rollers, s.Node) { // else it may belong to another rollback of its process
				for _, check := range f.Hooks.RolledBack {
					check(s, g)
				}
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

// keptUp notes that something keeps a node from continuing its rollbacks.
func (k *Sagas) keptUp(node string) {
	for _, g := range k.Order {
		if g.Lock.Node == node {
			g.Emptied = Sight{}
		}
	}
}

// LeftBehind lists the compensations that were on a run's stack when its record was last written, and still
// are.
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

// RecordChanges notes what the step has pushed onto stacks, or removed from them in a loss, once all of its
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

// stackTakenBack notes which compensations a failover of Redis has removed from the saga's stack. Their jobs
// have to record them again. If the stack has not changed, it had been given up before: then only those of
// jobs that are not over count, since for the others both the push and the giving up are lost. Unreadable
// ones are forgotten: no job has them, and whoever recorded them waited for no replica.
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
	if !again { // nobody who rolls back has seen there what a failover removed
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

// CompensationSubmitted notes a submission by a rollback.
func (f *Facts) CompensationSubmitted(s *Step, p *history.Request) {
	k := &f.Sagas
	if p.Labels["saga_compensation"] != "true" || p.Labels[history.LabelReplayOf] != "" { // a replay belongs to its dead letter
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

// SagaWrote notes a state write of a job that may belong to a saga.
func (f *Facts) SagaWrote(s *Step) {
	j := s.About
	switch {
	case j.State == Succeeded, j.State == Quarantined:
		j.Saga.Done = s.Step
	case j.State == Failed && j.Saga.Fatal && j.Saga.ID != "" && s.Phase == "result_write":
		f.Sagas.Of(j.Saga.ID).Call(s, j)
	}
}

// Call notes that the saga is to be rolled back, because a job has failed for good. If the job is nil, the
// saga's run has failed.
func (g *Saga) Call(s *Step, of *Job) {
	if g.Due == 0 {
		g.Due = s.Step
	}
	if of != nil {
		g.Of = of
	}
	g.called = s.At
}

// Left says whether the stack holds anything that a rollback that was due by then has left there.
func (g *Saga) Left(at time.Duration) bool {
	return g.Holds(at) > 0 && slices.ContainsFunc(g.Recorded, func(c *Compensation) bool {
		return c.Job != "" && !c.Late && !c.lost && !c.Accounted() && slices.Contains(g.Stack, c.entry)
	})
}

// LeftAlone says whether the process that failed a job of the saga for good has had the time to roll it back,
// and nothing has struck.
func (f *Facts) LeftAlone(g *Saga) bool {
	since, calm := f.Calm()
	return calm && since <= g.called && g.Of != nil && f.At-g.called > f.Promptly()
}

// Reconciled is when a reconciler is to resume what a rollback has left. By then the immediate rollback has
// had its time, and its lock has expired, and so has that of a later attempt.
func (f *Facts) Reconciled(g *Saga) time.Duration {
	return max(g.called+f.Config.Saga.RollbackTimeout, g.tried, g.Lock.Expires)
}

// SagaAnswered notes that a process acknowledges a result that it has handled. A result that it received when
// the job was over may still show something to be undone.
func (f *Facts) SagaAnswered(s *Step, m *Message) {
	if c := &f.Config.Saga; c.AtomicRecord && c.DurableRollback && m.Succeeded() && m.Over == invariants.Process(s.Node, s.Incarnation) && s.About.Saga.Done == 0 {
		s.About.Saga.Done = s.Step
	}
}

// SagaBuried notes a DLQ entry of a compensation that cannot be read, or that the stream will never have.
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

// compensationDenied notes an entry of the audit trail, according to which the safety kernel has denied the
// compensation that its reason names. It counts only if the kernel has.
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

// OpenSagas lists the rollbacks that are not over.
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
