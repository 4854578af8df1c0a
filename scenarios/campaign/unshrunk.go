package campaign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// errNotAgain says that the smallest plan broke the promise, and did not when it was run once more.
var errNotAgain = errors.New("the smallest plan that broke the promise did not when it was run once more")

// whole runs the plan as it was drawn once more, of which shrinking made nothing: if it still shows what
// the run r showed, it is the finding.
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

// unshrunk is the finding of a run that could not be examined: its plan as it was drawn, and what its
// record says.
func unshrunk(spec *Spec, r *Record, invariant, why string) (*Finding, error) {
	plan, err := spec.Plan(r.N)
	if err != nil {
		return nil, err
	}
	why = address.ReplaceAllString(why, "0x?")
	f := &Finding{
		Invariant: invariant, Cause: "a plan that could not be shrunk", Kinds: r.Drawn, First: r.N, Runs: 1,
		Verdict: r.Verdict, Digest: r.Digest,
		Story: "The plan is as it was drawn, since it could not be shrunk: " + why + ".", Detail: "not shrunk: " + why,
	}
	for _, words := range r.Settings {
		if isCause(settingOf(words)) {
			f.Settings = append(f.Settings, words)
		}
	}
	plan.Story, plan.Expect = "", plans.Expect{}
	if c := r.Contained; c != nil {
		f.Step, f.Detail = c.lasting(), f.Detail+"\n\n"+c.Stack
		f.Story += " " + contained(plan, c)
	} else {
		plan.Expect.Violates = expected(invariant, r.promises())
	}
	if i := slices.IndexFunc(r.Broken, func(b Broken) bool { return b.Invariant == invariant }); i >= 0 {
		b := r.Broken[i]
		f.Step = b.Step
		f.Story += fmt.Sprintf(" %s is broken: at step %d, %s.", invariant, b.Step, b.Message)
	}
	plan.Story = f.Story
	return f, f.keep(plan)
}
