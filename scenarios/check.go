package scenarios

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// Check says what is wrong with a stored result whose verdict, violations and invariants do not agree.
func (res *Result) Check() error {
	for _, v := range res.Violations {
		if !slices.ContainsFunc(res.Invariants, func(i InvariantResult) bool { return i.Name == v.Invariant }) {
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

// violations counts those of an invariant up to a step.
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

// worldsBegin is when each world begins, by its own clock.
var worldsBegin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// CheckTrace judges the events of a stored run once more, and says which violation of a promise they show and the result
// has not, or the other way round. What only the end of a run shows it leaves alone.
func (res *Result) CheckTrace(p *plans.Plan, events iter.Seq2[sim.Event, error]) error {
	j := judge.NewJudge(scheduler.JudgeConfig(p))
	j.Began(worldsBegin)
	for e, err := range events {
		if err != nil {
			return err
		}
		j.Observe(&e)
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
	return nil
}
