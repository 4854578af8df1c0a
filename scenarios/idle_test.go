package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// A part of a plan that does nothing is said to, and why.
func TestWhatDoesNothing(t *testing.T) {
	for text, idle := range map[string][]string{
		"triage: {version: v1, dlq_rules: [{match: {reason_code: timeout}, action: auto_replay}]}": {"triage does nothing: engine.replay.enabled is false"},
		"kernel: {output: [{decision: DENY}], then: [{at: 1m, output: [{decision: ALLOW}]}]}": {
			"kernel.output does nothing: engine.output.enabled is false", "kernel.then[0].output does nothing: engine.output.enabled is false",
		},
		"kernel: {output: [{decision: DENY}]}\nengine: {output: {enabled: true}}": nil,
		"engine: {output: {scan_timeout: 1s}, policy: {fail_mode: open}}": {
			"engine.policy.fail_mode does nothing: the plan has no kernel", "engine.output.scan_timeout does nothing: engine.output.enabled is false",
		},
		"workload: {approve: {2: 5s}}":                                                                             {"workload.approve.2 does nothing: the safety kernel requires no approval of any job"},
		"workload: {approve: {2: 5s}}\nkernel: {default: ALLOW}":                                                   {"workload.approve.2 does nothing: the safety kernel requires no approval of any job"},
		"workload: {approve: {2: 5s}}\nkernel: {then: [{at: 1s, default: REQUIRE_APPROVAL}]}":                      nil,
		"workload: {approve: {2: 5s}}\nkernel: {rules: [{job_id: job-2, decision: REQUIRE_APPROVAL}]}":             nil,
		"workload: {approve_replay: {2: 5s}}":                                                                      {"workload.approve_replay.2 does nothing: engine.replay.enabled is false"},
		"workload: {step_delay: 2s, step_retries: 1}\nengine: {workflow: {delay_poll: 1s}}":                        {"engine.workflow.delay_poll does nothing: workload.runs is 0", "workload.step_delay does nothing: no run has a second step", "workload.step_retries does nothing: workload.runs is 0"},
		"workload: {step_undo: true, runs: 1, step_failures: 1}\npreset: documented":                               {"workload.step_undo does nothing: a run is rolled back only if workload.runs is more than 0 and engine.saga.durable_rollback is true"},
		"workload: {step_undo: true, runs: 1}\npreset: hardened":                                                   nil,
		"workload: {step_delay: 2s, runs: 1}":                                                                      nil,
		"workload: {step_delay: 2s, runs: 1, steps: 1}":                                                            {"workload.step_delay does nothing: no run has a second step"},
		"workload: {operator_of: {2: interns}}\nengine: {replay: {enabled: true}}":                                 {"workload.operator_of.2 does nothing: nobody decides on a replay"},
		"engine: {outbox_poll: 5s}":                                                                                {"engine.outbox_poll does nothing: engine.dispatch_order is not outbox"},
		"engine: {state_cache_age: 5s, read_error: cached-state, outbox_poll: 5s, dispatch_order: outbox}":         nil,
		"engine: {stale_retry_jitter: 5s, stale_worker: jittered-retries, replay: {enabled: true, triage: false}}": nil,
	} {
		assert.Equal(t, idle, plan(t, text).Idle(), text)
	}
}

// In a named scenario everything is there for something.
func TestNamedScenariosAreNotIdle(t *testing.T) {
	for _, name := range plans.Names() {
		p, err := plans.Load(name)
		require.NoError(t, err)
		assert.Empty(t, p.Idle(), name)
	}
}

// A part may be taken away from a plan that makes use of it; the result says so.
func TestAResultSaysWhatDidNothing(t *testing.T) {
	p := plan(t, "engine: {replay: {enabled: true}}\ntriage: {version: v1, dlq_rules: [{match: {reason_code: timeout}, action: auto_replay}]}\nworkload: {jobs: 1}")
	require.NoError(t, p.Set("engine.replay.enabled=false"))
	res, err := Run(context.Background(), p, RunOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"triage does nothing: engine.replay.enabled is false"}, res.Idle)
}

// What the operator finds no occasion for, only the run shows.
func TestAResultSaysWhatTheOperatorDidNotDo(t *testing.T) {
	p := plan(t, `
preset: documented
engine: {replay: {enabled: true}}
workload: {jobs: 4, fail: {2: timeout, 3: schema_invalid, 4: partial_external_write}, approve_replay: {1: 1m, 2: 1m, 4: 1m}, mend_replay: {2: 1m, 3: 1m}}
triage: {version: v1, dlq_rules: [{match: {reason_code: partial_external_write}, action: require_approval}]}`)
	res, err := Run(context.Background(), p, RunOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"workload.approve_replay.1 does nothing: job-1 has no dead letter",
		"workload.approve_replay.2 does nothing: the replay of job-2 never waits for an approval",
		"workload.mend_replay.2 does nothing: the dead letter of job-2 is never quarantined",
	}, res.Idle)
}
