package whatif

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// inFull has the toggles explained as the command does, which takes minutes.
var inFull = flag.Bool("full", false, "explain the toggles as wavetank why does, and not with few steps")

// Where why comes upon the operation at which a part of the engine acts.
const (
	atParting      = "the first event at which the nearest run parts"
	atPartingOfJob = "the first such event of a job on the path"
	onPath         = "the path"
)

// actsAt is the phase of the operation at which the engine first does otherwise with each of its parts, and where why comes upon it.
var actsAt = map[string]struct{ phase, seen string }{
	"engine.dlq_order":                {"failed_write", atParting},
	"engine.fence":                    {"snapshot_write", atParting},
	"engine.epochs":                   {"dispatched_write", atParting},
	"engine.refuse_stale_results":     {"result_write", atParting},
	"engine.void_intents":             {"void_publish", atParting},
	"engine.resume_intents":           {"replay_read", atParting},
	"engine.retry_unpublished":        {"void_publish", atParting},
	"engine.cancel_notice":            {"cancel_notice", atParting},
	"engine.keep_cancellations":       {"cancel_keep", atParting},
	"engine.confirm_acks":             {"job_ack", onPath},
	"engine.wait_replica":             {"replica_read", atParting},
	"engine.sweep_scheduled":          {"replay_read", atParting},
	"engine.recheck_timeouts":         {"timeout_read", atParting},
	"engine.watch_workers":            {"reconcile_read", atParting},
	"engine.busy_backoff":             {"result_nak", onPath},
	"engine.even_backoff":             {"submit_deliver", atParting},
	"engine.snapshot_last_seen":       {"dispatched_write", atParting},
	"engine.count_dispatches":         {"dispatched_write", atParting},
	"engine.pending_replayer":         {"replay_read", atParting},
	"engine.lock_release":             {"lock_release", atParting},
	"engine.tick_lock":                {"replay_lock", atParting},
	"engine.snapshot_lock":            {"snapshot_lock", atParting},
	"engine.terminate_order":          {"submit_term", atParting},
	"engine.tie_break":                {"dispatched_write", atParting},
	"engine.tenant_reserve":           {"tenant_read", atParting},
	"engine.policy.bind_approvals":    {"approve_write", atParting},
	"engine.policy.shared_breaker":    {"safety_check", atParting},
	"engine.policy.shared_probes":     {"breaker_probe", atParting},
	"engine.output.recheck":           {"quarantine_read", atParting},
	"engine.output.durable_scans":     {"result_write", atParting},
	"engine.saga.atomic_record":       {"saga_record", atParting},
	"engine.saga.peek":                {"saga_pop", atParting},
	"engine.saga.durable_rollback":    {"result_write", atParting},
	"engine.workflow.strict_run_lock": {"run_read", atParting},
	"engine.workflow.fence_runs":      {"run_write", atParting},
	"engine.workflow.durable_timers":  {"timer_pop", atParting},
	"engine.replay.enabled":           {"result_write", atParting},
	"engine.replay.triage":            {"committed_read", atParting},
	"engine.replay.keep_key":          {"dlq_update", atParting},
	"engine.replay.check_committed":   {"committed_read", atParting},
	"engine.replay.check_policy":      {"dlq_update", atParting},
	"engine.replay.atomic":            {"dlq_update", atParting},
	"engine.replay.carry_count":       {"result_write", atParting},
	"engine.idempotency_guard":        {"processed_read", atParting},
	"engine.warm_start":               {"snapshot_read", atParting},
	"engine.lock_renewal":             {"lock_renew", atPartingOfJob},
}

// notSeen are the parts of which why does not come upon the operation, and the reasons.
var notSeen = map[string]string{
	"engine.stale_reason_code":       "it changes a metric, and no operation",
	"engine.reconciler":              "it begins with a timer, which has no phase",
	"engine.workflow.run_reconciler": "it begins with a timer, which has no phase",
	"engine.workflow.delay_poller":   "it begins with a timer, which has no phase",
	"world.sync_always":              "a server syncs its disk without an operation of its own",
	"world.redis_disk":               "a server syncs its disk without an operation of its own",
}

// comesAnyway are the parts without which the violation comes though no fault of the plan strikes.
var comesAnyway = []string{"engine.keep_cancellations", "engine.workflow.strict_run_lock", "engine.workflow.durable_timers", "engine.workflow.delay_poller"}

// Of what goes wrong without a part of the engine, that part is to blame, and why comes upon the operation at which it acts.
// With -short it is so of one in six.
func TestTheTogglesPartIsToBlame(t *testing.T) {
	opt := Options{Quick: true, Steps: 60_000} // enough for what is to blame; a page has more, for the point of no return
	if *inFull {
		opt = Options{Steps: stepsMost}
	}
	for i, toggle := range plans.Toggles() {
		if testing.Short() && i%12 != 0 {
			continue
		}
		t.Run(toggle.Setting, func(t *testing.T) {
			p := load(t, toggle.Scenario, "preset="+plans.PresetHardened, toggle.Setting+"="+toggle.Off)
			opt := opt
			opt.Invariant = toggle.Invariant
			c, err := Explain(context.Background(), p, opt)
			require.NoError(t, err)
			isPart := func(t why.Tried) bool { return strings.HasPrefix(t.Says, toggle.Setting+"=") }
			assert.True(t, slices.ContainsFunc(append(c.Blamed(), c.Needed(why.Remedy)...), isPart), "%s", c)
			assert.True(t, strings.HasPrefix(c.Brief(), toggle.Without()), "%s", c)
			struck := len(c.Needed(why.Strike)) > 0 || slices.ContainsFunc(c.Together, func(says string) bool {
				return slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.String() == says })
			})
			assert.Equal(t, len(p.Faults) > 0 && !slices.Contains(comesAnyway, toggle.Setting), struck, "it names the strike: %s", c)
			require.NotNil(t, c.Nearest)
			assert.False(t, c.Nearest.Circumstance(), "the nearest run differs in a strike or in the engine: %v", c.Nearest)
			assert.Empty(t, c.Unknown)
			assert.LessOrEqual(t, c.Steps, opt.Steps+2*max(c.Nearest.PartsAt, stepsLeast), "all runs but those up to the parting share the steps")
			t.Logf("%d steps of %d", c.Steps, opt.Steps)

			part, seen := actsAt[toggle.Setting]
			assert.NotEqual(t, seen, notSeen[toggle.Setting] != "", "it is in one of the two lists")
			if seen {
				assert.Equal(t, part.seen, seenAt(c, part.phase))
			}
		})
	}
}

// seenAt says where a cause comes first upon an operation of that phase.
func seenAt(c *why.Cause, phase string) string {
	is := func(p *why.Parting) bool {
		return p != nil && (p.Own != nil && p.Own.Operation == phase || p.Other != nil && p.Other.Operation == phase)
	}
	switch {
	case is(&c.Nearest.Parting):
		return atParting
	case is(c.Nearest.Then):
		return atPartingOfJob
	case slices.Contains(c.Operations(), phase):
		return onPath
	}
	return ""
}

// The README says how many there are of each.
func TestTheReadmeCountsWhereThePartsAreSeen(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	count := map[string]int{}
	for _, part := range actsAt {
		count[part.seen]++
	}
	assert.Contains(t, strings.Join(strings.Fields(string(readme)), " "), fmt.Sprintf(
		"Of the %d parts of the engine and its servers that a plan can do without, why finds the operation at which the part acts for %d: at the first event at which the nearest run parts for %d, at the first such event of a job on the path for %d, and on the path alone for %d.",
		len(actsAt)+len(notSeen), len(actsAt), count[atParting], count[atPartingOfJob], count[onPath]))
}
