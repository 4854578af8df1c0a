package model

import (
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// turns is which dead letters the replay worker is to visit, and which it visits.
type turns struct {
	due    map[string]*turn  // by job ID
	worker map[string]bool   // the processes that have listed what is due; the operator does not
	at     map[string]*Visit // by process
}

// turn is a dead letter's wait for a visit.
type turn struct {
	by     string // the process that has set it on a visit, or as a person; "" otherwise
	since  time.Duration
	put    time.Duration   // when its wait until since began
	called bool            // it was visited
	passed map[string]bool // the letters that were visited meanwhile
}

// Visit is a visit of a dead letter.
type Visit struct {
	Process, ID string
	own         *turn     // its letter's turn when it began
	others      []waiting // the other letters that were due when it began
	wrote       bool      // it has written something about its letter
	unwritten   bool      // its last write has failed
	failed      bool      // one of its operations has failed
	overtaken   bool      // the letter was written meanwhile, by somebody else
	Again       []string  // those of the others that have also waited for an earlier visit of this letter
}

// waiting is a dead letter, and its wait.
type waiting struct {
	id   string
	turn *turn
}

// LetterDue notes that the replay worker is to visit a job's dead letter from a time on, or no longer.
func (f *Facts) LetterDue(s *Step, c *sim.Change, id string) {
	t := f.turns()
	ms, err := strconv.ParseFloat(c.Value, 64)
	switch {
	case id == "": // the whole list
		clear(t.due)
	case c.Gone || err != nil:
		delete(t.due, id)
	default:
		own := &turn{since: f.Workflow.Since(int64(ms)), put: s.At, passed: map[string]bool{}}
		t.due[id] = own
		if s.Phase == "dlq_update" {
			own.by = invariants.Process(s.Node, s.Incarnation)
		}
		if l := f.Replay.Letters[id]; l != nil && l.scheduled == s.Step && !s.Rewinds() && own.since != l.Due {
			for _, check := range f.Hooks.LetterMisplaced {
				check(s, id, own.since, l.Due)
			}
		}
	}
}

// LettersListed notes that a process asks which dead letters are due.
func (f *Facts) LettersListed(s *Step) {
	f.turns().worker[invariants.Process(s.Node, s.Incarnation)] = true
}

// letterVisited notes that a process begins a visit of a job's dead letter.
func (f *Facts) letterVisited(s *Step) {
	f.VisitEnds(s)
	t, id := f.turns(), strings.TrimPrefix(s.Target, history.DlqPrefix)
	own := t.due[id]
	v := &Visit{Process: invariants.Process(s.Node, s.Incarnation), ID: id, own: own, failed: s.Failed || s.Kind != sim.KindRedis}
	if own == nil || !t.worker[v.Process] {
		return
	}
	if !own.called {
		own.called = true
		for _, check := range f.Hooks.LetterCalled {
			check(s, max(own.since, own.put))
		}
	}
	clear(own.passed)
	for _, other := range f.Replay.Order {
		if d := t.due[other]; d != nil && d != own && d.since <= f.At-Slack { // letters of the same millisecond have no order
			v.others = append(v.others, waiting{other, d})
		}
	}
	t.at[v.Process] = v
}

// LetterWritten notes the outcome of a write about a dead letter. If the write failed, or Redis declined it
// because another process had written, this visit leaves the letter where it was.
func (f *Facts) LetterWritten(s *Step) {
	if v := f.turns().at[invariants.Process(s.Node, s.Incarnation)]; v != nil {
		v.unwritten = s.Failed || s.Outcome == history.TransactionFailed
		v.wrote = v.wrote || len(s.Changes) > 0
	}
}

// VisitGoesOn notes an operation of a process on the letter that it visits.
func (f *Facts) VisitGoesOn(s *Step) {
	if v := f.turns().at[invariants.Process(s.Node, s.Incarnation)]; v != nil && s.Job == v.ID && (s.Failed || s.Outcome == history.TransactionFailed) {
		v.failed = true
	}
}

// overtakes notes that the step has written a job's dead letter, which others may be visiting.
func (f *Facts) overtakes(s *Step, id string) {
	for by, v := range f.turns().at {
		own := by == invariants.Process(s.Node, s.Incarnation) && s.Phase == "dlq_update" && s.Kind != sim.KindLate
		v.overtaken = v.overtaken || v.ID == id && !own
	}
}

// Left says whether the visited letter is still, or again, in the replay worker's list by the visit itself.
func (v *Visit) Left(f *Facts) bool {
	d := f.turns().due[v.ID]
	return d != nil && (d == v.own || d.by == v.Process)
}

// VisitEnds notes that a process goes on to something else.
func (f *Facts) VisitEnds(s *Step) {
	t, by := f.turns(), invariants.Process(s.Node, s.Incarnation)
	v := t.at[by]
	delete(t.at, by)
	if v == nil {
		return
	}
	if !v.failed && !v.overtaken {
		for _, check := range f.Hooks.LetterLeft {
			check(s, v)
		}
	}
	if v.unwritten || len(v.others) == 0 {
		return
	}
	if !v.wrote && t.due[v.ID] != v.own {
		return // another process has handled it meanwhile
	}
	for _, o := range v.others {
		if o.turn.passed[v.ID] {
			v.Again = append(v.Again, o.id)
		}
		o.turn.passed[v.ID] = true
	}
	for _, check := range f.Hooks.LetterVisited {
		check(s, v)
	}
}

func (f *Facts) turns() *turns {
	t := &f.Replay.Turns
	if t.due == nil {
		t.due, t.worker, t.at = map[string]*turn{}, map[string]bool{}, map[string]*Visit{}
	}
	return t
}
