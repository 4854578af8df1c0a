package replay

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var deadLetterIsWhereTriageLeavesIt = rule.New(invariants.Invariant{
	Name:   "dead-letter-is-where-triage-leaves-it",
	Says:   "A scheduler writes into a dead letter the action of the triage policy, or of its class. The dead letter then waits accordingly: for its time, for an approval, in quarantine, or for a person. It does not wait for a person if the scheduler can know that its effect is done. It is already_committed only if its effect is done.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Replay.Triage {
		return observe.Checker{}
	}
	return observe.Checker{LetterRewritten: func(s *model.Step, id string, was, is *model.Letter) {
		if !model.TriagesLetters(s) {
			return
		}
		t.Exercise()
		action, _ := triage(&f.Config.Replay, is)
		about := func(format string, args ...any) {
			args = append([]any{invariants.StepNo(s.Step), governs(is)}, args...)
			t.Violation(f.Job(id), "its dead letter was triaged at step %d, with reason_code %s, "+format, args...)
		}
		if is.Action != action {
			about("and its action is %q, not %s", is.Action, action)
		}
		switch is.ReplayStatus {
		case "already_committed":
			if !f.DoneAfterAll(f.Job(id)) {
				about("and is already_committed, although no worker has reported a success of it")
			}
		case "scheduled", "awaiting_approval", "quarantined", "pending_review":
			unfit := is.ReplayStatus == "quarantined" && was.ReplayStatus == "scheduled" // no job can be made of it
			if status := waits[action]; is.ReplayStatus != status && !unfit {
				about("and is %s; the action %s has it %s", is.ReplayStatus, action, status)
			}
		}
		if done := f.KnownDone(s, id); done.Text != "" && is.ReplayStatus == "pending_review" {
			about("and waits for a person, although %s", done)
		}
	}}
})

// waits maps an action to the replay status in which a dead letter waits for it.
var waits = map[string]string{actAutoReplay: "scheduled", actQuarantine: "quarantined", actApproval: "awaiting_approval", actManual: "pending_review"}
