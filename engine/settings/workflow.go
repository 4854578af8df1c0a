package settings

import "time"

// Workflow are the knobs of workflow runs and their timers (Scheduler internals, section 8). They mean
// something where the engine's Config.Workflows is set.
type Workflow struct {
	RunLockTTL  time.Duration `yaml:"run_lock_ttl" json:"run_lock_ttl" min:"10ms" max:"24h" doc:"TTL of cordum:wf:run:lock:<runID>, which is renewed at every third of it (Scheduler internals)"`
	DurableFrom time.Duration `yaml:"durable_from" json:"durable_from" min:"0s" max:"24h" doc:"with durable_timers, a delay of at least this length is stored in Redis (Scheduler internals)"`
	DelayPoll   time.Duration `yaml:"delay_poll" json:"delay_poll" min:"100ms" max:"1h" doc:"how often a replica looks for delay timers that nobody has fired; the TTL of cordum:wf:delay:poller is twice that (Scheduler internals)"`

	StrictRunLock bool `yaml:"strict_run_lock" json:"strict_run_lock" doc:"a run whose lock another replica holds, or cannot be reached, comes again later; otherwise the replica advances it under the local lock alone"`
	FenceRuns     bool `yaml:"fence_runs" json:"fence_runs" doc:"a write of a run is a compare-and-set: it succeeds only under the run's own lock, and only over the version that was read"`

	DurableTimers bool `yaml:"durable_timers" json:"durable_timers" doc:"delays are stored in cordum:wf:delay:timers, and a replica that starts takes them up from there (Scheduler internals)"`
	DelayPoller   bool `yaml:"delay_poller" json:"delay_poller" doc:"with durable_timers, a replica fires the delays of replicas that are gone (Scheduler internals)"`
	RunReconciler bool `yaml:"run_reconciler" json:"run_reconciler" doc:"every poll_interval, each run that is not over is advanced, by its jobs' records and its delays (Scheduler internals)"`
}

func documentedWorkflow() Workflow {
	return Workflow{
		RunLockTTL:    30 * time.Second,
		DurableFrom:   10 * time.Second,
		DelayPoll:     5 * time.Second,
		DurableTimers: true,
		DelayPoller:   true,
		RunReconciler: true,
	}
}

func hardenedWorkflow() Workflow {
	s := documentedWorkflow()
	s.StrictRunLock = true
	s.FenceRuns = true
	return s
}
