package scenarios

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// Check returns an error if the verdict, the violations and the invariants of a stored result disagree.
func (res *Result) Check() error {
	if res.Steps < 0 {
		return fmt.Errorf("its steps are %d, and cannot be negative", res.Steps)
	}
	for _, v := range res.Violations {
		if res.Invariant(v.Invariant).Name == "" {
			return fmt.Errorf("it has a violation of %s, and no such invariant", v.Invariant)
		}
	}
	violated := ""
	for _, i := range res.Invariants {
		promised, all := res.violations(i.Name, res.Steps)
		switch {
		case (i.Status == StatusViolated) != (promised > 0), (i.Status == StatusUnpromised) != (promised == 0 && all > 0):
			return fmt.Errorf("it says %q of %s, and has %s of it, %d within its promise", i.Status, i.Name, count(all, "violation"), promised)
		case promised > 0:
			violated = i.Name
		}
	}
	switch {
	case res.Verdict != Violated && violated != "":
		return fmt.Errorf("its verdict is %s, and it has a violation of %s", res.Verdict, violated)
	case res.Verdict == Violated && violated == "":
		return fmt.Errorf("its verdict is violated, and it has no violation that counts")
	}
	return nil
}

// violations counts the violations of an invariant up to a step.
func (res *Result) violations(invariant string, step int) (promised, all int) {
	for _, v := range res.Violations {
		if v.Invariant == invariant && v.Step <= step {
			all++
			if v.Promised {
				promised++
			}
		}
	}
	return promised, all
}

// CheckPlan returns an error if a stored result is not of the plan.
func (res *Result) CheckPlan(p *plans.Plan) error {
	for _, c := range []struct{ what, has, plan string }{
		{"name", res.Scenario, p.Name}, {"story", res.Story, p.Lead()}, {"preset", res.Preset, p.Preset},
		{"seed", fmt.Sprint(res.Seed), fmt.Sprint(p.Seed)}, {"number of jobs", fmt.Sprint(len(res.Jobs)), fmt.Sprint(p.Workload.Jobs)},
	} {
		if c.has != c.plan {
			return fmt.Errorf("it and the plan are not of one run: the %s is %q in the plan, and %q in the result", c.what, c.plan, c.has)
		}
	}
	told := map[string]bool{} // faults, in words
	for _, f := range res.Fired {
		told[f.Fault] = true
	}
	for _, f := range p.Faults {
		words := f.String()
		about := func(s string) bool { return strings.Contains(s, words) }
		if !told[words] && !slices.ContainsFunc(res.Unfired, about) && !slices.ContainsFunc(res.Idle, about) {
			return fmt.Errorf("it and the plan are not of one run: the plan has the fault %q, and the result says nothing of it", words)
		}
		told[words] = false
	}
	for _, f := range res.Fired {
		if told[f.Fault] && p.World.Dying == 0 { // the strikes of world.dying are drawn
			return fmt.Errorf("it and the plan are not of one run: the fault %q fired, and the plan does not have it", f.Fault)
		}
	}
	return nil
}

// CheckStory returns an error if a sentence of the story disagrees with its time, or with the violation that
// it tells of.
func (res *Result) CheckStory() error {
	if len(res.TellingAt) > len(res.Telling) {
		return fmt.Errorf("its story has %s, and times of %d", count(len(res.Telling), "sentence"), len(res.TellingAt))
	}
	for i, when := range res.TellingAt {
		said := res.Telling[i]
		if !strings.HasPrefix(said, "At "+at(when.At)+" ") || i > 0 && when.At < res.TellingAt[i-1].At {
			return fmt.Errorf("a sentence of its story has another time than it says: %s", said)
		}
		is := func(v Violation) bool {
			return v.Invariant == when.Violates && v.At == when.At && strings.Contains(said, v.Invariant) && strings.Contains(said, v.Message)
		}
		if when.Violates != "" && !slices.ContainsFunc(res.Violations, is) {
			return fmt.Errorf("a sentence of its story tells of a violation that it does not have: %s", said)
		}
	}
	return nil
}

// checkJobs returns an error if a job's outcome in the result differs from the trace.
func (res *Result) checkJobs(r *record) error {
	for i := range min(len(res.Jobs), len(r.jobs)) {
		has, is := res.Jobs[i], r.jobs[i].JobResult
		if has.ID != is.ID || has.State != is.State {
			return fmt.Errorf("it says that %s is %s in the end, and the trace that %s is %s", has.ID, either(has.State == "", "without a record", has.State), is.ID, either(is.State == "", "without a record", is.State))
		}
		for _, j := range []*JobResult{&has, &is} { // not in the trace alone
			j.About, j.Told, j.StalePicks, j.StaleExhausted, j.StaleHeld, j.Blind = false, false, 0, 0, 0, nil
		}
		if !reflect.DeepEqual(has, is) {
			return fmt.Errorf("what it says of %s is not what the trace shows", has.ID)
		}
	}
	return nil
}

// CheckTrace judges the events of a stored run again. It returns an error if a job's outcome differs from the
// result, or if only one of the two has some violation of a promise. It does not check what only the end of a
// run shows.
func (res *Result) CheckTrace(p *plans.Plan, events iter.Seq2[sim.Event, error]) error {
	j := judge.NewJudge(scheduler.JudgeConfig(p))
	r := newRecord(p, j.Facts)
	j.Began(p.World.Start.Time())
	var last sim.Event
	for e, err := range events {
		if err != nil {
			return err
		}
		r.observe(&e, j.Observe(&e))
		last = e
	}
	if last.At > res.Virtual {
		return fmt.Errorf("it says that the run took %s, and the last step of the trace is at %s", at(res.Virtual), at(last.At))
	}
	if last.Step != res.Steps {
		return fmt.Errorf("it says that the run took %s, and the trace has %d", count(res.Steps, "step"), last.Step)
	}
	if err := res.checkJobs(r); err != nil {
		return err
	}
	for _, i := range res.Invariants {
		early, _ := res.violations(i.Name, res.Steps-1)
		promised, _ := res.violations(i.Name, res.Steps)
		switch found := j.Broken(i.Name) || p.Expect.Judges(i.Name) && j.Violated(i.Name); {
		case found && promised == 0:
			return fmt.Errorf("the trace shows a violation of %s, and it has none", i.Name)
		case !found && early > 0:
			return fmt.Errorf("it has a violation of %s, and the trace shows none", i.Name)
		}
	}
	return res.checkFound(j)
}

// checkFound returns an error if a violation differs from what the judge found. It skips violations that only
// the end of a run shows.
func (res *Result) checkFound(j *judge.Judge) error {
	for _, v := range res.Violations {
		same := func(f invariants.Violation) bool {
			return f.Job == v.Job && f.Step == v.Step && f.At == v.At && f.Message == v.Message
		}
		if v.Step < res.Steps && !slices.ContainsFunc(j.Found(v.Invariant), same) {
			return fmt.Errorf("the trace does not show the violation of %s that it has of step %d, at %s: %s", v.Invariant, v.Step, at(v.At), v.Message)
		}
	}
	return nil
}
