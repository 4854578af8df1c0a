package scenarios

import "github.com/wavetank-sim/wavetank/invariants"

// What can be taken away of sagas, and what plans draw of it.
var (
	sagaToggles = []Toggle{
		{Setting: "saga.atomic_record", Off: "false", Scenario: "saga-recorded-twice", Invariant: "compensation-recorded-once",
			Says: "The compensation is recorded, the write of SUCCEEDED fails, and the redelivery of the result records it once more."},
		{Setting: "saga.peek", Off: "false", Scenario: "saga-publish-failure", Invariant: "every-compensation-accounted-for",
			Says: "A compensation has left the stack when its publish fails, and is nowhere any more."},
		{Setting: "saga.durable_rollback", Off: "false", Scenario: "saga-crash", Invariant: "every-compensation-accounted-for",
			Says: "A scheduler dies in the middle of a rollback, and nobody goes on with it."},
	}
	sagaDials = []dial{
		{name: "engine.saga.lock_ttl", values: []string{"1s", "10s", "10m"}},
		{name: "engine.saga.rollback_timeout", values: []string{"1s", "5m"}},
		{name: "engine.saga.atomic_record", values: []string{"true", "false"}},
		{name: "engine.saga.peek", values: []string{"true", "false"}},
		{name: "engine.saga.durable_rollback", values: []string{"true", "false"}},
	}
)

// sagaConfig is what judging sagas needs to know of a plan.
func sagaConfig(p *Plan) invariants.SagaConfig {
	s := p.Engine.Saga
	return invariants.SagaConfig{AtomicRecord: s.AtomicRecord, Peek: s.Peek, DurableRollback: s.DurableRollback, LockTTL: s.LockTTL}
}

// saga makes jobs belong to workflows, and leave compensations behind.
func (d *drawer) saga(int) { d.set("workload.saga", from(d, "jobs of a saga", "3", "2", "5", "1")) }

// rollBack has a job of a saga fail for good.
func (d *drawer) rollBack(job int) {
	d.saga(job)
	d.set("workload.answer."+nth(job), from(d, "answer", "FAILED_FATAL", "FAILED_FATAL", "FAILED_FATAL", "FAILED"))
}

// unreadable puts onto the stack of the first saga what nobody can read.
func (d *drawer) unreadable(int) {
	d.rollBack(1)
	d.set("workload.unreadable", from(d, "unreadable", "1", "2"))
}
