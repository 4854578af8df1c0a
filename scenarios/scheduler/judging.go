package scheduler

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// JudgeConfig is what judging needs to know of a plan.
func JudgeConfig(p *plans.Plan) config.Config {
	c, err := config.Configure(p.Engine)
	if err != nil {
		panic(err) // a test makes one
	}
	c.Outages, c.Deduplicate, c.Ledger, c.FanOut = p.Outages(), p.Topology.Deduplicate, p.Topology.Ledger, p.Topology.FanOut
	if c.Runs, c.Cancels = p.Workload.Runs, len(p.Workload.Cancel); p.Workload.Tries == 0 {
		c.Jobs = p.Workload.Jobs
	}
	c.Submissions = p.Workload.Submissions
	c.SyncAlways, c.RedisSynced = p.World.SyncAlways, p.World.RedisDisk == sim.DiskAlways
	c.Routing = routingConfig(p.Routing())
	c.Approvals.Kernel, c.Policy.Kernel = p.Kernel.On(), p.Kernel.On()
	c.Asked = askedConfig(p)
	c.Approvals.Looks = map[string]time.Duration{}
	for n, d := range p.Workload.Approve {
		c.Approvals.Looks[plans.JobID(n)] = d
	}
	judgeReplays(p, &c.Replay)
	c.Executions = executions(&p.Workload)
	c.Workers, c.HeartbeatEvery, c.HeartbeatLag = judgeWorkers(p), p.Topology.HeartbeatEvery, p.World.HeartbeatLag.Most()
	return c
}

// judgeWorkers is what the plan's workers are to say of themselves.
func judgeWorkers(p *plans.Plan) map[string]config.WorkerConfig {
	t, workers := p.Topology, map[string]config.WorkerConfig{}
	for i, node := range plans.NodeNames("worker", t.Workers) {
		id, topics := t.Worker(node, i+1)
		pool, capabilities := t.Pool(i + 1)
		workers[id] = config.WorkerConfig{
			Node: node, Pool: pool, Topics: topics, Labels: t.WorkerLabels(i + 1), Capabilities: capabilities,
			MaxParallel: t.MaxParallel, CPU: p.Workload.CPU, GPU: p.Workload.GPU,
		}
	}
	return workers
}

// judgeReplays adds what judging dead letters needs to know besides the settings.
func judgeReplays(p *plans.Plan, c *config.ReplayConfig) {
	c.Wanted = c.Enabled || p.Triage != nil
	c.Kernel = p.Kernel.On() && p.Engine.Policy.FailMode == settings.FailModeClosed
	c.Decides, c.Operators, c.Errands = map[string][]string{}, map[string][]string{}, map[string][]string{}
	c.Mended, c.Denied = plans.Mended, plans.Denied
	for _, x := range p.Workload.ReplayErrands() {
		for n := range x.After {
			id := plans.JobID(n)
			c.Decides[id], c.Errands[id] = append(c.Decides[id], x.Occasions...), append(c.Errands[id], x.Key)
		}
	}
	for n := range p.Workload.OperatorOf {
		c.Operators[plans.JobID(n)] = p.Operator(n).Groups
	}
	if p.Triage != nil {
		for _, rule := range p.Triage.Rules {
			c.Rules = append(c.Rules, config.ReplayRule{ReasonCode: rule.Match.ReasonCode, LastCause: rule.Match.LastCause, Action: string(rule.Action), MaxReplays: rule.MaxReplays, Owner: rule.Owner, Approvers: rule.ApproverGroup})
		}
	}
}

// routingConfig is c as runs are judged by it.
func routingConfig(c routing.Config) config.RoutingConfig {
	j := config.RoutingConfig{Topics: c.Topics, Offers: map[string][]string{}}
	for name, pool := range c.Pools {
		j.Offers[name] = pool.Capabilities
	}
	return j
}
