package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/search"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// trials makes a trial. It fails if the trial cannot be made, but not if the code under test goes out of
// bounds.
type trials func(context.Context, Trial) (*Outcome, error)

// examine makes a finding of a promise that a run broke, or of a bound that it exceeded. It repeats the run,
// shrinks the plan to the smallest that still shows the same, and describes what happens there.
func examine(ctx context.Context, spec *Spec, r *Record, invariant string, run trials) (*Finding, error) {
	plan, err := spec.Plan(r.N)
	if err != nil {
		return nil, fmt.Errorf("run %d: %w", r.N, err)
	}
	x := &probe{ctx: ctx, run: run, invariant: invariant, keep: spec.fixed()}
	again := x.try(plan, "")
	if x.err != nil {
		return nil, x.err
	}
	if difference := differs(r, plan, again); difference != "" {
		return x.flaky(plan, r, difference)
	}
	smallest := x.shrink(plan)
	if x.err != nil {
		return nil, x.err
	}
	f, err := x.finding(smallest)
	if errors.Is(err, errNotAgain) {
		return x.whole(spec, r)
	} else if err != nil {
		return nil, err
	}
	f.First, f.Runs = r.N, 1
	return f, nil
}

// probe is an examination under way.
type probe struct {
	ctx       context.Context
	run       trials
	invariant string
	keep      []string // settings that stay in the plan
	tries     int
	err       error // the first error of a trial; no more are made
}

// try runs a plan, until it breaks the promise stopAt.
func (x *probe) try(plan *plans.Plan, stopAt string) *Outcome {
	text, err := plans.Marshal(plan)
	if err == nil && x.err == nil {
		var out *Outcome
		if out, err = x.run(x.ctx, Trial{Plan: string(text), StopAt: stopAt}); err == nil {
			return out
		}
	}
	if x.err == nil {
		x.err = err
	}
	return &Outcome{}
}

// why returns what the violation in the plan depends on; nil if that is not known.
func (x *probe) why(plan *plans.Plan) *why.Cause {
	text, err := plans.Marshal(plan)
	if err == nil {
		var out *Outcome
		if out, err = x.run(x.ctx, Trial{Plan: string(text), Why: x.invariant}); err == nil {
			return out.Cause
		}
	}
	x.err = err
	return nil
}

// differs says how a repeated run differs from the first, or is "".
func differs(first *Record, plan *plans.Plan, again *Outcome) string {
	second := again.record(first.N, plan)
	was, is := first.Contained, second.Contained
	switch {
	case was != nil && was.Flaky:
		return fmt.Sprintf("the first run was %s, but ended differently when it ran alone in a process", first.end())
	case was != nil && is != nil && was.What == is.What:
		return "" // a hang or a heap is not noticed at the same step each time
	case was != nil || is != nil:
		return fmt.Sprintf("the first run was %s, the second %s", first.end(), second.end())
	case first.Digest != second.Digest:
		return fmt.Sprintf("the first run's digest was %s, the second's %s", first.Digest, second.Digest)
	case !slices.Equal(first.Broken, second.Broken):
		return fmt.Sprintf("both runs have the digest %s, but the first broke %v, and the second broke %v", first.Digest, first.Broken, second.Broken)
	}
	return ""
}

func (o *Outcome) record(n int, plan *plans.Plan) *Record {
	if o.Contained != nil {
		return containedRecord(n, plan, *o.Contained)
	}
	return RecordOf(n, plan, o.Result)
}

// flaky is the finding of a run that differs when it is repeated, and so cannot be shrunk.
func (x *probe) flaky(plan *plans.Plan, r *Record, difference string) (*Finding, error) {
	f := &Finding{
		Invariant: x.invariant, Cause: causeFlaky, Flaky: true, First: r.N, Runs: 1, Tries: 1,
		Story: "The plan was run twice, and the two runs differ, so what the plan shows cannot be relied upon: " + difference + ".", Detail: difference,
		Verdict: r.Verdict, Digest: r.Digest,
	}
	for _, b := range r.Broken {
		if b.Invariant == x.invariant {
			f.Step = b.Step
		}
	}
	p := *plan
	p.Story, p.Expect = "", plans.Expect{}
	return f, f.keep(&p)
}

// Bounds of shrinking, in runs. A trial that hangs, exceeds its steps or fills its memory takes seconds each
// time.
const (
	triesMax     = 800
	triesMaxSlow = 30
)

// shrink returns the smallest plan that still breaks the same promise or bound. The settings of all plans of
// the campaign stay while other parts are cut. Then those without which the violation comes all the same are
// removed, so that nobody blames them for it.
func (x *probe) shrink(plan *plans.Plan) *plans.Plan {
	smallest, kept := x.cut(plan), len(x.keep)
	x.keep = slices.DeleteFunc(slices.Clone(x.keep), func(setting string) bool {
		without, differs := smallest.Without(setting)
		if !differs || x.err != nil {
			return false
		}
		x.tries++
		idle := x.try(without, x.invariant).shows(x.invariant)
		if idle {
			smallest = without
		}
		return idle
	})
	if len(x.keep) < kept {
		smallest = x.cut(smallest)
	}
	return smallest
}

// cut returns the smallest plan with the settings that are to stay.
func (x *probe) cut(plan *plans.Plan) *plans.Plan {
	most := triesMax
	if c := Containment(x.invariant); c == Hung || c == Endless || c == Overgrew {
		most = triesMaxSlow
	}
	return search.Shrink(plan, x.keep, func(p *plans.Plan) bool {
		if x.err != nil || x.tries >= most {
			return false
		}
		x.tries++
		return x.try(p, x.invariant).shows(x.invariant)
	})
}

// finding runs the smallest plan once more, to its end, and describes what it shows.
func (x *probe) finding(p *plans.Plan) (*Finding, error) {
	p.Story, p.About = "", nil
	out := x.try(p, "")
	if job := out.job(x.invariant); job > 0 && p.Workload.Jobs > 1 {
		p.About = []int{job}
		out = x.try(p, "")
	}
	if x.err != nil {
		return nil, x.err
	}
	r := out.record(0, p)
	f := &Finding{
		Invariant: x.invariant, Kinds: r.Drawn, Settings: causes(p), Cause: cause(p), Tries: x.tries,
		Verdict: r.Verdict, Digest: r.Digest,
	}
	switch {
	case !slices.Contains(r.promises(), x.invariant):
		return nil, errNotAgain
	case r.Contained != nil:
		p.Expect = plans.Expect{}
		f.Step, f.Detail, f.Story = r.Contained.lasting(), r.Contained.Stack, contained(p, r.Contained)
	default:
		v := out.violation(x.invariant)
		f.Step, f.Story = v.Step, story(out.Result, v)
		if c := x.why(p); c != nil { // of the plan as judged: expectations would count other violations as promised, too
			f.Why, f.Explained, f.Blamed, f.Operations = c.String(), c, blamed(p, c), c.Operations()
		}
		p.Expect = plans.Expect{Violates: expected(x.invariant, r.promises())}
	}
	if x.err != nil {
		return nil, x.err
	}
	p.Story = f.Story
	return f, f.keep(p)
}

// shows says whether the run broke that promise or exceeded that bound.
func (o *Outcome) shows(invariant string) bool {
	return o.violation(invariant) != nil || o.Contained != nil && string(o.Contained.What) == invariant ||
		invariant == string(Endless) && o.Result != nil && o.Result.OutOfSteps
}

// violation returns the first violation of the promise in the run.
func (o *Outcome) violation(invariant string) *scenarios.Violation {
	if o.Result == nil {
		return nil
	}
	for i := range o.Result.Violations {
		if v := &o.Result.Violations[i]; v.Promised && v.Invariant == invariant {
			return v
		}
	}
	return nil
}

// job is the number of the job that the violation concerns; 0 if there is none.
func (o *Outcome) job(invariant string) int {
	v := o.violation(invariant)
	if v == nil || v.Job == "" {
		return 0
	}
	return 1 + slices.IndexFunc(o.Result.Jobs, func(j scenarios.JobResult) bool { return j.ID == v.Job })
}

// errNotAgain says that the smallest plan broke the promise, but did not when it was run again.
var errNotAgain = errors.New("the smallest plan that broke the promise did not break it when it was run once more")

// whole repeats the run of the drawn plan after shrinking has failed. If the run is the same as r, the drawn
// plan is the finding.
func (x *probe) whole(spec *Spec, r *Record) (*Finding, error) {
	plan, err := spec.Plan(r.N)
	if err != nil {
		return nil, err
	}
	again := x.try(plan, "")
	if x.err != nil {
		return nil, x.err
	}
	f, err := (*Finding)(nil), error(nil)
	if difference := differs(r, plan, again); difference != "" {
		f, err = x.flaky(plan, r, difference)
	} else {
		f, err = unshrunk(spec, r, x.invariant, errNotAgain.Error())
	}
	if err != nil {
		return nil, err
	}
	f.Tries = x.tries
	return f, nil
}
