package plans

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine"
)

// Patience is how long a job may take to settle when no fault is left to strike. It is longer than the
// default of then.settle_within if the plan's settings demand that.
func (p *Plan) Patience() time.Duration {
	waits := func(p *Plan) time.Duration {
		e := &p.Engine
		noWorkers := time.Duration(e.MaxSchedulingRetries) * e.RetryDelayNoWorkers
		if e.TenantLimit > 0 {
			noWorkers += time.Duration(e.MaxSchedulingRetries) * e.BackoffMax
		}
		outputs := 4*e.Output.ScanTimeout + e.Output.CheckTimeout // another scheduler may take over the scan
		ages := p.Workload.runsTake() + max(e.DispatchTimeout, e.PendingAge, e.ScheduledAge, e.IntentAge)
		for _, d := range p.TopicTimeouts() {
			ages = max(ages, d)
		}
		ticks := 3 * e.PollInterval // a tick's lock is held for two polls
		return e.AckWait + e.JobLockTTL + e.BackoffMax + e.BackoffJitter + e.RetryDelayBusy + e.RetryDelayStore + e.RetryDelayPublish + noWorkers +
			p.Topology.HeartbeatEvery + p.World.HeartbeatLag.Most() + ages + e.RunningTimeout + ticks + outputs + p.replays()
	}
	base := Defaults()
	longest := 720 * time.Hour // the maximum of then.settle_within
	return min(longest, base.Then.SettleWithin+max(0, waits(p)-waits(base))+p.sweeps())
}

// LongestAge is how old a job may be before the reconciler or the replayer handles it.
func (p *Plan) LongestAge() (age time.Duration) {
	e := &p.Engine
	if e.Reconciler {
		age = max(e.DispatchTimeout, e.RunningTimeout)
		for _, d := range p.TopicTimeouts() {
			age = max(age, d)
		}
	}
	if e.PendingReplayer {
		age = max(age, e.PendingAge)
	}
	if e.SweepScheduled {
		age = max(age, e.ScheduledAge)
	}
	return age + 3*e.PollInterval // a tick's lock is held for two polls
}

// Budgets says for how long a job of the plan survives each cause of retries.
func (p *Plan) Budgets() []engine.Budget { return engine.Budgets(&p.Engine) }

// sweeps is how long a job without further requests may take to reach its retry ceiling. Each sweep makes an
// attempt, and each may come while no worker counts as alive, none fits, or the tenant is at its limit.
func (p *Plan) sweeps() time.Duration {
	e, t := &p.Engine, &p.Topology
	choosy := len(p.Workload.Label)+len(p.Workload.Requires) > 0 || e.TenantLimit > 0
	if !e.SweepScheduled || !choosy && p.Then.Heal && e.WorkerTTL > t.HeartbeatEvery+p.World.HeartbeatLag.Most() {
		return 0
	}
	attempts := e.MaxSchedulingRetries
	if e.Replay.Enabled {
		attempts *= 1 + e.Replay.MaxReplays // each replay may take as many
	}
	return time.Duration(attempts) * (e.ScheduledAge + 3*e.PollInterval)
}

// replays is how long a job may take until all its replays have been made and have failed.
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

// runsTake is how long a plan's runs take if nothing goes wrong, without their jobs.
func (w *Workload) runsTake() time.Duration {
	if w.Runs == 0 {
		return 0
	}
	waits := max(time.Duration(w.Steps)*w.StepDelay, w.StepUntil) + w.LastStepDelay
	for n := range min(w.StepRetries, w.StepFailures) {
		waits += w.StepBackoff << n
	}
	return waits
}

// TopicTimeouts are the dispatch timeouts of single topics.
func (p *Plan) TopicTimeouts() map[string]time.Duration {
	topics, _ := p.Engine.TopicTimeouts.Parse() // an invalid plan has none
	return topics
}
