package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
)

// rule is an invariant, what it is promised under, and how it is checked.
type rule struct {
	invariants.Invariant

	row   invariants.Row[config.Config] // of the promise matrix
	saga  bool                          // it is about a saga as a whole
	check func(*model.Facts, *tally) observe.Checker
}

// checking is the invariant with its checker.
func checking(inv invariants.Invariant, check func(*model.Facts, *tally) observe.Checker) rule {
	return rule{Invariant: inv, check: check}
}

// tally keeps what one invariant's checker found.
type tally struct {
	invariants.Tally
	facts  *model.Facts
	unkept *bool // set by a violation within its promise
	saga   bool  // the invariant is about a saga as a whole
}

// stepNo marks the number of a step among the words of a violation.
type stepNo = invariants.StepNo

// exercise notes that there was something to judge.
func (t *tally) exercise() { t.Exercised++ }

// violated notes a violation at the present step; j is nil if it is about no single job.
func (t *tally) violated(j *model.Job, format string, args ...any) {
	t.note(false, j, format, args...)
}

// violatedInGap notes a violation under what the invariant's row declares as open.
func (t *tally) violatedInGap(j *model.Job, format string, args ...any) {
	t.note(true, j, format, args...)
}

func (t *tally) note(inGap bool, j *model.Job, format string, args ...any) {
	f := t.facts
	v := invariants.Violation{Step: f.Step, At: f.At, InGap: inGap}
	broken, struck := &f.Broken, f.StruckNow()
	switch {
	case j != nil:
		v.Job, broken, struck = j.ID, &j.Broken, f.StruckBy(j, t.saga)
	case t.Kind == invariants.Eventually:
		struck = f.StruckEver()
	}
	if f.Broken.Meets(t.StoppedBy) || broken.Meets(t.StoppedBy) {
		t.Stopped++
		return
	}
	broken.Add(t.Place)
	if t.Violated(v, history.Strikes, struck, format, args...) {
		*t.unkept = true
	}
}
