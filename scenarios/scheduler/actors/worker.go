package actors

import (
	"context"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/worker"
	"github.com/wavetank-sim/wavetank/sim"
)

// Worker executes the jobs that are dispatched to it. It is the engine's worker; its executions take time,
// and have an effect on a [Ledger]. A restarted worker remembers no cancel notice, and executes a job that
// was cancelled before.
type Worker struct {
	ID             string
	Topics         []string // the topics that it takes jobs from; nil is its own subject
	Pool           string
	Labels         map[string]string // what hints may require (Scheduler internals, section 5), like the next field
	Capabilities   []string
	MaxParallel    int
	HeartbeatEvery time.Duration
	CPU, GPU       int                              // percentage of its machine that an execution takes, as in heartbeats
	Work           func(jobID string) time.Duration // how long an execution takes
	Status         func(jobID string) job.Status    // the status that it reports
	Fail           func(jobID string) *Failure      // how an execution that ends has failed, or nil
	ConfirmAcks    bool                             // repeat the ack of a dispatch until nats-server confirms it, and do not execute the dispatch again
	Deduplicate    bool                             // refuse a second execution of a tenant's idempotency key that is done or under way here; the Ledger refuses a second effect
	Ledger         *Ledger
	Outputs        bool          // executions have an output, to which the result points
	WaitReplica    time.Duration // how long to wait until a replica of Redis has the output; 0 does not wait
}

// The names of a worker's actions in the trace.
const (
	KindEffect sim.Kind = "effect"

	EffectBegin = "begin"
	EffectDone  = "finish"

	PhaseEffect phase.Phase = "effect"
)

// Run is the worker's main function.
func (k Worker) Run(p *sim.Process) {
	r := &running{Worker: k, p: p, busy: map[string]bool{}}
	c := worker.Config{
		ID: k.ID, Topics: k.Topics, Pool: k.Pool, Labels: k.Labels, Capabilities: k.Capabilities, MaxParallel: k.MaxParallel, HeartbeatEvery: k.HeartbeatEvery,
		Execute: r.execute, AckWait: 10 * time.Minute, FetchWait: time.Minute, ConfirmAcks: k.ConfirmAcks, NATS: p.NATS(), JetStream: p.JetStream(), Clock: p.Clock(),
	}
	if k.CPU+k.GPU > 0 {
		c.Load = func(active int) (cpu, gpu float64) {
			return float64(min(100, active*k.CPU)), float64(min(100, active*k.GPU))
		}
	}
	if k.Outputs {
		c.Output = r.putOut
		if k.WaitReplica > 0 {
			c.Replica = &store.Replica{Redis: p.Redis(), Timeout: k.WaitReplica}
		}
	}
	worker.New(c).Run(p.Context(), nil)
}

// running is one incarnation of a worker.
type running struct {
	Worker
	p *sim.Process

	mu   sync.Mutex
	busy map[string]bool // with Deduplicate: what is being executed, by [EffectKey]
}

// execute executes a job. If that fails for the time being, it continues later.
func (r *running) execute(ctx context.Context, t *worker.Task) worker.Outcome {
	o, failure := r.once(ctx, t)
	if failure != nil && failure.Succeeds > 0 {
		return r.succeedAfterAll(t, failure)
	}
	return o
}

// once lets the job's time pass and has its effect on the ledger, unless the job fails.
func (r *running) once(ctx context.Context, t *worker.Task) (worker.Outcome, *Failure) {
	key := EffectKey(t.Tenant, t.IdempotencyKey)
	if r.Deduplicate {
		if !r.claim(key) { // when it is delivered again, the ledger may have the effect
			return worker.Outcome{Ending: worker.Left}, nil
		}
		defer r.release(key)
		had, err := Account{r.Ledger, r.p}.Had(phase.With(ctx, t.JobID, ""), t.Tenant, t.IdempotencyKey)
		switch {
		case err != nil: // the job was cancelled
			return worker.Outcome{Ending: worker.Dropped}, nil
		case had:
			return r.outcome(t, nil), nil
		}
	}
	ctx = phase.With(ctx, t.JobID, PhaseEffect)
	_ = r.p.Do(ctx, KindEffect, EffectBegin, t.IdempotencyKey, func() error { return nil })
	if !t.Spend(ctx, r.Work(t.JobID)) {
		return worker.Outcome{Ending: worker.Dropped}, nil
	}
	failure := r.Fail(t.JobID)
	if r.end(ctx, t, failure) != nil {
		return worker.Outcome{Ending: worker.Dropped}, nil
	}
	return r.outcome(t, failure), failure
}

func (r *running) claim(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := r.busy[key]
	r.busy[key] = true
	return !busy
}

func (r *running) release(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, key)
}
