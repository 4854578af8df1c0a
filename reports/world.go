package reports

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// inhabitants says who and what there is in the plan's world.
func inhabitants(plan *plans.Plan) (said []string) {
	w := &plan.Workload
	said = append(said, words.Counted(plan.Topology.Schedulers, "scheduler"), words.Counted(plan.Topology.Workers, "worker"))
	if plan.Kernel.On() {
		said = append(said, KernelWords(&plan.Kernel))
	}
	if plan.Engine.Replay.Enabled {
		triage := "dead-letter replay"
		if plan.Triage != nil {
			triage += " by " + words.Counted(len(plan.Triage.Rules), "rule") + " of its own"
		}
		said = append(said, triage)
	}
	said = append(said, jobsWords(w))
	for _, other := range []struct {
		n         int
		one, more string
	}{
		{w.Runs, "run of " + words.Counted(w.Steps, "step"), "runs of " + words.Counted(w.Steps, "step")},
		{len(w.Approve), "job to be approved", "jobs to be approved"},
		{len(w.Change), "job that changes", "jobs that change"},
		{len(w.Cancel), "job to be cancelled", "jobs to be cancelled"},
		{w.Poison, "message that nobody can read", "messages that nobody can read"},
	} {
		if other.n > 0 {
			said = append(said, words.Counted(other.n, other.one, other.more))
		}
	}
	return said
}

// jobsWords says how many jobs come, and how often.
func jobsWords(w *plans.Workload) string {
	var how []string
	if w.Jobs*max(w.Submissions, 1) > 1 {
		how = append(how, "one every "+words.Duration(w.Every))
	}
	if w.Submissions > 1 {
		how = append(how, fmt.Sprintf("each submitted %d times", w.Submissions))
	}
	says := words.Counted(w.Jobs, "job")
	if len(how) > 0 {
		says += " (" + strings.Join(how, ", ") + ")"
	}
	return says
}

// KernelWords says what the safety kernel goes by.
func KernelWords(k *plans.Kernel) string {
	said := "a safety kernel (" + k.Default
	if n := len(k.Rules); n > 0 {
		said += " but for " + words.Counted(n, "rule")
	}
	if n := len(k.Output); n > 0 {
		said += "; " + words.Counted(n, "rule") + " for outputs"
	}
	if n := len(k.Then); n > 0 {
		said += "; " + words.Counted(n, "change") + " of that"
	}
	return said + ")"
}
