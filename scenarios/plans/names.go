package plans

import (
	"fmt"
	"strconv"
	"strings"
)

// JobID is the ID of the workload's n-th job.
func JobID(n int) string { return "job-" + strconv.Itoa(n) }

// JobNumber is the number of the workload's job with that ID; ok is false for other IDs.
func JobNumber(id string) (n int, ok bool) { return number(id, "job-") }

// number returns the number after the prefix.
func number(id, prefix string) (n int, ok bool) {
	text, ok := strings.CutPrefix(id, prefix)
	n, err := strconv.Atoi(text)
	return n, ok && err == nil
}

// NodeNames lists the names of the n nodes of a role, or of other numbered things.
func NodeNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	return names
}

// Topic is the topic of every job for which the plan sets no other.
const Topic = "job.default"

// RunID is the ID of the workload's n-th run.
func RunID(n int) string { return "run-" + strconv.Itoa(n) }

// RunNumber is the number of the run with an ID.
func RunNumber(id string) (n int, ok bool) { return number(id, "run-") }

// stepID is the ID of a run's n-th step.
func stepID(n int) string { return "s" + strconv.Itoa(n) }

// WorkflowID is the ID of the workload's n-th workflow.
func WorkflowID(n int) string { return "wf-" + strconv.Itoa(n) }
