package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// mattersIn are scenarios in which settings matter that do nothing in calm, by the beginnings of their names.
var mattersIn = []struct{ prefix, scenario string }{
	{"engine.dispatch_order", "state-write-failure"},
	{"engine.outbox_poll", "outbox-ack-lost"},
	{"engine.read_error", "redis-read-error"},
	{"engine.state_cache_", "cached-state-stale"},
	{"engine.stale_worker", "stale-worker"},
	{"engine.stale_retry_jitter", ""}, // in none, without another setting
	{"engine.topic_timeouts", ""},     // likewise: it names topics
	{"engine.max_dispatch_retries", "stale-worker"},
	{"engine.retry_delay_publish", "publish-failure"},
	{"engine.retry_delay_store", "state-write-failure"},
	{"engine.retry_delay_busy", "lock-release-failure"},
	{"engine.scheduled_age", "scheduled-orphan"},
	{"engine.pending_age", "pending-orphan"},
	{"engine.dispatch_timeout", "rollback-failure"},
	{"engine.running_timeout", "dead-worker"},
	{"engine.tenant_", "tenant-limit"},
	{"engine.policy.approval_ttl", "approval-expired"},
	{"engine.policy.throttle_delay", "policy-throttle"},
	{"engine.policy.", "policy-outage"},
	{"engine.output.scan_timeout", "output-scan-twice"},
	{"engine.output.", "output-quarantine"},
	{"engine.saga.", "saga-rollback"},
	{"engine.workflow.", "workflow"},
	{"engine.replay.growth_", "dlq-growth"},
	{"engine.replay.", "replay"},
	{"workload.approve_replay.", "replay-approval"},
	{"workload.approve.", "approval"},
	{"workload.change.", "approval"},
	{"workload.unreadable", "saga-rollback"},
	{"workload.step_", "workflow"},
	{"workload.steps", "workflow"},
}

// tryIt is what `wavetank run` takes to show what a setting does: a scenario in which it matters, and a value that
// it does not have there; "" if there is none to suggest.
func tryIt(s scenarios.Setting) string {
	scenario := "calm"
	if i := slices.IndexFunc(mattersIn, func(m struct{ prefix, scenario string }) bool { return strings.HasPrefix(s.Name, m.prefix) }); i >= 0 {
		scenario = mattersIn[i].scenario
	}
	if scenario == "" {
		return ""
	}
	name := s.Name
	if job, ok := strings.CutSuffix(name, "N"); ok {
		name = job + "3"
	}
	for _, value := range otherValues(s) {
		if set := name + "=" + value; changes(scenario, set) {
			return scenario + " --set " + set
		}
	}
	return ""
}

// changes says whether the scenario is a valid plan with that setting, and another one.
func changes(scenario, set string) bool {
	p, err := scenarios.Load(scenario)
	if err != nil {
		return false
	}
	before, err := scenarios.Marshal(p)
	if err != nil || p.Set(set) != nil {
		return false
	}
	after, err := scenarios.Marshal(p)
	return err == nil && !bytes.Equal(before, after)
}

// otherValues are values of a setting besides its default, those first that show most.
func otherValues(s scenarios.Setting) []string {
	switch s.Type {
	case "choice", "boolean":
		values := strings.Split(s.Allowed, ", ")
		return append(slices.DeleteFunc(values, func(v string) bool { return v == s.Default }), s.Default)
	case "duration", "integer":
		unit := strings.TrimLeft(s.Default, "0123456789")
		if n, err := strconv.Atoi(strings.TrimSuffix(s.Default, unit)); err == nil {
			return []string{strconv.Itoa(2*n) + unit, strconv.Itoa(n/2) + unit, "1" + unit}
		}
	case "number":
		return []string{"0.5"}
	}
	if s.Example != "" {
		return []string{s.Example}
	}
	_, example, _ := strings.Cut(s.Allowed, "such as ")
	return []string{example}
}
