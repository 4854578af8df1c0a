package search

import "github.com/wavetank-sim/wavetank/faults"

// leads bring about what must happen to a job before it reaches a phase. Without that, a fault in the phase
// would never strike in an otherwise calm run.
var leads = map[string]func(d *drawer, job int){
	"rollback_write": func(d *drawer, job int) { d.fail(job, "publish") },
	"outbox_claim":   func(d *drawer, job int) { d.fail(job, "publish") }, // otherwise its writer publishes an entry
	"submit_nak": func(d *drawer, job int) {
		d.fail(job, from(d, "fails", "publish", "lock_acquire", "state_read", "scheduled_write", "dispatched_write"))
	},
	"result_nak":   func(d *drawer, job int) { d.fail(job, "result_write") },
	"lock_renew":   (*drawer).dawdle,
	"failed_write": (*drawer).exhaust,
	"dlq_write":    (*drawer).exhaust,
	"job_progress": func(d *drawer, job int) { d.set("workload.slow."+nth(job), "7m") },
	"pending_write": func(d *drawer, job int) { // for a job whose record exists, but cannot be read
		d.fail(job, "state_read")
	},
	"publish_read": func(d *drawer, job int) { // for a dispatch that was stored and is published again
		d.add(faults.Fault{On: &faults.Match{Job: job, Phase: "publish"}, Do: faults.FailAfter})
	},
	"poison_publish": (*drawer).poison, "submit_term": (*drawer).poison,
	"cancel_keep": (*drawer).cancel, "cancel_publish": (*drawer).cancel, "cancel_deliver": (*drawer).cancel, "cancel_write": (*drawer).cancel, "cancel_ack": (*drawer).cancel,
	"approval_write": (*drawer).approval, "approve_read": (*drawer).approval, "approve_write": (*drawer).approval, "approve_publish": (*drawer).approval, "approval_age": (*drawer).approval,
	"approved_write": (*drawer).approval, "ask_again_write": (*drawer).change,
	"tenant_read": (*drawer).limit, "tenant_heal": (*drawer).limit,
	"cancel_nak": func(d *drawer, job int) {
		d.cancel(job)
		d.fail(job, "cancel_write")
	},
	"cancel_notice": (*drawer).cancelAtWork, "notice_deliver": (*drawer).cancelAtWork, "notice_ack": (*drawer).cancelAtWork,
	"void_publish": (*drawer).cancelInBetween, "void_deliver": (*drawer).cancelInBetween, "void_ack": (*drawer).cancelInBetween,
	"saga_record": (*drawer).saga, "saga_lock": (*drawer).rollBack, "saga_read": (*drawer).rollBack, "saga_pop": (*drawer).rollBack,
	"saga_publish": (*drawer).rollBack, "saga_close": (*drawer).rollBack, "saga_unlock": (*drawer).rollBack, "saga_unreadable": (*drawer).unreadable,
	"timeout_read": (*drawer).expire, "timeout_write": (*drawer).expire,
	"snapshot_read": (*drawer).startWarm, "replay_read": (*drawer).orphan,
	"dlq_entry_read": (*drawer).deadLetter, "committed_read": (*drawer).deadLetter, "dlq_update": (*drawer).deadLetter,
	"replay_publish": (*drawer).deadLetter, "commit_write": (*drawer).deadLetter, "dlq_growth_write": (*drawer).deadLetter,
}

// limit gives tenants one job in flight at a time.
func (d *drawer) limit(int) { d.set("engine.tenant_limit", "1") }

// cancelAtWork cancels a job while a worker executes it.
func (d *drawer) cancelAtWork(job int) {
	d.set("workload.slow."+nth(job), from(d, "slow", longWork...))
	d.set("workload.cancel."+nth(job), from(d, "cancelled after", "1s", "10s"))
}

// cancelInBetween cancels a job while it is DISPATCHED and no dispatch of it is stored.
func (d *drawer) cancelInBetween(job int) {
	d.fail(job, "publish")
	d.set("workload.cancel."+nth(job), from(d, "cancelled after", "1s", "500ms"))
}

// expire makes a job's deadline pass while a worker executes it.
func (d *drawer) expire(job int) {
	d.set("workload.slow."+nth(job), "2m")
	d.set("workload.deadline."+nth(job), from(d, "deadline", "5s", "1m"))
}

// dawdle makes a handling of the job last longer than a third of its lock's TTL, after which the lock is
// renewed.
func (d *drawer) dawdle(job int) {
	d.set("engine.job_lock_ttl", from(d, "lock", "4s", "1s"))
	d.add(faults.Fault{On: &faults.Match{Job: job, Phase: from(d, "hangs", "scheduled_write", "publish")}, Do: faults.Hang})
}

// exhaust brings the job to its retry ceiling.
func (d *drawer) exhaust(job int) {
	d.set("engine.max_scheduling_retries", from(d, "ceiling", "2", "3"))
	d.add(faults.Fault{On: &faults.Match{Job: job, Phase: "publish"}, Do: faults.FailBefore, Times: 2})
}
