package plans

import (
	"fmt"
	"strconv"
	"strings"
)

// JobID names the workload's n-th job.
func JobID(n int) string { return "job-" + strconv.Itoa(n) }

// JobNumber is the number of the workload's job of that id.
func JobNumber(id string) (n int, ok bool) { return number(id, "job-") }

// number is the one that stands after the prefix.
func number(id, prefix string) (n int, ok bool) {
	text, ok := strings.CutPrefix(id, prefix)
	n, err := strconv.Atoi(text)
	return n, ok && err == nil
}

// NodeNames are the names of the n nodes of a role, or of whatever else is numbered.
func NodeNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	return names
}

// Topic is that of every job of which the plan does not say another.
const Topic = "job.default"

// RunID names the workload's n-th run.
func RunID(n int) string { return "run-" + strconv.Itoa(n) }

// RunNumber is n of the n-th run's id.
func RunNumber(id string) (n int, ok bool) { return number(id, "run-") }

// stepID names a run's n-th step.
func stepID(n int) string { return "s" + strconv.Itoa(n) }

// WorkflowID names the workload's n-th workflow.
func WorkflowID(n int) string { return "wf-" + strconv.Itoa(n) }
