package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

var heartbeatTellsTheTruth = rule.New(invariants.Invariant{
	Name:   "heartbeat-tells-the-truth",
	Says:   "A worker that is up sends a heartbeat every heartbeat_every. The heartbeat says how many jobs the worker executes, what load they put on its machine, and how many it may execute. It also gives the worker's pool, topics, labels and capabilities. The worker never executes more jobs at once than it may.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, the score of a worker and when it is overloaded: active_jobs, max_parallel_jobs, cpu_load, gpu_utilization; Stale workers, the stale detection rule",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	late := func(node string, silent time.Duration) {
		if every := f.Config.HeartbeatEvery; silent > every+model.Doubt {
			t.Violation(nil, "%s had sent no heartbeat for %s, and is to send one every %s", node, silent.Truncate(time.Millisecond), every)
		}
	}
	return observe.Checker{Beat: func(e *sim.Event) {
		if len(f.Config.Workers) > 0 {
			t.Exercise()
			late(e.Node, f.Nodes[e.Node].Beats.Gap)
		}
	}, Heard: func(e *sim.Event) {
		if amiss := f.Untrue(e); amiss != "" {
			t.Violation(nil, "%s heard by step %d from %s, whose %s", invariants.Who(e), invariants.StepNo(e.Step), e.Job, amiss)
		}
	}, Effect: func(s *model.Step) {
		for _, w := range f.Config.Workers {
			if w.Node != s.Node || s.Name != "begin" {
				continue
			}
			if n := f.Nodes[s.Node].Executions(s.At, 0); n > w.MaxParallel {
				t.Violation(s.About, "%s began it at step %d, and executes %s at once; it may %d", s.Node, invariants.StepNo(s.Step), invariants.CountOf(n, "job", "jobs"), w.MaxParallel)
			}
		}
	}, Ended: func(end *invariants.End) {
		for _, id := range slices.Sorted(maps.Keys(f.Config.Workers)) {
			late(id, f.Quiet(id, end.At))
		}
	}}
})
