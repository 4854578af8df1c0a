package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// sagas is what is known of compensations and rollbacks.
type sagas struct {
	byID  map[string]*saga
	order []*saga                  // in the order of their first event
	byKey map[string]*compensation // by scoped
	dirty []*saga                  // whose stack the step at hand has changed

	submitted, resumed, late, denied, unreadable int

	recording  []func(s *step, c *compensation, again bool)
	submitting []func(s *step, c *compensation, first bool)
	locking    []func(s *step, g *saga, was lock)
}

func (k *sagas) rolledBackOnes() int { return k.submitted }
func (k *sagas) takenUpAgain() int   { return k.resumed }
func (k *sagas) succeededLater() int { return k.late }
func (k *sagas) deniedOnes() int     { return k.denied }
func (k *sagas) unreadables() int    { return k.unreadable }

// saga is one workflow's.
type saga struct {
	id       string
	stack    []string      // as Redis holds it
	expires  time.Duration // when that expires; 0 for never
	before   int           // how much that held before the step at hand
	recorded []*compensation
	due      int  // the step at which a job of it first failed for good; 0 for never
	lock     lock // of its rollback
	by       string
}

// holds is how many compensations the stack has at an instant.
func (g *saga) holds(at time.Duration) int {
	if g.expires != 0 && at >= g.expires {
		return 0
	}
	return len(g.stack)
}

// scoped is the name of a compensation among all: its idempotency key is one only within its saga, and that only within
// its tenant.
func scoped(tenant, workflow, key string) string { return tenant + "|" + workflow + "|" + key }

// compensation is one that was put onto a stack, under an idempotency key.
type compensation struct {
	saga  *saga
	entry string
	key   string // its idempotency key; "" for what cannot be read
	job   string // what it undoes; "" for what cannot be read
	step  int    // when it was put there first
	late  bool   // its saga was to be rolled back by then
	jobs  []string
	ended bool // denied, or in the DLQ
}

func (c *compensation) accounted() bool { return len(c.jobs) > 0 || c.ended }

func (c *compensation) recordedAs() string {
	if c.job == "" {
		return fmt.Sprintf("%q that nobody can read ", c.entry)
	}
	return fmt.Sprintf("that was recorded at step %d ", c.step)
}

// sagaJob is what sagas need to know of a job.
type sagaJob struct {
	workflow  string
	fatal     bool // a worker has answered that it failed for good
	succeeded bool
	answered  bool // a worker has answered that it succeeded, whatever became of the job before
}

// asked is what sagas read of a request.
type asked struct {
	JobID          string            `json:"job_id"`
	Topic          string            `json:"topic"`
	Tenant         string            `json:"tenant"`
	WorkflowID     string            `json:"workflow_id"`
	IdempotencyKey string            `json:"idempotency_key"`
	Labels         map[string]string `json:"labels"`
}

func (k *sagas) of(workflow string) *saga {
	g := k.byID[workflow]
	if g == nil {
		if k.byID == nil {
			k.byID, k.byKey = map[string]*saga{}, map[string]*compensation{}
		}
		g = &saga{id: workflow}
		k.byID[workflow] = g
		k.order = append(k.order, g)
	}
	return g
}

// sagaChanged takes in a change of a saga's stack, or of its lock.
func (j *observer) sagaChanged(s *step, c *sim.Change) {
	k := &j.facts.sagas
	rest := strings.TrimPrefix(c.Key, history.SagaPrefix)
	if workflow, is := strings.CutSuffix(rest, ":stack"); is {
		g := k.of(workflow)
		if !slices.Contains(k.dirty, g) {
			k.dirty, g.before = append(k.dirty, g), len(g.stack)
		}
		i, err := strconv.Atoi(c.Field)
		if g.holds(s.At) == 0 {
			g.stack, g.before = nil, 0
		}
		g.expires = c.Expires
		switch {
		case err != nil:
			g.stack = nil
		case c.Gone:
			g.stack = g.stack[:min(i, len(g.stack))]
		case i < len(g.stack):
			g.stack[i] = c.Value
		default:
			g.stack = append(g.stack, c.Value)
		}
	} else if workflow, is := strings.CutSuffix(rest, ":lock"); is {
		k.locked(s, k.of(workflow), c)
	}
}

func (k *sagas) locked(s *step, g *saga, c *sim.Change) {
	was := g.lock
	g.lock = lock{}
	if !c.Gone {
		g.lock = lock{node: s.Node, incarnation: s.Incarnation, token: c.Value, expires: c.Expires, step: s.Step}
		if me := invariants.Process(s.Node, s.Incarnation); g.by != "" && g.by != me && len(g.stack) > 0 {
			k.resumed++
			g.by = me
		} else {
			g.by = me
		}
	}
	for _, check := range k.locking {
		check(s, g, was)
	}
}

// recordChanges takes in what the step has put onto stacks, now that all of its changes are known.
func (f *facts) recordChanges(s *step) {
	k := &f.sagas
	for _, g := range k.dirty {
		for _, entry := range g.stack[min(g.before, len(g.stack)):] {
			f.compensationRecorded(s, g, entry)
		}
	}
	k.dirty = k.dirty[:0]
}

func (f *facts) compensationRecorded(s *step, g *saga, entry string) {
	k := &f.sagas
	var p asked
	key := "unreadable " + g.id + " " + entry
	readable := json.Unmarshal([]byte(entry), &p) == nil && p.Topic != ""
	if readable {
		key = scoped(p.Tenant, g.id, p.IdempotencyKey)
	}
	c := k.byKey[key]
	again := c != nil
	if !again {
		c = &compensation{saga: g, entry: entry, step: s.Step, late: g.due != 0}
		if readable {
			c.job, c.key = p.Labels["saga_job_id"], p.IdempotencyKey
		}
		k.byKey[key] = c
		g.recorded = append(g.recorded, c)
	} else if len(c.jobs) == 0 { // it is on top now
		g.recorded = append(slices.DeleteFunc(g.recorded, func(other *compensation) bool { return other == c }), c)
	}
	if c.job == "" {
		return
	}
	if !again && c.late {
		k.late++
	}
	for _, check := range k.recording {
		check(s, c, again)
	}
}

// compensationSubmitted takes in a submission by a rollback.
func (f *facts) compensationSubmitted(s *step, data string) {
	k := &f.sagas
	var p asked
	if json.Unmarshal([]byte(data), &p) != nil || p.Labels["saga_compensation"] != "true" || p.Labels[history.LabelReplayOf] != "" { // a replay is its dead letter's
		return
	}
	g := k.of(p.Labels["saga_workflow_id"])
	key := scoped(p.Tenant, g.id, p.IdempotencyKey)
	c := k.byKey[key]
	if c == nil { // nobody was seen to record it
		c = &compensation{saga: g, job: p.Labels["saga_job_id"], key: p.IdempotencyKey, step: s.Step}
		k.byKey[key] = c
	}
	first := len(c.jobs) == 0
	k.submitted++
	if !slices.Contains(c.jobs, p.JobID) {
		c.jobs = append(c.jobs, p.JobID)
	}
	for _, check := range k.submitting {
		check(s, c, first)
	}
}

// answered notes what a worker's result says of its job.
func (j *job) answered(data string) {
	var r struct {
		Status string `json:"status"`
	}
	if json.Unmarshal([]byte(data), &r) == nil {
		j.saga.fatal = j.saga.fatal || r.Status == history.StatusFatal
		j.saga.answered = j.saga.answered || r.Status == succeeded.String()
	}
}

// sagaWrote takes in a state write of a job that may be part of a saga.
func (f *facts) sagaWrote(s *step) {
	j := s.about
	switch {
	case j.state == succeeded, j.state == quarantined:
		j.saga.succeeded = true
	case j.state == failed && j.saga.fatal && j.saga.workflow != "" && s.Phase == "result_write":
		if g := f.sagas.of(j.saga.workflow); g.due == 0 {
			g.due = s.Step
		}
	}
}

// sagaBuried takes in a DLQ entry of a compensation that cannot be read, or that the stream will never have.
func (f *facts) sagaBuried(c *sim.Change) {
	var entry struct {
		ReasonCode string `json:"reason_code"`
		Reason     string `json:"reason"`
		Topic      string `json:"topic"`
	}
	if c.Gone || json.Unmarshal([]byte(c.Value), &entry) != nil || entry.ReasonCode != history.SagaUnmarshal && entry.ReasonCode != history.SagaRefused {
		return
	}
	for _, g := range f.sagas.order {
		for _, c := range g.recorded {
			if entry.Topic == history.StackKey(g.id) && strings.HasSuffix(entry.Reason, c.entry) && !c.ended {
				c.ended = true
				if entry.ReasonCode == history.SagaUnmarshal {
					f.sagas.unreadable++
				}
			}
		}
	}
}

// sagaAudited takes in an event of the audit trail.
func (f *facts) sagaAudited(c *sim.Change) {
	var event struct {
		Kind   string `json:"kind"`
		Reason string `json:"reason"`
	}
	if c.Gone || json.Unmarshal([]byte(c.Value), &event) != nil || event.Kind != history.SagaDenied {
		return
	}
	for _, g := range f.sagas.order {
		for _, comp := range g.recorded {
			if comp.job != "" && !comp.ended && strings.HasPrefix(event.Reason, "compensation "+comp.key+" of saga "+g.id+": ") {
				comp.ended = true
				f.sagas.denied++
				return
			}
		}
	}
}

// openSagas says which rollbacks are not over, and which of their compensations.
func openSagas(f *facts) (list []string) {
	for _, g := range f.sagas.order {
		taken := f.config.Saga.DurableRollback && f.config.Reconciler
		n := g.holds(f.at)
		if active := g.lock.live(f.at); g.due != 0 && (active || taken && n > 0) {
			list = append(list, fmt.Sprintf("the rollback of %s is under way, with %s to go", g.id, invariants.CountOf(n, "compensation", "compensations")))
		}
	}
	for _, j := range f.order {
		if strings.HasPrefix(j.id, history.CompensationIDs) && j.accepted && !j.state.terminal() && (j.state != approvalRequired || j.approved) && !f.poisoned(j) {
			list = append(list, fmt.Sprintf("the compensation %s is not over: its record says %q", j.id, j.state))
		}
	}
	return list
}
