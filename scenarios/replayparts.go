package scenarios

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/invariants"
)

// judgeReplays adds what judging dead letters needs to know besides the settings.
func (p *Plan) judgeReplays(c *invariants.ReplayConfig) {
	c.Wanted = c.Enabled || p.Triage != nil
	c.Kernel = p.Kernel.on() && p.Engine.Policy.FailMode == settings.FailModeClosed
	c.Approved = map[string]bool{}
	for n := range p.Workload.ApproveReplay {
		c.Approved[JobID(n)] = true
	}
	if p.Triage != nil {
		for _, rule := range p.Triage.Rules {
			c.Rules = append(c.Rules, invariants.ReplayRule{ReasonCode: rule.Match.ReasonCode, Action: string(rule.Action), MaxReplays: rule.MaxReplays})
		}
	}
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
