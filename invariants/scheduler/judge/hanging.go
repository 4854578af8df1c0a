package judge

import (
	"context"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

var hangingOperationIsGivenUp = rule.New(invariants.Invariant{
	Name:   "hanging-operation-is-given-up",
	Says:   "A scheduler waits at most store_op_timeout for an operation on Redis, at most snapshot_read_timeout for the snapshot at its start, and at most publish_timeout for a publish. It waits for a call for policy.timeout, output.check_timeout or output.scan_timeout, and gives it up no sooner and no later. A scheduler that was paused or cut off may wait longer.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 7: storeOpTimeout and safetyTimeout; section 2: a 30-second timeout",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	ended := func(h *model.Hanging, at time.Duration, outcome string) {
		if !h.Steady(h.Since) {
			return
		}
		t.Exercise()
		switch lasted, late := at-h.Since, strings.HasSuffix(outcome, context.DeadlineExceeded.Error()); {
		case lasted > h.Within+model.Doubt:
			t.Violation(f.Jobs[h.Job], "%s waited for %s for the answer to step %d (%s); it was to give up after %s", h.Process, lasted.Round(time.Millisecond), invariants.StepNo(h.Step), h.Phase, h.Within)
		case late && h.Call && lasted < h.Within-model.Doubt && h.Steady(h.Since-h.Within):
			t.Violation(f.Jobs[h.Job], "%s waited for only %s for the answer to step %d (%s); it was to give up after %s", h.Process, lasted.Round(time.Millisecond), invariants.StepNo(h.Step), h.Phase, h.Within)
		}
	}
	return observe.Checker{GivenUp: func(e *sim.Event, h *model.Hanging) {
		ended(h, e.At, e.Outcome)
	}, Ended: func(end *invariants.End) {
		for i := range f.Hanging {
			ended(&f.Hanging[i], end.At, sim.OutcomePending)
		}
	}}
})
