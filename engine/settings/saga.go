package settings

import "time"

// Saga are the knobs of sagas (Scheduler internals, section 4).
type Saga struct {
	LockTTL         time.Duration `yaml:"lock_ttl" json:"lock_ttl" min:"10ms" max:"24h" doc:"TTL of saga:<workflow_id>:lock, which is not renewed (Scheduler internals)"`
	RollbackTimeout time.Duration `yaml:"rollback_timeout" json:"rollback_timeout" min:"10ms" max:"24h" doc:"how long one rollback may take; compensations that are left after that need another rollback (Scheduler internals)"`

	// What the hardened preset adds. Each is a toggle of its own.
	AtomicRecord    bool `yaml:"atomic_record" json:"atomic_record" doc:"a compensation is recorded in the MULTI that writes its job's SUCCEEDED, and not before it"`
	Peek            bool `yaml:"peek" json:"peek" doc:"a compensation stays on the stack until it is submitted, under an id that is derived from its idempotency key"`
	DurableRollback bool `yaml:"durable_rollback" json:"durable_rollback" doc:"a rollback is noted in the MULTI that writes FAILED, and the reconciler takes it up until the stack is empty; the same holds if a job of the saga succeeds later"`
}

func documentedSaga() Saga {
	return Saga{LockTTL: 2 * time.Minute, RollbackTimeout: 30 * time.Second}
}

func hardenedSaga() Saga {
	s := documentedSaga()
	s.AtomicRecord, s.Peek, s.DurableRollback = true, true, true
	return s
}
