package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// DerivedJob is a job that the schedulers submit themselves: a compensation, a step of a run, or the replay
// of a dead letter.
type DerivedJob struct {
	JobResult
	What string `json:"what"` // compensation, step, or replay and its number
	Of   string `json:"of"`   // the job or the run that it belongs to

	Replay bool `json:"replay,omitempty"` // it is the replay of a dead letter

	moments []moment
}

// AuditEvent is a decision that the audit trail records.
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
	told  map[string]bool // events of the trail that were told, in their stored form
	trail []moment
}

func newDerived() derived { return derived{byID: map[string]*DerivedJob{}, told: map[string]bool{}} }

// whatOf describes the job of an ID, and returns the job or run that it belongs to. Both are "" for a job of
// a client.
func whatOf(id, packet string) (what, of string) {
	if of, n, ok := strings.Cut(id, "-replay-"); ok {
		return "replay " + n, of
	}
	req, _ := history.Read[history.Request](packet)
	switch {
	case strings.HasPrefix(id, history.CompensationIDs):
		return "compensation", req.Labels["saga_job_id"]
	case req.WorkflowID != "" && strings.HasPrefix(id, req.WorkflowID+"-"):
		return "step", req.WorkflowID
	}
	return "", ""
}

// decided notes an event of the audit trail.
func (r *record) decided(f *history.Fact) {
	d, text := &r.derived, f.Change.Value
	if f.Change.Gone || d.told[text] {
		return
	}
	d.told[text] = true
	event, err := history.Read[history.AuditEvent](text)
	if err != nil {
		return
	}
	a := AuditEvent{Time: f.At, Kind: event.Kind, JobID: event.JobID, Reason: event.Reason, By: event.By}
	d.audit = append(d.audit, a)
	if a.JobID != "" {
		event.Kind += " for " + a.JobID
	}
	d.trail = append(d.trail, moment{at: f.At, step: f.Step, node: f.Node, says: onRecord, a: event.Kind, b: a.words(), of: a.JobID})
}

// words say why something was decided, and by whom.
func (a *AuditEvent) words() (text string) {
	if a.Reason != "" {
		text = ", " + strings.TrimSuffix(a.Reason, ".")
	}
	if a.By != "" {
		text += " (by " + a.By + ")"
	}
	return hashes.ReplaceAllString(text, "$1")
}

// hashes matches hashes of 64 digits; a sentence shows the first 12.
var hashes = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// stored notes a stored message of a derived job.
func (d *derived) stored(f *history.Fact) {
	if f.What == history.Submission {
		if j := d.job(f.Job, f.Change.Value); j != nil {
			again := " again"
			if j.Submitted == 0 {
				j.Submitted, again = f.At, ""
			}
			j.moments = append(j.moments, moment{at: f.At, step: f.Step, node: f.Node, says: derivedSubmitted, a: j.What, b: again, of: j.Of})
		}
		return
	}
	if j := d.byID[f.Job]; j != nil && f.What == history.Dispatch {
		j.Dispatches = append(j.Dispatches, DispatchPoint{f.Step, f.At, f.Change.Subject, f.Change.Seq})
	}
}

// written notes a change of a derived job's record.
func (d *derived) written(f *history.Fact) {
	j := d.byID[f.Job]
	if packet, ok := f.Field("request"); ok && j == nil {
		j = d.job(f.Job, packet)
	}
	if j == nil {
		return
	}
	j.takeIn(f)
	if to, ok := f.Field("state"); ok {
		j.State, j.Settled = to, 0
		if scheduler.Terminal(to) {
			j.Settled = f.At
		}
		j.Path = append(j.Path, JobPoint{f.Step, f.At, to, j.Attempts, f.Phase})
		tell(&j.moments, f.Event, wrote, to, j.stateWords(f), j.Attempts)
	}
}

// delivered notes that the dispatch of a derived job is delivered to a worker again.
func (d *derived) delivered(e *sim.Event) {
	if j := d.byID[e.Job]; j != nil && e.Phase == "job_deliver" && e.Delivered > 1 && e.Outcome == sim.OutcomeOK {
		tell(&j.moments, e, redelivered, messageNames["job"], "", 0)
	}
}

// executed notes that a worker begins or finishes a derived job. The beginning is told only if a violation
// depends on it.
func (d *derived) executed(e *sim.Event) {
	switch j := d.byID[e.Job]; {
	case j == nil:
	case e.Name == actors.EffectBegin:
		j.Executions++
		j.moments = add(j.moments, moment{at: e.At, step: e.Step, node: e.Node, says: began, b: either(j.Executions > 1, " again", ""), quiet: true})
	case history.AnswerOf(e) == history.Declined:
		tell(&j.moments, e, effectRefused, "", "", 0)
	case e.Name == actors.EffectDone:
		j.Effects++
	}
}

// about marks the derived jobs that belong to one of the IDs, directly or through other derived jobs.
func (d *derived) about(of map[string]bool) {
	for _, j := range d.jobs {
		if of[j.Of] {
			j.About, of[j.ID] = true, true
		}
	}
}

// job finds or adds a derived job; nil for a job that a client submitted.
func (d *derived) job(id, packet string) *DerivedJob {
	if j := d.byID[id]; j != nil {
		return j
	}
	what, of := whatOf(id, packet)
	if what == "" {
		return nil
	}
	j := &DerivedJob{JobResult: JobResult{ID: id, Dispatches: []DispatchPoint{}}, What: what + " of " + of, Of: of, Replay: strings.HasPrefix(what, "replay")}
	d.byID[id] = j
	d.jobs = append(d.jobs, j)
	return j
}

// doneBy notes that a derived job, as a replay, has done what a client's job failed to do.
func (r *record) doneBy(id string) {
	j := r.derived.byID[id]
	if j == nil || !j.Replay {
		return
	}
	switch of := r.job(j.Of); {
	case of == nil:
	case j.State == "SUCCEEDED":
		of.DoneBy = id
	case of.DoneBy == id:
		of.DoneBy = ""
	}
}

// derivedMax is how many derived jobs a story follows, besides those that belong to the jobs that it is
// about.
const derivedMax = 8

func (d *derived) follows(j *DerivedJob) bool { return j.About || len(d.jobs) <= derivedMax }

// followsOf says whether the story follows a derived job that belongs to that job or run.
func (d *derived) followsOf(id string) bool {
	return slices.ContainsFunc(d.jobs, func(j *DerivedJob) bool { return j.Of == id && d.follows(j) })
}

// others sums up the derived jobs that the story does not follow.
func (d *derived) others() string {
	n, became := 0, map[string]int{}
	for _, j := range d.jobs {
		if !d.follows(j) {
			n++
			became[cmp.Or(j.State, "without a record")]++
		}
	}
	if n == 0 {
		return ""
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(became)) {
		parts = append(parts, fmt.Sprintf("%d %s", became[state], state))
	}
	return fmt.Sprintf("Schedulers submitted %s themselves: %s.", count(n, "other job"), strings.Join(parts, ", "))
}
