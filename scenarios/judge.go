package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// result assembles the run's result.
func (r *run) result(sum sim.Summary) *Result {
	p, opt := r.plan, r.opt
	r.end = sum.Virtual
	res := &Result{
		Version: ResultVersion, Build: buildname.Of(), Scenario: p.Name, Story: p.Lead(), Preset: p.Preset, Seed: p.Seed,
		Overrides: opt.Overrides,
		Digest:    sum.Digest, Start: r.plan.World.Start.Time(), Redis: sum.Redis, Steps: sum.Steps, Virtual: sum.Virtual, OutOfSteps: r.stop == sim.StopSteps, EndedSoon: !r.report.InTime,
		Violations: []Violation{}, Fired: []FiredFault{}, Telling: []string{}, Counters: r.counts,
	}
	res.RepeatedBy(Command{Program: ProgramName, Source: opt.Source, Seeded: true})
	if s, ok := r.strategy.(*sim.PCT); ok {
		n, k, changes := s.Actors(), s.Steps(), p.Schedule.ChangePoints
		res.PCT = &PCTResult{Actors: n, Steps: k, ChangePoints: changes, Bound: sim.Bound(n, k, changes)}
	}
	if r.opt.Sample {
		res.Samples = r.samples.Recording()
	}
	r.judged(res)
	for _, f := range r.injector.Fired() {
		res.Fired = append(res.Fired, FiredFault{
			Fault: f.Fault.String(), Do: string(f.Fault.Do), Step: f.Step, At: f.At, Until: cmp.Or(f.Until, f.GivenUp),
			Node: f.Node, Job: f.Job, Phase: f.Phase, Occurrence: f.Occurrence, Number: f.Number, Says: r.struck(f),
		})
	}
	for _, u := range r.injector.Unfired() {
		res.Unfired = append(res.Unfired, u.String())
	}
	res.Idle = append(append(p.Idle(), r.idleOperator()...), r.idlePreemptions()...)
	about, run := r.about(res)
	told := r.withViolated(res, about)
	for _, j := range r.record.jobs {
		j.About, j.Told = slices.Contains(about, j), slices.Contains(told, j)
		stale := r.system.StalePicks(j.ID)
		j.StalePicks, j.StaleExhausted, j.StaleHeld = stale.Picks, stale.Exhausted, stale.Held
		res.Jobs = append(res.Jobs, j.JobResult)
		if !scheduler.Terminal(j.State) {
			res.Unsettled = append(res.Unsettled, Unsettled{Job: j.ID, State: j.State, Since: j.since, Reason: r.unsettled(j)})
		}
	}
	res.Breakers = r.breakers()
	res.Open = r.judge.Open()
	r.aboutDerived(about, run)
	res.Runs, res.Derived, res.Audit = r.record.runs, r.record.derived.jobs, r.record.derived.audit
	res.Telling, res.TellingAt = r.tell(res, told, run)
	res.Verdict, res.Reason = r.verdict(res)
	return res
}

// judged adds the findings of the invariants.
func (r *run) judged(res *Result) {
	res.Invariants = make([]InvariantResult, 0, len(r.report.Invariants))
	for _, o := range r.report.Invariants {
		row := InvariantResult{
			Name: o.Invariant.Name, Says: o.Invariant.Says, Kind: string(o.Invariant.Kind), Promise: o.Invariant.Promise,
			Exercised: o.Exercised, Status: StatusHeld, Unprovided: o.Unprovided,
		}
		expected, asked := r.plan.Expect.Judges(row.Name), r.asked(row.Name)
		if o.OnDemand && o.Unprovided && !asked {
			o.Exercised, o.Violations, o.Unlisted, row.Exercised = 0, nil, nil, 0
		}
		if o.Quiet != "" && !asked {
			o.Violations = slices.DeleteFunc(slices.Clone(o.Violations), func(v invariants.Violation) bool { return !v.Promised })
			o.Unlisted = slices.DeleteFunc(slices.Clone(o.Unlisted), func(v invariants.Unlisted) bool { return !v.Promised })
		}
		switch {
		case row.Kind == "sometimes" && o.Exercised > 0:
			row.Status = StatusReached
		case row.Kind == "sometimes":
			row.Status = StatusNotReached
		case o.Stopped > 0:
			row.Status = StatusNotJudged
			row.StoppedBy = slices.DeleteFunc(slices.Clone(o.Needs), func(need string) bool { return !r.judge.Violated(need) })
		case o.Exercised == 0 && len(o.Violations) == 0:
			row.Status = StatusNotExercised
		}
		for _, v := range o.Violations {
			judged := v.Promised || expected
			res.Violations = append(res.Violations, Violation{row.Name, judged, v.Job, v.Step, v.At, v.Message, v.Steps, kinds(v.Released), v.InGap})
			if judged {
				row.Status = StatusViolated
			} else if row.Status != StatusViolated {
				row.Status = StatusUnpromised
			}
		}
		for _, v := range o.Unlisted {
			row.unlisted = append(row.unlisted, invariants.Unlisted{Job: v.Job, Promised: v.Promised || expected})
		}
		row.Unlisted = len(o.Unlisted)
		res.Invariants = append(res.Invariants, row)
	}
	slices.SortStableFunc(res.Violations, func(a, b Violation) int { return a.Step - b.Step })
}

// asked says whether the run is to judge the invariant whatever its promise.
func (r *run) asked(invariant string) bool {
	return r.plan.Expect.Judges(invariant) || r.opt.Anyway && r.opt.StopAt == invariant
}

// idlePreemptions explains each pre-emption that changed nothing.
func (r *run) idlePreemptions() (list []string) {
	if s, ok := r.strategy.(*sim.Bounded); ok {
		for _, p := range s.Missed() {
			list = append(list, fmt.Sprintf("the pre-emption %s does nothing: %s has nothing to do at step %d, or it is its turn", p, p.To, p.Step))
		}
	}
	return list
}

func kinds(list []invariants.StrikeKind) (names []string) {
	for _, k := range list {
		names = append(names, k.String())
	}
	return names
}

// verdict judges the run as a whole, and gives the reason in a sentence.
func (r *run) verdict(res *Result) (Verdict, string) {
	var broken, unpromised, idle []string
	held := 0
	expected := !r.modified() && len(r.plan.Expect.Violates) > 0
	for _, i := range res.Invariants {
		switch i.Status {
		case StatusViolated:
			broken = append(broken, i.Name)
			expected = expected && slices.Contains(r.plan.Expect.Violates, i.Name)
		case StatusUnpromised:
			unpromised = append(unpromised, i.Name)
		case StatusHeld:
			held++
		case StatusNotExercised:
			if slices.Contains(r.plan.Expect.Judged, i.Name) {
				idle = append(idle, i.Name)
			}
		}
	}
	missed, unfired := r.missed(res), slices.DeleteFunc(r.injector.Unfired(), r.cannotFire)
	also := r.withoutRecord() + r.stillThrottled() + nothingToStrike(len(res.Unfired)-len(unfired))
	switch {
	case len(broken) > 0:
		as := ""
		if expected && len(missed) == 0 {
			as, res.Expected = ", as the plan expects", true
		}
		return Violated, strings.Join(broken, ", ") + " " + isAre(len(broken)) + " violated" + as
	case r.stop == sim.StopSteps:
		return Inconclusive, fmt.Sprintf("the run used up its %d steps (schedule.steps_max) before it was over", r.plan.Schedule.StepsMax)
	case r.busy() != "":
		return Inconclusive, fmt.Sprintf("%s was still under way when the time was over; raise then.settle_within, now %s", r.busy(), r.plan.Then.SettleWithin)
	case r.short != "":
		return Inconclusive, r.short
	case len(unfired) > 0 && !r.opt.Drawn:
		return Inconclusive, "a fault did not fire as it should, so the run did not test what the plan is about: " + unfired[0].String()
	case len(missed) > 0 && !r.modified():
		return Inconclusive, "the plan expects what did not come about: " + strings.Join(missed, ", ")
	case len(idle) > 0:
		return Inconclusive, "nothing happened that could break what was to be judged: " + strings.Join(idle, ", ")
	case len(unpromised) > 0:
		return Held, "every promise held. " + r.brokenAllTheSame(unpromised) + also
	}
	return Held, fmt.Sprintf("all %d invariants that were exercised hold", held) + also
}

// nothingToStrike counts the faults that have no operation to strike under the changed settings.
func nothingToStrike(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ". A fault had nothing to strike under these settings"
	}
	return fmt.Sprintf(". %d faults had nothing to strike under these settings", n)
}

// withoutRecord names the jobs that never had a record. No invariant is about them.
func (r *run) withoutRecord() (said string) {
	lost := map[string][]string{}
	for _, j := range r.record.jobs {
		if j.State == "" {
			lost[j.ending()] = append(lost[j.ending()], j.ID)
		}
	}
	for _, ending := range slices.Sorted(maps.Keys(lost)) {
		ids := lost[ending]
		said += fmt.Sprintf(". %s %s: %s", count(len(ids), "job"), plural(len(ids), ending), some(ids))
	}
	return said
}

// stillThrottled counts the jobs that the safety kernel still throttles at the end.
func (r *run) stillThrottled() string {
	n := 0
	for _, j := range r.record.jobs {
		if r.judge.Throttled(j.ID) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(". %s %s still throttled by the safety kernel", count(n, "job"), isAre(n))
}

// brokenAllTheSame says why the run holds although these invariants are broken: they are not promised by the
// settings, under the faults that struck, or in the circumstances of the run.
func (r *run) brokenAllTheSame(unpromised []string) string {
	var byFaults, bySettings []string
	for _, name := range unpromised {
		if slices.ContainsFunc(r.report.Invariants, func(o invariants.Outcome) bool { return o.Name == name && o.Unprovided }) {
			bySettings = append(bySettings, name)
		} else {
			byFaults = append(byFaults, name)
		}
	}
	var said []string
	if len(byFaults) > 0 {
		said = append(said, fmt.Sprintf("%s (not %s)", invariants.List(byFaults), r.circumstances()))
	}
	if len(bySettings) > 0 {
		said = append(said, invariants.List(bySettings)+" (not with these settings)")
	}
	return "Broken, but not promised: " + strings.Join(said, ", ")
}

// circumstances names what a promise may depend on besides the settings.
func (r *run) circumstances() string {
	if len(r.injector.Fired()) == 0 {
		return "in such a run"
	}
	return "under these faults"
}

// cannotFire says whether a fault did not fire because changed settings leave it nothing to strike. With
// engine.resume_intents, for example, there is no rollback that could fail. The run itself shows it. A table
// of phases could not: a compensation has a record before it is submitted only with
// engine.saga.durable_rollback.
func (r *run) cannotFire(unfired faults.Unfired) bool {
	return r.modified() && plans.MatchOf(&unfired.Fault) != nil && !unfired.Met
}

// modified says whether the plan that was run differs from the one that story and expectations were written
// for.
func (r *run) modified() bool { return r.opt.Modified || len(r.plan.Expect.Changed) > 0 }

// missed lists the plan's expectations that the run did not meet.
func (r *run) missed(res *Result) (missed []string) {
	for _, i := range res.Invariants {
		if slices.Contains(r.plan.Expect.Violates, i.Name) && i.Status != StatusViolated {
			missed = append(missed, "violation of "+i.Name)
		}
		if slices.Contains(r.plan.Expect.Sometimes, i.Name) && i.Status != StatusReached {
			missed = append(missed, i.Name)
		}
	}
	return missed
}

// breakers lists what the circuit breakers of each replica did.
func (r *run) breakers() (list []BreakerChange) {
	for _, c := range r.judge.Facts.Policy.Changes {
		list = append(list, BreakerChange(c))
	}
	return list
}
