package judge

import (
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

var everyIntentIsPublished = checking(invariants.Invariant{
	Name:   "every-intent-is-published",
	Says:   "A DISPATCHED write is followed by a stored dispatch, unless it is rolled back, or its job is cancelled or fails before; that its dispatch times out is no excuse.",
	Kind:   invariants.Eventually,
	Source: "Dispatch ordering, residual risk window: DISPATCHED to nobody",
}, func(f *facts, t *tally) checker {
	if f.config.DispatchOrder == "publish-first" {
		return checker{} // the other order: the intent follows
	}
	return checker{
		audited: func(*invariants.End) { auditIntents(f, t) },
		wrote: func(s *step, w *write) {
			j := s.about
			if j.state == dispatched {
				t.exercise()
			}
			if i := &w.intent; j.state == timedOut && s.Phase != "result_write" && i.step != 0 && !i.stored && !pastDeadline(j) {
				t.violated(j, "TIMEOUT was written at step %d, and %s", s.Step, unpublished(i))
			}
		},
		ended: func(*invariants.End) {
			for _, j := range f.order {
				if i := &j.intent; i.step != 0 && !i.stored && j.state.inFlight() {
					t.violated(j, "%s", unpublished(i))
				}
			}
		},
	}
})

// unpublished says that its worker was never given a dispatch of the intent.
func unpublished(i *intent) string {
	write := fmt.Sprintf("the DISPATCHED write at step %d (to %s)", i.step, i.worker)
	if i.lost {
		return "what was published for " + write + " was lost on its way"
	}
	return "nothing was ever published for " + write
}

var noDispatchAfterEnd = checking(invariants.Invariant{
	Name:   "no-dispatch-after-end",
	Says:   "No dispatch is stored of a job that is over, or of an intent whose place in the stream was taken.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, terminal states; cancellation between DISPATCHED and the publish",
}, func(f *facts, t *tally) checker {
	return checker{stored: func(s *step, d *dispatch) {
		if f.config.Epochs && d.worker == "" {
			return // a topic has no place that could be taken
		}
		t.exercise()
		if s.about.state.terminal() {
			t.violated(s.about, "dispatch stored, %s seq %d on %s at step %d, although the job was %s since step %d",
				history.StreamJobs, d.seq, d.subject, d.step, s.about.state, s.about.stateAt)
		}
		if slices.Contains(s.about.voids, d.epoch) {
			t.violated(s.about, "dispatch stored, %s seq %d on %s at step %d, although a void had taken the place of epoch %d", history.StreamJobs, d.seq, d.subject, d.step, d.epoch)
		}
	}}
})

var epochsNeverDecrease = checking(invariants.Invariant{
	Name:   "epochs-never-decrease",
	Says:   "The epoch and the version of a record never decrease.",
	Kind:   invariants.Always,
	Source: "the hardened dispatch: an epoch is minted with each intent, a version with each state write",
}, func(f *facts, t *tally) checker {
	audited := func(*invariants.End) { auditEpochs(f, t) }
	if f.config.DispatchOrder == "publish-first" {
		audited = nil // an epoch is published before it is minted
	}
	return checker{audited: audited, wrote: func(s *step, w *write) {
		j := s.about
		if j.epoch == 0 && j.version == 0 && w.epoch == 0 && w.version == 0 {
			return
		}
		t.exercise()
		switch {
		case j.epoch < w.epoch:
			t.violated(j, "the epoch went from %d to %d with the write of %s at step %d (%s)", w.epoch, j.epoch, j.state, s.Step, s.Phase)
		case j.version < w.version:
			t.violated(j, "the version went from %d to %d with the write of %s at step %d (%s)", w.version, j.version, j.state, s.Step, s.Phase)
		}
	}}
})
