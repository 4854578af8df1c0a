package scenarios

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/invariants"
)

// What can be taken away of dead-letter triage and replay, and what plans draw of it.
var (
	replayToggles = []Toggle{
		{Setting: "replay.enabled", On: "true", Off: "false", Scenario: "replay", Invariant: "auto-replay-comes-about",
			Says: "A job whose dependency was away for a while stays dead, until somebody looks."},
		{Setting: "replay.keep_key", Off: "false", Scenario: "replay", Invariant: "replay-keeps-idempotency-key",
			Says: "A replay is a new call to whoever knows repetitions by their key: a second ticket, a second mail."},
		{Setting: "replay.triage", Off: "false", Scenario: "replay-unknown-commit", Invariant: "no-replay-against-triage",
			Says: "A job is replayed of which nobody knows whether it has had its effect."},
		{Setting: "replay.check_committed", Off: "false", Scenario: "replay-committed", Invariant: "no-replay-of-committed",
			Says: "A job is replayed whose worker has reported its success after all."},
		{Setting: "replay.check_policy", Off: "false", Scenario: "replay-denied", Invariant: "replay-has-fresh-decision",
			Says: "A job is replayed that today's policy would deny."},
		{Setting: "replay.atomic", Off: "false", Scenario: "replay-crash", Invariant: "one-replay-per-count",
			Says: "A scheduler dies between a replay's submission and the entry's update, and the next one submits it again."},
		{Setting: "replay.carry_count", Off: "false", Scenario: "replay-exhausted", Invariant: "max-replays-hold",
			Says: "Each replay that fails begins to count anew, and what cannot succeed is replayed for ever."},
	}
	replayDials = []dial{
		{name: "engine.replay.enabled", values: []string{"true"}},
		{name: "engine.replay.max_replays", values: []string{"1", "2", "5"}, with: "engine.replay.enabled=true"},
		{name: "engine.replay.backoff_base", values: []string{"1s", "1m"}, with: "engine.replay.enabled=true"},
		{name: "engine.replay.backoff_max", values: []string{"1s", "2m"}, with: "engine.replay.enabled=true"},
		{name: "engine.replay.growth_alert", values: []string{"1", "3"}, with: "engine.replay.enabled=true"},
		{name: "engine.replay.growth_window", values: []string{"1s", "1m", "30m"}, with: "engine.replay.enabled=true"},
	}
)

// replayConfig is what judging dead letters needs of a plan.
func replayConfig(p *Plan) invariants.ReplayConfig {
	r := p.Engine.Replay
	c := invariants.ReplayConfig{
		Enabled: r.Enabled, Wanted: r.Enabled || p.Triage != nil,
		KeepKey: r.KeepKey, CheckCommitted: r.CheckCommitted, CheckPolicy: r.CheckPolicy, Atomic: r.Atomic, CarryCount: r.CarryCount, Triage: r.Triage,
		MaxReplays: r.MaxReplays, GrowthAlert: r.GrowthAlert, GrowthWindow: r.GrowthWindow,
		Approved: map[string]bool{}, Kernel: p.Kernel.on() && p.Engine.Policy.FailMode == engine.FailModeClosed,
	}
	for n := range p.Workload.ApproveReplay {
		c.Approved[JobID(n)] = true
	}
	if p.Triage != nil {
		for _, rule := range p.Triage.Rules {
			c.Rules = append(c.Rules, invariants.ReplayRule{ReasonCode: rule.Match.ReasonCode, Action: string(rule.Action), MaxReplays: rule.MaxReplays})
		}
	}
	return c
}

// deadLetter has a job fail that may be replayed, or not.
func (d *drawer) deadLetter(job int) {
	d.set("engine.replay.enabled", "true")
	how := from(d, "fails", "dependency_unavailable", "timeout; twice", "timeout; succeeds after 20s", "no_workers; 6 times", "unknown_commit_state; committed", "denied", "schema_invalid")
	d.set("workload.fail."+nth(job), how)
	if how == "denied" {
		d.set("workload.approve_replay."+nth(job), from(d, "approved after", "1m", "10s"))
	}
	if d.oneIn(3, "growth") {
		d.set("engine.replay.growth_alert", "1")
		d.set("workload.fail."+nth(d.job("another")), "schema_invalid")
	}
}

// replays is how long it may take until a job has been replayed as often as it may be, and failed each time.
func (p *Plan) replays() time.Duration {
	r := &p.Engine.Replay
	if !r.Enabled {
		return 0
	}
	total := r.GrowthWindow
	for wait, n := r.BackoffBase, 0; n < r.MaxReplays; n++ {
		total += min(wait+r.BackoffBase, r.BackoffMax) + 6*p.Engine.PollInterval
		wait = min(2*wait, r.BackoffMax)
	}
	return total
}
