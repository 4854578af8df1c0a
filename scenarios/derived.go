package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// DerivedJob is a job that the schedulers have submitted themselves: a compensation, the step of a run, or
// the replay of a dead letter.
type DerivedJob struct {
	JobResult
	What string `json:"what"` // whose it is, in words
	Of   string `json:"of"`   // the job or the run that it is of
}

// AuditEvent is a decision that the audit trail has on record.
type AuditEvent struct {
	Time   time.Duration `json:"at_ns"`
	Kind   string        `json:"kind"`
	JobID  string        `json:"job_id,omitempty"`
	Reason string        `json:"reason,omitempty"`
	By     string        `json:"by,omitempty"`
}

// derived follows the jobs that no client has submitted, and the audit trail.
type derived struct {
	jobs  []*DerivedJob // in the order in which they were first seen
	byID  map[string]*DerivedJob
	audit []AuditEvent
	told  map[string]bool // events of the trail, as they stand there
}

func newDerived() derived { return derived{byID: map[string]*DerivedJob{}, told: map[string]bool{}} }

// whatOf says what an id is the job of, and in words; "" for one that a client submitted.
func whatOf(id string, packet []byte) (what, of string) {
	if of, n, ok := strings.Cut(id, "-replay-"); ok {
		return "replay " + n, of
	}
	var req struct {
		WorkflowID string            `json:"workflow_id"`
		Labels     map[string]string `json:"labels"`
	}
	_ = json.Unmarshal(packet, &req)
	switch {
	case strings.HasPrefix(id, "comp-"):
		return "compensation", req.Labels["saga_job_id"]
	case req.WorkflowID != "" && strings.HasPrefix(id, req.WorkflowID+"-"):
		return "step", req.WorkflowID
	}
	return "", ""
}

// decided takes in an event of the audit trail.
func (d *derived) decided(e *sim.Event, c *sim.Change) {
	if c.Gone || d.told[c.Value] {
		return
	}
	d.told[c.Value] = true
	event := struct {
		AuditEvent
		At int64 `json:"at"`
	}{}
	if json.Unmarshal([]byte(c.Value), &event) == nil {
		event.Time = e.At
		d.audit = append(d.audit, event.AuditEvent)
	}
}

// stored takes in a message of a job that no client submitted.
func (d *derived) stored(e *sim.Event, id string, c *sim.Change) {
	if c.Subject == "sys.job.submit" {
		if j := d.job(id, []byte(c.Value)); j != nil {
			first(&j.Submitted, e.At)
		}
		return
	}
	dispatch := c.Stream == "CORDUM_JOBS" && c.Header["Job-Void"] == "" && !strings.HasSuffix(c.Subject, ".cancel")
	if j := d.byID[id]; j != nil && dispatch {
		j.Dispatches = append(j.Dispatches, DispatchPoint{e.Step, e.At, c.Subject, c.Seq})
	}
}

// written takes in a change of such a job's record.
func (d *derived) written(e *sim.Event, id string, c *sim.Change) {
	j := d.byID[id]
	for i := range e.Changes { // the request may come after the state
		if r := &e.Changes[i]; j == nil && r.Key == c.Key && r.Field == "request" {
			j = d.job(id, []byte(r.Value))
		}
	}
	if j == nil {
		return
	}
	j.takeIn(e, c)
	if c.Field == "state" {
		j.State, j.Settled = c.Value, 0
		if terminal(c.Value) {
			j.Settled = e.At
		}
		j.Path = append(j.Path, JobPoint{e.Step, e.At, c.Value, j.Attempts, e.Phase})
	}
}

// executed takes in that a worker begins such a job.
func (d *derived) executed(e *sim.Event) {
	if j := d.byID[e.Job]; j != nil && e.Name == world.EffectBegin {
		j.Executions++
	}
}

// about marks the jobs that are of one of those ids, and those that are of them in turn.
func (d *derived) about(of map[string]bool) {
	for _, j := range d.jobs {
		if of[j.Of] {
			j.About, of[j.ID] = true, true
		}
	}
}

// job finds a derived job, or takes it in; nil for a job that a client submitted.
func (d *derived) job(id string, packet []byte) *DerivedJob {
	if j := d.byID[id]; j != nil {
		return j
	}
	what, of := whatOf(id, packet)
	if what == "" {
		return nil
	}
	j := &DerivedJob{JobResult: JobResult{ID: id, Dispatches: []DispatchPoint{}}, What: what + " of " + of, Of: of}
	d.byID[id] = j
	d.jobs = append(d.jobs, j)
	return j
}

// toldMax bounds what a story tells of derived jobs, and again of the audit trail.
const toldMax = 8

// tell has a sentence for each derived job, and for each decision on record.
func (d *derived) tell() (told []string) {
	for _, j := range d.jobs {
		told = append(told, j.story())
	}
	told = shorten(told, "derived job")
	var decided []string
	for _, a := range d.audit {
		decided = append(decided, a.story())
	}
	return append(told, shorten(decided, "decision")...)
}

func shorten(told []string, noun string) []string {
	if len(told) <= toldMax {
		return told
	}
	return append(slices.Clone(told[:toldMax-1]), fmt.Sprintf("And %s.", count(len(told)-toldMax+1, "more "+noun)))
}

func (j *DerivedJob) story() string {
	s := fmt.Sprintf("%s, %s,", j.ID, j.What)
	if j.Submitted > 0 {
		s += " was submitted at " + at(j.Submitted)
	} else {
		s += " was stored and never submitted"
	}
	switch n := len(j.Dispatches); n {
	case 0:
	case 1:
		s += "; one dispatch was stored"
	default:
		s += fmt.Sprintf("; %d dispatches were stored", n)
	}
	switch {
	case j.State == "":
		return s + "; it has no record."
	case j.Settled == 0:
		return s + "; still " + j.State + "."
	}
	return s + fmt.Sprintf("; %s at %s%s.", j.State, at(j.Settled), j.because())
}

func (a *AuditEvent) story() string {
	s := "On record at " + at(a.Time) + ": " + a.Kind
	if a.JobID != "" {
		s += " " + a.JobID
	}
	if a.Reason != "" {
		s += ", " + strings.TrimSuffix(a.Reason, ".")
	}
	if a.By != "" {
		s += " (by " + a.By + ")"
	}
	return s + "."
}
