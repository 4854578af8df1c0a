package whatif

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// inFull has the toggles explained as the command does, which takes minutes.
var inFull = flag.Bool("full", false, "explain the toggles as wavetank why does, and not with few steps")

// actsAt is the phase of the operation at which each part of the engine does what it is there for.
var actsAt = map[string]string{
	"engine.dlq_order":                "dlq_write",
	"engine.fence":                    "scheduled_write",
	"engine.epochs":                   "publish",
	"engine.refuse_stale_results":     "result_write",
	"engine.void_intents":             "void_publish",
	"engine.retry_unpublished":        "void_publish",
	"engine.cancel_notice":            "cancel_notice",
	"engine.keep_cancellations":       "cancel_keep",
	"engine.wait_replica":             "submit_ack",
	"engine.sweep_scheduled":          "replay_read",
	"engine.recheck_timeouts":         "timeout_read",
	"engine.watch_workers":            "reconcile_read",
	"engine.busy_backoff":             "result_nak",
	"engine.even_backoff":             "submit_deliver",
	"engine.snapshot_last_seen":       "dispatched_write",
	"engine.count_dispatches":         "dispatched_write",
	"engine.pending_replayer":         "replay_read",
	"engine.lock_release":             "lock_release",
	"engine.tick_lock":                "replay_lock",
	"engine.snapshot_lock":            "snapshot_lock",
	"engine.terminate_order":          "submit_term",
	"engine.tie_break":                "dispatched_write",
	"engine.tenant_reserve":           "tenant_read",
	"engine.policy.bind_approvals":    "approve_write",
	"engine.policy.shared_breaker":    "safety_check",
	"engine.policy.shared_probes":     "breaker_probe",
	"engine.output.recheck":           "quarantine_read",
	"engine.output.durable_scans":     "output_read",
	"engine.saga.atomic_record":       "saga_record",
	"engine.saga.peek":                "saga_publish",
	"engine.saga.durable_rollback":    "saga_publish",
	"engine.workflow.strict_run_lock": "run_lock",
	"engine.workflow.fence_runs":      "run_write",
	"engine.workflow.durable_timers":  "timer_pop",
	"engine.replay.enabled":           "result_write",
	"engine.replay.triage":            "committed_read",
	"engine.replay.keep_key":          "dlq_update",
	"engine.replay.check_committed":   "committed_read",
	"engine.replay.check_policy":      "dlq_update",
	"engine.replay.atomic":            "dlq_update",
	"engine.replay.carry_count":       "dlq_update",
}

// notSeen are the parts of which why does not come upon the operation, and the reasons.
var notSeen = map[string]string{
	"engine.stale_reason_code":       "it changes a metric, and no operation",
	"engine.resume_intents":          "a run without it lacks the publish, and parts from one with it at the end of a tick",
	"engine.reconciler":              "it begins with a timer, which has no phase",
	"engine.workflow.run_reconciler": "it begins with a timer, which has no phase",
	"engine.workflow.delay_poller":   "it begins with a timer, which has no phase",
	"engine.lock_renewal":            "it begins with a timer, which has no phase",
	"engine.warm_start":              "it acts as a scheduler starts; the nearest run lacks the crash before",
	"engine.idempotency_guard":       "it reads at the redelivery; the nearest run lacks the strike before",
	"world.sync_always":              "a server syncs its disk without an operation of its own",
	"world.redis_disk":               "a server syncs its disk without an operation of its own",
}

// Of what goes wrong without a part of the engine, that part is to blame, and why comes upon the operation at which it acts.
func TestTheTogglesPartIsToBlame(t *testing.T) {
	opt := Options{Quick: true, Steps: 60_000} // enough for what is to blame; a page has more, for the point of no return
	if *inFull {
		opt = Options{Steps: stepsMost}
	}
	for _, toggle := range plans.Toggles() {
		t.Run(toggle.Setting, func(t *testing.T) {
			p := load(t, toggle.Scenario, "preset="+plans.PresetHardened, toggle.Setting+"="+toggle.Off)
			opt := opt
			opt.Invariant = toggle.Invariant
			c, err := Explain(context.Background(), p, opt)
			require.NoError(t, err)
			part := func(t why.Tried) bool { return strings.HasPrefix(t.Says, toggle.Setting+"=") }
			assert.True(t, slices.ContainsFunc(append(c.Blamed(), c.Needed(why.Remedy)...), part), "%s", c)
			assert.True(t, strings.HasPrefix(c.Brief(), toggle.Says), "%s", c)
			require.NotNil(t, c.Nearest)
			assert.False(t, c.Nearest.Circumstance(), "the nearest run differs in a strike or in the engine: %v", c.Nearest)
			assert.False(t, c.Cut)
			assert.LessOrEqual(t, c.Steps, opt.Steps+2*max(c.Nearest.Parts, stepsLeast), "all runs but those up to the parting share the steps")
			t.Logf("%d steps of %d", c.Steps, opt.Steps)

			operations := c.Operations()
			for _, at := range []*why.Point{c.Nearest.Own, c.Nearest.Other} {
				if at != nil {
					operations = append(operations, at.Operation)
				}
			}
			phase, seen := actsAt[toggle.Setting]
			assert.NotEqual(t, seen, notSeen[toggle.Setting] != "", "it is in one of the two lists")
			if seen {
				assert.Contains(t, operations, phase)
			}
		})
	}
}
