package main

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/dlq"
)

// explainDeadLetters says what dead letters are, and where to find what there is about them.
func explainDeadLetters() string {
	text := `dlq (dead letters)

A job that ends FAILED, DENIED or OUTPUT_QUARANTINED leaves a dead letter; so does a message that nobody can
read. With engine.replay.enabled=true the schedulers triage it, by the plan's triage, or else by the class of its
reason code:
`
	for _, c := range dlq.Classes {
		text += fmt.Sprintf("\n  %s: %s\n    %s\n", c.Name, c.Action, strings.Join(c.Signals, ", "))
	}
	text += "\nAnother reason code is left to a person (" + string(dlq.ManualReview) + "). A replay has one of these statuses:\n" +
		strings.Join(dlq.Statuses, ", ") + ".\n" +
		"The story of a run ends with what is left to do.\n\nIn a plan (`wavetank explain NAME` explains each):\n"
	for _, name := range []string{"triage", "engine.replay.enabled", "workload.fail", "workload.approve_replay", "workload.mend_replay", "workload.ask_replay", "workload.deny_replay", "workload.operator_of"} {
		text += "\n  " + name
	}
	return text + "\n\nThe scenarios whose names begin with replay or dlq show them.\n\nTry it: wavetank run replay-approval"
}
