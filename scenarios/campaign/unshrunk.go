package campaign

import (
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// unshrunk is the finding of a run that could not be examined: its plan as drawn, and what its record says.
func unshrunk(spec *Spec, r *Record, invariant, reason string) (*Finding, error) {
	plan, err := spec.Plan(r.N)
	if err != nil {
		return nil, err
	}
	reason = address.ReplaceAllString(reason, "0x?")
	f := &Finding{
		Invariant: invariant, Cause: causeUnshrunk, Kinds: r.Drawn, First: r.N, Runs: 1,
		Verdict: r.Verdict, Digest: r.Digest,
		Story: "The plan could not be shrunk and is as it was drawn: " + reason + ".", Detail: "not shrunk: " + reason,
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
