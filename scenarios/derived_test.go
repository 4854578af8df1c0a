package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the schedulers submit themselves, and what they put on record, is told after the jobs.
func TestDerivedJobsAreTold(t *testing.T) {
	for scenario, told := range map[string][]string{
		"saga-rollback":        {"comp-", ", compensation of job-", " was submitted at ", "; one dispatch was stored; SUCCEEDED at "},
		"workflow-timer-crash": {"run-1-s2-1, step of run-1, was submitted at 40.0"},
		"replay-approval":      {"job-3-replay-1, replay 1 of job-3, was submitted at ", "dlq_replay_approved job-3", "(by operator)"},
		"replay-denied":        {"dlq_replay_denied job-3, replay denied by policy"},
	} {
		p, err := Load(scenario)
		require.NoError(t, err)
		res, err := Run(t.Context(), p, RunOptions{Source: scenario})
		require.NoError(t, err)
		text := strings.Join(res.Telling, "\n")
		for _, words := range told {
			at := strings.Index(text, words)
			if assert.GreaterOrEqual(t, at, 0, "%s tells nothing of %q:\n%s", scenario, words, strings.Join(res.Telling, "\n")) {
				text = text[at:]
			}
		}
	}
}

func TestALongTellingIsCutShort(t *testing.T) {
	var told []string
	for range toldMax + 2 {
		told = append(told, "x")
	}
	assert.Len(t, shorten(told[:toldMax], "decision"), toldMax)
	short := shorten(told, "decision")
	assert.Len(t, short, toldMax)
	assert.Equal(t, "And 3 more decisions.", short[toldMax-1])
}
