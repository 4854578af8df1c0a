package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// letter is the present state of an entry in the dead-letter queue.
type letter struct {
	history.DeadLetter
	name    string // its name in the story
	expires time.Duration
}

// letters are the dead-letter queue. byID has its entries by their IDs.
type letters struct {
	byID    map[string]*letter
	order   []string
	listed  map[string]bool // in the index
	met     map[string]bool // the replay statuses that entries have had, as "<id> <status>"
	decided map[string]bool // those that the operator has brought about, likewise
}

func newLetters() letters {
	return letters{byID: map[string]*letter{}, listed: map[string]bool{}, met: map[string]bool{}, decided: map[string]bool{}}
}

// changed notes a change of an entry and returns the entry: nil if it is gone, or unreadable. isNew says that
// there was none before.
func (l *letters) changed(f *history.Fact, name string) (now *letter, isNew bool) {
	id := strings.TrimPrefix(f.Change.Key, history.DlqPrefix)
	was := l.byID[id]
	entry, err := history.Read[history.DeadLetter](f.Change.Value)
	if f.Change.Gone || err != nil {
		delete(l.byID, id)
		return nil, false
	}
	if was == nil {
		was = &letter{name: name}
		if !slices.Contains(l.order, id) {
			l.order = append(l.order, id)
		}
		isNew = true
	}
	was.DeadLetter, was.expires = *entry, f.Change.Expires
	l.byID[id] = was
	if entry.Action != "" {
		l.met[id+" "+entry.ReplayStatus] = true
		if entry.DecidedBy == history.OperatorNode {
			l.decided[id+" "+entry.ReplayStatus] = true
		}
	}
	return was, isNew
}

// indexed notes a change of the index.
func (l *letters) indexed(f *history.Fact) {
	switch {
	case f.Change.Gone && f.Job == "": // the whole index, in a failover
		clear(l.listed)
	default:
		l.listed[f.Job] = !f.Change.Gone
	}
}

// lettered tells of a dead letter, if it does not come with the write of a state.
func (r *record) lettered(f *history.Fact) {
	j := r.job(f.Event.Job)
	if j == nil {
		j = r.stranger(f.Event.Job)
	}
	entry, _ := r.letters.changed(f, f.Event.Job)
	if j == nil || f.Change.Gone {
		return
	}
	if entry != nil {
		j.LastCause = entry.LastCause
	}
	if last := j.last(); !j.entered && (last == nil || last.step != f.Step) {
		j.tellOnce(f.Event, buried, "")
	}
	j.entered = true
}

// unusable tells of a saga's dead letter whose compensation was not submitted.
func (r *record) unusable(f *history.Fact) {
	id := strings.TrimPrefix(f.Change.Key, history.DlqPrefix)
	entry, isNew := r.letters.changed(f, id)
	if !isNew { // the audit trail tells of its triage
		return
	}
	_, saga := history.KeyOf(entry.Topic)
	why := either(entry.ReasonCode == "saga_unmarshal_failed", "nobody can read", "was not submitted") + " (" + entry.ReasonCode + ")"
	r.derived.trail = append(r.derived.trail, moment{at: f.At, step: f.Step, node: f.Node, says: unusable, a: saga, b: why, of: id})
}

// toDo is the words for what is left to do about dead letters: the beginning of the sentence, the object and
// the end.
type toDo struct{ before, noun, after string }

// lettersLeft says what is left to do about the dead letters when the run ends.
func (r *run) lettersLeft() string {
	l, names := &r.record.letters, map[toDo][]string{}
	var order []toDo
	for _, id := range l.order {
		e := l.byID[id]
		if e == nil || e.expires > 0 && e.expires <= r.end {
			continue
		}
		what, is := r.leftOf(e)
		if !is {
			continue
		}
		if !l.listed[id] {
			what = toDo{"Nobody finds", "dead letter", ", which the index lacks"}
		}
		if names[what] == nil {
			order = append(order, what)
		}
		names[what] = append(names[what], e.name)
	}
	var told []string
	for _, what := range order {
		list := names[what]
		told = append(told, fmt.Sprintf("%s the %s%s of %s%s.", what.before, what.noun, either(len(list) > 1, "s", ""), some(list), what.after))
	}
	return strings.Join(told, " ")
}

// leftOf says what is left to do about a dead letter, if anything.
func (r *run) leftOf(e *letter) (what toDo, is bool) {
	by := func(group string) string {
		return "An operator" + either(group == "", "", " of "+group) + " has yet to "
	}
	switch e.ReplayStatus {
	case "pending_review":
		if e.Action == "" && r.plan.Engine.Replay.Enabled {
			return toDo{"Nobody has triaged", "dead letter", " yet"}, true
		}
		return toDo{by(e.Owner) + "look at", "dead letter", ""}, true
	case "quarantined":
		if e.Status == "TERMINATED" { // it belongs to no job
			return toDo{by(e.Owner) + "look at", "dead letter", ""}, true
		}
		return toDo{by(e.Owner) + "mend", "payload", ""}, true
	case "awaiting_approval":
		return toDo{by(e.Approvers) + "approve", "replay", ""}, true
	case "replayed":
		if d := r.record.derived.byID[e.ReplayJob]; d != nil && d.State == "APPROVAL_REQUIRED" {
			return toDo{"Nobody has approved", "replay", " yet, which the safety kernel asks for"}, true
		}
	case "scheduled":
		return toDo{"Still to come:", "replay", ", due at " + at(r.judge.Facts.Workflow.Since(e.NextReplayAt))}, true
	}
	return toDo{}, false
}

// idleOperator lists what the plan wants of the operator and had no occasion.
func (r *run) idleOperator() (list []string) {
	if !r.plan.Engine.Replay.Enabled || r.opt.StopAt != "" { // the plan says so, or the run was not finished
		return nil
	}
	l, w := &r.record.letters, &r.plan.Workload
	for _, errand := range w.ReplayErrands() {
		for _, n := range slices.Sorted(maps.Keys(errand.After)) {
			id, why := plans.JobID(n), errand.Missed
			if l.decided[id+" "+errand.Ends] || slices.ContainsFunc(errand.Occasions, func(status string) bool { return l.met[id+" "+status] }) {
				continue
			}
			if !slices.Contains(l.order, id) {
				why = "%s has no dead letter"
			}
			list = append(list, fmt.Sprintf("workload.%s.%d does nothing: "+why, errand.Key, n, id))
		}
	}
	return list
}
