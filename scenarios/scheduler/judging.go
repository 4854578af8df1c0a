package scheduler

import (
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// JudgeConfig is what judging needs to know of a plan.
func JudgeConfig(p *plans.Plan) invariants.Config {
	c, err := invariants.Configure(p.Engine)
	if err != nil {
		panic(err) // a test makes one
	}
	c.Outages = p.Outages()
	c.Routing = routingConfig(p.Routing())
	c.Approvals.Kernel, c.Policy.Kernel = p.Kernel.On(), p.Kernel.On()
	judgeReplays(p, &c.Replay)
	return c
}

// judgeReplays adds what judging dead letters needs to know besides the settings.
func judgeReplays(p *plans.Plan, c *invariants.ReplayConfig) {
	c.Wanted = c.Enabled || p.Triage != nil
	c.Kernel = p.Kernel.On() && p.Engine.Policy.FailMode == settings.FailModeClosed
	c.Approved = map[string]bool{}
	for n := range p.Workload.ApproveReplay {
		c.Approved[plans.JobID(n)] = true
	}
	if p.Triage != nil {
		for _, rule := range p.Triage.Rules {
			c.Rules = append(c.Rules, invariants.ReplayRule{ReasonCode: rule.Match.ReasonCode, Action: string(rule.Action), MaxReplays: rule.MaxReplays})
		}
	}
}

// routingConfig is c as runs are judged by it.
func routingConfig(c routing.Config) invariants.RoutingConfig {
	j := invariants.RoutingConfig{Topics: c.Topics, Offers: map[string][]string{}}
	for name, pool := range c.Pools {
		j.Offers[name] = pool.Capabilities
	}
	return j
}
