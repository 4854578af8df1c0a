package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// Judge watches one run. It is not safe for concurrent use.
type Judge struct {
	*observe.Observer
	tallies []*rule.Tally
	unkept  bool                    // something was violated within its promise
	ended   []func(*invariants.End) // one for each tally; nil if there is nothing to judge at the end
	audited []func(*invariants.End) // likewise
}

// NewJudge returns a judge for a run that has not begun.
func NewJudge(cfg config.Config) *Judge {
	j := &Judge{Observer: observe.NewObserver(cfg)}
	f := j.Facts
	place := map[string]int{}
	for i, r := range all() {
		place[r.Name] = i
		t := &rule.Tally{Tally: invariants.Tally{Outcome: invariants.Outcome{Invariant: r.Invariant}, Place: i, Releases: r.Row.Released(&f.Config), Gap: r.Row.Open.Under != ""}, Facts: f, Unkept: &j.unkept, Saga: r.Saga}
		if r.Kind != invariants.Sometimes {
			t.Promise, t.Unprovided, t.Released = r.Row.Says(&f.Config), !r.Row.Promised(&f.Config), history.Strikes.List(t.Releases)
		}
		for _, need := range r.Needs {
			t.StoppedBy.Add(place[need])
		}
		j.tallies = append(j.tallies, t)
		c := r.Check(f, t)
		j.Hook(&c)
		j.ended, j.audited = append(j.ended, c.Ended), append(j.audited, c.Audited)
	}
	return j
}

// Ask makes the judge check an invariant even after violations of those that it needs.
func (j *Judge) Ask(name string) {
	if t := j.tally(name); t != nil {
		t.StoppedBy = invariants.Places{}
	}
}

// Broken says whether an invariant has been violated within its promise; if name is "", whether any has.
func (j *Judge) Broken(name string) bool {
	if name == "" || !j.unkept {
		return j.unkept
	}
	t := j.tally(name)
	return t != nil && t.Promised > 0
}

// Violated says whether an invariant has been violated, within its promise or not.
func (j *Judge) Violated(name string) bool {
	t := j.tally(name)
	return t != nil && t.Promised+t.Unpromised > 0
}

// Found returns the violations of an invariant so far.
func (j *Judge) Found(name string) []invariants.Violation {
	if t := j.tally(name); t != nil {
		return t.Violations
	}
	return nil
}

func (j *Judge) tally(name string) *rule.Tally {
	for _, t := range j.tallies {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Finish judges what can only be judged at the end, and returns the report. The judge cannot be used
// afterwards.
func (j *Judge) Finish(end invariants.End) invariants.Report {
	f := j.Facts
	f.At = end.At
	if end.InTime {
		j.GiveUp()
	}
	for i, ended := range j.ended {
		t := j.tallies[i]
		switch {
		case ended == nil || !end.InTime && t.Kind == invariants.Eventually:
		case f.Broken.Meets(t.StoppedBy):
			t.Stopped++
		default:
			ended(&end)
		}
	}
	return j.report(end.InTime)
}

func (j *Judge) report(inTime bool) invariants.Report {
	r := invariants.Report{InTime: inTime, Invariants: make([]invariants.Outcome, 0, len(j.tallies))}
	for _, t := range j.tallies {
		r.Invariants = append(r.Invariants, t.Outcome)
	}
	return r
}
