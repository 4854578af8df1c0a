package job_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// section1 is the documentation's own drawing, table and rules of the state machine.
func section1(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/state_machine.txt")
	require.NoError(t, err)
	return string(data)
}

// arrow is a move as the documentation has it: the words that stand for it, in their order.
type arrow struct {
	from, to job.State
	words    []string
}

// drawn are the arrows of Scheduler internals, section 1: of its drawing, its table of terminal states and its
// key transition rules.
var drawn = []arrow{
	{job.Absent, job.Pending, []string{"(job submitted)", "PENDING"}},
	{job.Pending, job.Scheduled, []string{"ALLOW /", "ALLOW_WITH_", "SCHEDULED"}},
	{job.Pending, job.ApprovalRequired, []string{"REQUIRE_APPROVAL", "job waits in", "APPROVAL_REQUIRED"}},
	{job.Pending, job.Denied, []string{"DENY /", "**DENIED**"}},
	{job.ApprovalRequired, job.Pending, []string{"(approved)", "►PENDING"}},
	{job.Scheduled, job.Dispatched, []string{"SCHEDULED", "DISPATCHED"}},
	{job.Dispatched, job.Running, []string{"DISPATCHED", "RUNNING"}},
	{job.Running, job.Succeeded, []string{"RUNNING", "succeeded", "sync output", "**SUCCEEDED**"}},
	{job.Running, job.OutputQuarantined, []string{"RUNNING", "succeeded", "sync output", "**OUTPUT_", "QUARANTINED**"}},
	{job.Succeeded, job.OutputQuarantined, []string{"**SUCCEEDED**", "async output", "(quarantine)", "**OUTPUT_QUARANTINED**"}},
	{job.Running, job.Failed, []string{"RUNNING", "failed /", "**FAILED**"}},
	{job.Running, job.Timeout, []string{"RUNNING", "timeout /", "**TIMEOUT**"}},
	{job.Running, job.Cancelled, []string{"RUNNING", "cancelled", "**CANCELLED**"}},
	{job.Pending, job.Failed, []string{"max scheduling retries (50)", "**FAILED** + DLQ"}},
	{job.Scheduled, job.Failed, []string{"max scheduling retries (50)", "**FAILED** + DLQ"}},
	{job.Pending, job.Cancelled, []string{"CANCELLED | Job cancelled by user request"}},
	{job.ApprovalRequired, job.Cancelled, []string{"CANCELLED | Job cancelled by user request"}},
	{job.Scheduled, job.Cancelled, []string{"CANCELLED | Job cancelled by user request"}},
	{job.Dispatched, job.Cancelled, []string{"CANCELLED | Job cancelled by user request"}},
}

// elsewhere are the moves that other parts of the documentation add, by where they stand.
var elsewhere = map[string][]arrow{
	"Dispatch ordering": {
		{job.Scheduled, job.Scheduled, nil},  // attempt accounting: a replay writes SCHEDULED once more
		{job.Dispatched, job.Scheduled, nil}, // publish failure recovery: sets state back to SCHEDULED
	},
	"Scheduler internals, section 2": { // handleJobResult does not ask whether RUNNING was written
		{job.Dispatched, job.Succeeded, nil},
		{job.Dispatched, job.Failed, nil},
		{job.Dispatched, job.OutputQuarantined, nil},
	},
	"Scheduler internals, section 3": {
		{job.Dispatched, job.Timeout, nil}, // timeout detection: jobs in DISPATCHED or RUNNING
		{job.Pending, job.Timeout, nil},    // deadline expiration, of any job that is not over
		{job.ApprovalRequired, job.Timeout, nil},
		{job.Scheduled, job.Timeout, nil},
	},
}

func TestTheTableIsTheDocumentations(t *testing.T) {
	text := section1(t)
	var want [][2]job.State
	for _, a := range drawn {
		rest := text
		for _, word := range a.words {
			_, after, ok := strings.Cut(rest, word)
			require.True(t, ok, "%s to %s: section 1 has no %q after the words before it", a.from, a.to, word)
			rest = after
		}
		want = append(want, [2]job.State{a.from, a.to})
	}
	source := map[[2]job.State]string{}
	for _, row := range job.Transitions {
		source[[2]job.State{row.From, row.To}] = row.Source
	}
	for place, arrows := range elsewhere {
		document, section, _ := strings.Cut(place, ", section ")
		for _, a := range arrows {
			move := [2]job.State{a.from, a.to}
			want = append(want, move)
			assert.Regexp(t, `\b`+document+`\b.*`+section, source[move], "%s to %s", a.from, a.to)
		}
	}
	var got [][2]job.State
	for _, row := range job.Transitions {
		got = append(got, [2]job.State{row.From, row.To})
	}
	assert.ElementsMatch(t, want, got)
}

func TestTheStatesAreTheDocumentations(t *testing.T) {
	text := section1(t)
	words := map[job.State]bool{}
	for _, w := range regexp.MustCompile(`[A-Z]+(_[A-Z]+)*`).FindAllString(text, -1) {
		if s := job.State(w); s.Valid() {
			words[s] = true
		}
	}
	for _, s := range job.States {
		assert.True(t, words[s], "section 1 does not name %s", s)
	}

	_, table, ok := strings.Cut(text, "| State | Description |")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "Key Transition Rules")
	var terminal []job.State
	for _, row := range regexp.MustCompile(`(?m)^([A-Z_]+) \|`).FindAllStringSubmatch(table, -1) {
		terminal = append(terminal, job.State(row[1]))
	}
	assert.ElementsMatch(t, slices.DeleteFunc(slices.Clone(job.States), func(s job.State) bool { return !s.Terminal() }), terminal)
}

// The state machine, as the code enforces it and the reports draw it.
func Example() {
	for _, t := range job.Transitions {
		from := t.From
		if from == job.Absent {
			from = "(no record)"
		}
		fmt.Printf("%-17s -> %-18s %s\n", from, t.To, t.Why)
	}
	// Output:
	// (no record)       -> PENDING            submitted, or requested without a record
	// PENDING           -> SCHEDULED          allowed; counts an attempt
	// PENDING           -> APPROVAL_REQUIRED  the safety kernel requires an approval
	// PENDING           -> DENIED             denied by the safety kernel
	// APPROVAL_REQUIRED -> PENDING            approved
	// SCHEDULED         -> SCHEDULED          replayed; counts an attempt
	// SCHEDULED         -> DISPATCHED         about to be published to a worker, or published in publish-first order
	// DISPATCHED        -> SCHEDULED          rolled back after a failed publish, or taken from a dead worker before it; counts an attempt
	// DISPATCHED        -> RUNNING            published
	// RUNNING           -> SUCCEEDED          the worker succeeded
	// RUNNING           -> FAILED             the worker failed
	// RUNNING           -> OUTPUT_QUARANTINED the output policy blocked the result
	// SUCCEEDED         -> OUTPUT_QUARANTINED the content scan blocked the result afterwards
	// DISPATCHED        -> SUCCEEDED          the worker succeeded before RUNNING was written
	// DISPATCHED        -> FAILED             the worker failed before RUNNING was written, or a publish failed at the retry ceiling
	// DISPATCHED        -> OUTPUT_QUARANTINED the output policy blocked a result that came before RUNNING was written
	// PENDING           -> FAILED             the retry ceiling
	// SCHEDULED         -> FAILED             the retry ceiling, or no pool for the topic
	// DISPATCHED        -> TIMEOUT            no progress within the dispatch timeout
	// RUNNING           -> TIMEOUT            no result within the running timeout
	// PENDING           -> TIMEOUT            its deadline passed
	// APPROVAL_REQUIRED -> TIMEOUT            its deadline passed
	// SCHEDULED         -> TIMEOUT            its deadline passed
	// PENDING           -> CANCELLED          cancelled by its user
	// APPROVAL_REQUIRED -> CANCELLED          cancelled by its user
	// SCHEDULED         -> CANCELLED          cancelled by its user
	// DISPATCHED        -> CANCELLED          cancelled by its user
	// RUNNING           -> CANCELLED          cancelled by its user
}
