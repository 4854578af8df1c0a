package rule

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
)

// Rule is an invariant with its promise and its checker.
type Rule struct {
	invariants.Invariant

	Row   invariants.Row[config.Config] // of the promise matrix
	Saga  bool                          // it is about a saga as a whole
	Check func(*model.Facts, *Tally) observe.Checker
}

// New returns the rule of an invariant with its checker.
func New(inv invariants.Invariant, check func(*model.Facts, *Tally) observe.Checker) Rule {
	return Rule{Invariant: inv, Check: check}
}

// OfSaga is New for an invariant about a saga as a whole: a strike on one of its jobs, or on its rollback,
// strikes it.
func OfSaga(inv invariants.Invariant, check func(*model.Facts, *Tally) observe.Checker) Rule {
	return Rule{Invariant: inv, Check: check, Saga: true}
}

// Tally keeps what the checker of one invariant found.
type Tally struct {
	invariants.Tally
	Facts  *model.Facts
	Unkept *bool // set by a violation within its promise
	Saga   bool  // the invariant is about a saga as a whole
}

// Exercise notes that there was something to judge.
func (t *Tally) Exercise() { t.Exercised++ }

// Violation notes a violation at the present step; j is nil if it concerns no single job.
func (t *Tally) Violation(j *model.Job, format string, args ...any) {
	t.note(false, j, format, args...)
}

// ViolationInGap notes a violation under the gap that the invariant's row declares.
func (t *Tally) ViolationInGap(j *model.Job, format string, args ...any) {
	t.note(true, j, format, args...)
}

func (t *Tally) note(inGap bool, j *model.Job, format string, args ...any) {
	f := t.Facts
	v := invariants.Violation{Step: f.Step, At: f.At, InGap: inGap}
	broken, struck := &f.Broken, f.StruckNow()
	switch {
	case j != nil:
		v.Job, broken, struck = j.ID, &j.Broken, f.StruckBy(j, t.Saga)
	case t.Kind == invariants.Eventually:
		struck = f.StruckEver()
	}
	if f.Broken.Meets(t.StoppedBy) || broken.Meets(t.StoppedBy) {
		t.Stopped++
		return
	}
	broken.Add(t.Place)
	if t.Violated(v, history.Strikes, struck, format, args...) {
		*t.Unkept = true
	}
}

// Situation is a Sometimes that was seen as often as times returns at the end of the run.
func Situation(times func(*model.Facts) int, name, says, source string) Rule {
	return New(invariants.Invariant{Name: name, Says: says, Kind: invariants.Sometimes, Source: source}, func(f *model.Facts, t *Tally) observe.Checker {
		return observe.Checker{Ended: func(*invariants.End) { t.Exercised = times(f) }}
	})
}

// Reached counts how often a moment came.
func Reached(m model.Moment) func(*model.Facts) int {
	return func(f *model.Facts) int { return f.Reached[m] }
}

// WithRecord calls a function for every job that has a record.
func WithRecord(f *model.Facts, each func(*model.Job)) {
	for _, j := range f.Order {
		if j.Accepted {
			each(j)
		}
	}
}

// SinceStep names the step of the last state write, which an audit does not know.
func SinceStep(j *model.Job) invariants.Clause {
	if j.StateAt == 0 {
		return invariants.Clause{}
	}
	return invariants.Say(", since step %d", invariants.StepNo(j.StateAt))
}

// EntryAmiss says what is wrong at the end with a DLQ entry that was written, besides its content: it is gone
// too early, has a wrong lifetime, or is not in the index.
func EntryAmiss(f *model.Facts, end *invariants.End, id string, e *model.Filing) (what invariants.Clause, amiss bool) {
	_, there := end.Redis[history.DlqPrefix+id][""]
	_, indexed := end.Redis[history.DlqIndex][id]
	left, expires := end.TTLs[history.DlqPrefix+id]
	switch l := &e.DlqAmiss; {
	case !there && (e.DlqExpires == 0 || end.At < e.DlqExpires):
		return invariants.Say("does not exist"), true
	case l.Amiss:
		return invariants.Say("was written at step %d to last for %s, and should have %s", invariants.StepNo(l.Step), l.Is, l.Should), true
	case !there: // it has expired
	case end.TTLs != nil && (!expires || left > f.Config.DLQEntryTTL+model.Slack):
		return invariants.Say("has %s left (0s is for ever), and dlq_entry_ttl is %s", left, f.Config.DLQEntryTTL), true
	case !indexed:
		return invariants.Say("is not in %s", history.DlqIndex), true
	}
	return invariants.Clause{}, false
}
