package campaign

import (
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// RecordOf is what a campaign keeps of the n-th run, if the run came to its end.
func RecordOf(n int, plan *plans.Plan, res *scenarios.Result) *Record {
	r := planned(n, plan)
	r.Verdict, r.Digest, r.Steps, r.Virtual = res.Verdict, res.Digest, res.Steps, res.Virtual
	if res.Verdict == scenarios.Inconclusive {
		r.Reason = res.Reason
	}
	for _, v := range res.Violations {
		if v.Promised && !slices.ContainsFunc(r.Broken, func(b Broken) bool { return b.Invariant == v.Invariant }) {
			r.Broken = append(r.Broken, Broken{v.Invariant, v.Job, v.Step, v.Message})
		}
	}
	for _, i := range res.Invariants {
		if i.Status == scenarios.StatusUnpromised {
			r.Outside = append(r.Outside, outsideOf(res, &i))
		}
		if len(i.StoppedBy) > 0 {
			r.Unjudged = append(r.Unjudged, i.Name)
		}
		if i.Exercised > 0 {
			r.Exercised = append(r.Exercised, i.Name)
		}
	}
	for n, f := range plan.Faults {
		fired := slices.ContainsFunc(res.Fired, func(s scenarios.FiredFault) bool { return s.Number == n })
		if kind := FaultKind(f); fired && !slices.Contains(r.Fired, kind) {
			r.Fired = append(r.Fired, kind)
		}
		if !fired {
			r.Missed = append(r.Missed, n)
		}
	}
	slices.Sort(r.Fired)
	if res.OutOfSteps && res.Verdict == scenarios.Inconclusive && plan.Schedule.StepsMax >= plans.StepsMaxDefault(plan.Workload.Jobs) {
		r.Verdict, r.Reason = "", ""
		r.Contained = &Contained{What: Endless, Step: res.Steps, Stack: res.Reason}
	}
	return r
}

// outsideOf says for which jobs an invariant was broken outside its promise, and what released it.
func outsideOf(res *scenarios.Result, i *scenarios.InvariantResult) Outside {
	o := Outside{Invariant: i.Name, Unprovided: i.Unprovided}
	for _, v := range res.Violations {
		if v.Invariant != i.Name {
			continue
		}
		o.Released = append(o.Released, v.Released...)
		o.InGap = o.InGap || v.InGap && len(v.Released) == 0
		if v.Job != "" {
			o.Jobs = append(o.Jobs, v.Job)
		}
	}
	slices.Sort(o.Released)
	slices.Sort(o.Jobs)
	o.Released, o.Jobs = slices.Compact(o.Released), slices.Compact(o.Jobs)
	return o
}

// containedRecord is what a campaign keeps of the n-th run if the run did not come to its end.
func containedRecord(n int, plan *plans.Plan, c Contained) *Record {
	r := planned(n, plan)
	r.Contained = &c
	return r
}

// planned is the part of a run's record that the plan determines.
func planned(n int, plan *plans.Plan) *Record {
	r := &Record{N: n, Drawn: kindsOf(plan.Faults)}
	for _, change := range plan.Changes() {
		name := plans.NameOf(change)
		if k, _, ok := plans.PerJobOf(name); ok {
			name = k.Prefix() + "N" // the settings of single jobs count as one
		} else if isCause(change) {
			name = inWords(plan, change)
		}
		if !slices.Contains(r.Settings, name) {
			r.Settings = append(r.Settings, name)
		}
	}
	return r
}

// promises lists the promises and bounds that the run broke, by the names that findings use.
func (r *Record) promises() []string {
	if r.Contained != nil {
		return []string{string(r.Contained.What)}
	}
	var list []string
	for _, b := range r.Broken {
		list = append(list, b.Invariant)
	}
	return list
}
