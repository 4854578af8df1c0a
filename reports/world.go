package reports

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// inhabitants says who and what there is in the plan's world.
func inhabitants(plan *scenarios.Plan) (words []string) {
	w, again := &plan.Workload, ""
	if w.Submissions > 1 {
		again = fmt.Sprintf(", each submitted %d times", w.Submissions)
	}
	words = append(words, counted(plan.Topology.Schedulers, "scheduler"), counted(plan.Topology.Workers, "worker"))
	if d := plan.Kernel.Default; d != "" && d != "none" {
		words = append(words, kernelWords(plan))
	}
	if plan.Engine.Replay.Enabled {
		triage := "dead-letter replay"
		if plan.Triage != nil {
			triage += " by " + counted(len(plan.Triage.Rules), "rule") + " of its own"
		}
		words = append(words, triage)
	}
	words = append(words, counted(w.Jobs, "job")+" (one every "+duration(w.Every)+again+")")
	for _, other := range []struct {
		n         int
		one, more string
	}{
		{w.Runs, "run of " + counted(w.Steps, "step"), "runs of " + counted(w.Steps, "step")},
		{len(w.Approve), "job to be approved", "jobs to be approved"},
		{len(w.Change), "job that changes", "jobs that change"},
		{len(w.Cancel), "job to be cancelled", "jobs to be cancelled"},
		{w.Poison, "message that nobody can read", "messages that nobody can read"},
	} {
		if other.n > 0 {
			words = append(words, counted(other.n, other.one, other.more))
		}
	}
	return words
}

// kernelWords says what the safety kernel goes by.
func kernelWords(plan *scenarios.Plan) string {
	k := &plan.Kernel
	words := "a safety kernel (" + k.Default
	if n := len(k.Rules); n > 0 {
		words += " but for " + counted(n, "rule")
	}
	if n := len(k.Output); n > 0 {
		words += "; " + counted(n, "rule") + " for outputs"
	}
	if n := len(k.Then); n > 0 {
		words += "; " + counted(n, "change") + " of that"
	}
	return words + ")"
}
