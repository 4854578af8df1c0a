package model

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Try is a person's attempt to decide on a dead letter. It begins with a look at the letter.
type Try struct {
	Step     int    // of that look
	Letter   Letter // as the person saw it
	Refused  int    // how often the audit trail has refused the person since
	hindered bool   // an operation of the person has failed since, or the letter was written
}

// Vain says whether nothing has come of the try, although nothing was in its way.
func (y *Try) Vain() bool { return !y.hindered }

// tries are the operator's tries.
type tries struct {
	process string // of the operator
	last    map[string]*Try
	order   []string // the jobs that the operator has looked at
}

// OperatorActs notes an operation of the operator. A new process tries again.
func (f *Facts) OperatorActs(s *Step) {
	if s.Node != history.OperatorNode || s.About == nil {
		return
	}
	y := &f.Replay.tries
	if me := invariants.Process(s.Node, s.Incarnation); me != y.process {
		*y = tries{process: me, last: map[string]*Try{}}
	}
	if s.Failed || s.Outcome == sim.OutcomePending || s.Outcome == history.TransactionFailed {
		f.hindered(s.About.ID)
	}
}

// hindered notes that something is in the way of the last try at a job's dead letter, or has come of it.
func (f *Facts) hindered(id string) {
	if y := f.Replay.tries.last[id]; y != nil {
		y.hindered = true
	}
}

// letterTried notes that the operator looks at a job's dead letter, which is nil if there is none. The result
// of the last try shows by then.
func (f *Facts) letterTried(s *Step, id string, l *Letter) {
	y := &f.Replay.tries
	if s.Node != history.OperatorNode || s.Failed {
		return
	}
	last, looked := y.last[id]
	if !looked {
		y.order = append(y.order, id)
	}
	if l == nil {
		y.last[id] = nil
		return
	}
	if last != nil {
		for _, check := range f.Hooks.LetterTried {
			check(id, last)
		}
	}
	y.last[id] = &Try{Step: s.Step, Letter: *l}
}

// letterRefused notes that somebody wanted to decide on a job's dead letter who may not.
func (f *Facts) letterRefused(s *Step, e *history.AuditEvent) {
	r := &f.Replay
	l := r.Letters[e.JobID]
	if l == nil {
		return
	}
	l.Refused = true
	r.Reached["refused"]++
	y := r.tries.last[e.JobID]
	if s.Node != history.OperatorNode || s.Rewinds() || y == nil {
		return
	}
	y.Refused++
	for _, check := range f.Hooks.LetterRefused {
		check(s, e, y)
	}
}

// LastTries calls look with the operator's last tries, by job ID. The operator has finished by the end,
// unless it is down.
func (f *Facts) LastTries(look func(id string, y *Try)) {
	y := &f.Replay.tries
	if f.Node(history.OperatorNode).Down {
		return
	}
	for _, id := range y.order {
		if last := y.last[id]; last != nil {
			look(id, last)
		}
	}
}
