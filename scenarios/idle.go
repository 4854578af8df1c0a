package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
)

// needing is what settings need besides themselves to have an effect.
type needing struct {
	prefix  string // of their names
	met     func(*Plan) bool
	without string // what is so where it is not met
}

var needed = []needing{
	{"engine.policy.", func(p *Plan) bool { return p.Kernel.on() }, "the plan has no kernel"},
	{"engine.output.", outputChecked, noOutputPolicy},
	{"engine.replay.", replaying, noReplays},
	{"engine.workflow.", hasRuns, noRuns},
	{"engine.outbox_poll=", func(p *Plan) bool { return p.Engine.DispatchOrder == engine.Outbox }, "engine.dispatch_order is not outbox"},
	{"engine.state_cache_", func(p *Plan) bool { return p.Engine.ReadError == engine.CachedState }, "engine.read_error is not cached-state"},
	{"engine.stale_retry_jitter=", func(p *Plan) bool { return p.Engine.StaleWorker == engine.JitteredRetries }, "engine.stale_worker is not jittered-retries"},
	{"workload.step", hasRuns, noRuns},
	{"workload.approve.", requiresApprovals, "no job needs an approval of the kernel's"},
	{"workload.approve_replay.", replaying, noReplays},
}

const (
	noOutputPolicy = "engine.output.enabled is false"
	noReplays      = "engine.replay.enabled is false"
	noRuns         = "workload.runs is 0"
)

func outputChecked(p *Plan) bool { return p.Engine.Output.Enabled }
func replaying(p *Plan) bool     { return p.Engine.Replay.Enabled }
func hasRuns(p *Plan) bool       { return p.Workload.Runs > 0 }

// requiresApprovals says whether the kernel ever requires one.
func requiresApprovals(p *Plan) bool {
	requires := func(byDefault string, rules []kernel.Rule) bool {
		return byDefault == kernel.RequireApproval || slices.ContainsFunc(rules, func(r kernel.Rule) bool { return r.Decision == kernel.RequireApproval })
	}
	return requires(p.Kernel.Default, p.Kernel.Rules) ||
		slices.ContainsFunc(p.Kernel.Then, func(t KernelChange) bool { return requires(t.Default, t.Rules) })
}

// Idle says of each part of the plan that does nothing why that is so. It is no reason to refuse the plan: what
// the part is for may have been taken away to see what becomes of the jobs.
func (p *Plan) Idle() (list []string) {
	note := func(part, why string) { list = append(list, fmt.Sprintf("%s does nothing: %s", part, why)) }
	if p.Triage != nil && !replaying(p) {
		note("triage", noReplays)
	}
	if len(p.Kernel.Output) > 0 && !outputChecked(p) {
		note("kernel.output", noOutputPolicy)
	}
	for i, t := range p.Kernel.Then {
		if len(t.Output) > 0 && !outputChecked(p) {
			note(fmt.Sprintf("kernel.then[%d].output", i), noOutputPolicy)
		}
	}
	for _, change := range p.Changes() {
		for _, n := range needed {
			if strings.HasPrefix(change, n.prefix) && !n.met(p) {
				note(nameOf(change), n.without)
			}
		}
	}
	return list
}
