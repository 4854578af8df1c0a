package scenarios

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A story ends with what is left to do about dead letters, and by whom; what is over is not left.
func TestAStorySaysWhichDeadLettersAreLeft(t *testing.T) {
	for text, left := range map[string]string{
		"workload: {jobs: 1, fail: {1: timeout}}": "An operator has yet to look at the dead letter of job-1.",
		"workload: {jobs: 1, poison: 1}":          "An operator has yet to look at the dead letter of poison-1.",
		`
engine: {replay: {enabled: true}}
about: [1, 2]
workload: {jobs: 4, fail: {1: schema_invalid, 2: partial_external_write, 3: dependency_unavailable, 4: dependency_unavailable}}
triage: {version: v1, dlq_rules: [{match: {reason_code: schema_invalid}, action: quarantine, owner: integration-team}, {match: {reason_code: partial_external_write}, action: require_approval, approver_group: governance}]}`: "In the end job-3 and job-4 ended FAILED, and their replays succeeded.\n" +
			"An operator of integration-team has yet to mend the payload of job-1. An operator of governance has yet to approve the replay of job-2.",
		`
engine: {replay: {enabled: true}}
workload: {jobs: 1, fail: {1: timeout}}
kernel: {then: [{at: 20s, default: THROTTLE}]}`: "Still to come: the replay of job-1, due at ",
	} {
		res, err := Run(context.Background(), plan(t, text+"\npreset: documented"), RunOptions{})
		require.NoError(t, err)
		assert.Contains(t, told(res), left, text)
		for _, j := range res.Jobs {
			assert.Equal(t, strings.Contains(text, "integration-team") && (j.ID == "job-3" || j.ID == "job-4"), j.DoneBy == j.ID+"-replay-1", j.ID)
		}
	}
}

// A story says why a saga is rolled back, and when the safety kernel goes by another policy. What triage makes of an entry
// that nobody can read is not told as another one.
func TestAStorySaysWhatBegins(t *testing.T) {
	p := plan(t, `
preset: documented
engine: {replay: {enabled: true}}
workload: {jobs: 2, saga: 2, answer: {2: FAILED_FATAL}, unreadable: 1, fail: {1: timeout; 3 times}}
kernel: {then: [{at: 1m, rules: [{job_id: job-2, decision: DENY}]}, {at: 20s, default: THROTTLE}]}`)
	res, err := Run(context.Background(), p, RunOptions{})
	require.NoError(t, err)
	text := told(res)
	assert.Regexp(t, `began to roll back the saga tenant-1:wf-1, as job-2 had failed for good\.`, text)
	assert.Regexp(t, `At 20s the policy of the safety kernel changed: default THROTTLE \(sha256:[0-9a-f]{12}\)\.`, text)
	assert.Regexp(t, `At 1m0s the policy of the safety kernel changed: default THROTTLE, 1 rule \(sha256:[0-9a-f]{12}\)\.`, text)
	assert.Regexp(t, `dlq_triaged for saga-[0-9a-f]{16}, quarantine`, text)
	assert.Regexp(t, `took an entry that nobody can read \(saga_unmarshal_failed\) from the stack of the saga tenant-1:wf-1, and wrote its DLQ entry, saga-[0-9a-f]{16}\.`, text)
}
