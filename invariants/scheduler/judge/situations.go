package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
)

// situations are the Sometimes: each is a moment that the facts notice.
var situations = []rule{
	situation(reached(model.AmbiguousPublish), "ambiguous-publish-stored", "A dispatch is stored although its publisher sees an error.", "Dispatch ordering, the production problem"),
	situation(reached(model.FailedPublish), "publish-failed-clean", "A dispatch's publish fails and nothing is stored.", "Dispatch ordering, publish failure recovery"),
	situation(reached(model.AmbiguousWrite), "ambiguous-write-applied", "A state write is applied although its caller sees an error.", "Dispatch ordering, requires robust store writes"),
	situation(reached(model.FailedWrite), "state-write-failed-clean", "A state write fails and nothing is applied.", "Dispatch ordering, dispatch ordering"),
	situation(reached(model.RollbackFailed), "rollback-failed", "The rollback of a failed publish fails too, and the job stays DISPATCHED to nobody.", "Dispatch ordering, residual risk window"),
	situation(reached(model.FailedClosed), "state-read-failed-closed", "A state read fails, and the handling ends without a write or a publish.", "State-read errors, the fail-closed branch"),
	situation(reached(model.RedeliveredInFlight), "redelivery-of-dispatched-job", "A request is delivered again while its job is DISPATCHED or RUNNING.", "Dispatch ordering, the redelivery gate"),
	situation(reached(model.Contended), "replicas-contend-for-one-job", "A replica finds a job's lock in the hands of another.", "Scheduler internals, section 8"),
	situation(reached(model.LockLeft), "lock-left-to-expire", "A lock's holder crashes or fails to release it, and it is left to expire.", "Scheduler internals, section 8"),
	situation(reached(model.LockOverstayed), "lock-overstayed", "A handler goes on after its lock has expired.", "Scheduler internals, section 8, renewal abandon"),
	situation(reached(model.ToDeadWorker), "dispatch-to-dead-worker", "A dispatch is stored for a worker that is dead.", "Stale workers, the worker TTL window"),
	situation(reached(model.ToSilentWorker), "dispatch-to-silent-worker", "A dispatch is stored for a worker whose heartbeats are being lost.", "Stale workers, the worker TTL window"),
	situation(reached(model.NoWorkerTook), "no-worker-took-a-job", "A handling schedules a job and finds no worker for it.", "Stale workers, error classification"),
	situation(reached(model.StaleWorkerMet), "stale-worker-exhausted-the-picks", "A handling finds no worker while one past its TTL may still be listed.", "Stale workers, the inner dispatch loop"),
	situation(reached(model.LateHeartbeat), "late-heartbeat", "A replica hears of a worker again after the worker's TTL had passed.", "Stale workers, the worker TTL window"),
	situation(reached(model.CeilingReached), "retry-ceiling-reached", "A job's attempts reach the ceiling.", "Scheduler internals, section 1, max scheduling retries"),
	situation(reached(model.CrashWithIntent), "crash-between-intent-and-publish", "A scheduler crashes between a DISPATCHED write and the publish.", "Dispatch ordering, residual risk window"),
	situation(reached(model.LostAck), "ack-lost", "An ack is lost on its way.", "Scheduler internals, section 9"),
	situation(reached(model.DispatchRedelivered), "dispatch-delivered-twice", "A worker is handed a dispatch for the second time.", "Scheduler internals, section 9"),
	situation(reached(model.ResultAhead), "result-ahead-of-state", "A result arrives while the record says neither DISPATCHED nor RUNNING nor a terminal state.", "Scheduler internals, section 1"),
	situation(reached(model.ResultAfterEnd), "result-for-ended-job", "A result arrives for a job that is terminal already.", "Scheduler internals, section 1, idempotency"),
	situation(reached(model.LockAbandoned), "lock-abandoned", "A handler's lock is renewed no more, as too many renewals in a row have failed.", "Scheduler internals, section 8, renewal abandon"),
	situation(reached(model.IntentResumed), "intent-resumed", "A handling publishes a dispatch that an earlier one has intended.", "the hardened dispatch: a redelivery resumes an intent instead of skipping it"),
	situation(reached(model.PublishRefused), "publish-refused-as-stored", "The stream refuses a dispatch, as it holds one of that epoch already.", "the hardened dispatch: the publish is a compare-and-set on the stream"),
	situation(reached(model.PublishDropped), "publish-dropped-as-duplicate", "The stream confirms a dispatch and stores nothing, as it remembers the message id.", "the stream's duplicate window, two minutes: within it, one message of an id is stored"),
	situation(reached(model.WriteFenced), "late-write-fenced", "A state write is not made, as the record or the lock is no longer what its writer knew.", "the hardened dispatch: a holder that overstayed its lock changes nothing"),
	situation(reached(model.OrphanReplayed), "orphan-replayed", "The replayer takes up a job that has stayed PENDING.", "Scheduler internals, section 3, pending replayer"),
	situation(reached(model.Rescued), "job-rescued", "A replayer, a reconciler or a run reconciler does what another path should have done.", "Scheduler internals, section 3: loops that end or take up what nobody is working on"),
	situation(reached(model.ScheduledSwept), "scheduled-swept", "The replayer takes up a job that has stayed SCHEDULED.", "Scheduler internals, section 3, and what it leaves without an owner"),
	situation(reached(model.TickContended), "tick-contended", "A replica finds that another has the lock of a tick.", "Scheduler internals, section 8, the lock-hold pattern"),
	situation(reached(model.OlderResult), "result-of-older-epoch", "A result arrives for an older epoch than the record's.", "the hardened dispatch: a result of an older epoch is not accepted"),
	situation(reached(model.VoidStored), "void-stored", "A message takes the place of a dispatch, since its job is to end.", "cancellation between DISPATCHED and the publish"),
	situation(reached(model.WarmStarted), "warm-started", "A replica dispatches to a worker that it knows from the snapshot only.", "Scheduler internals, section 11"),
	situation(reached(model.MessageSkipped), "message-skipped-as-processed", "A message is delivered again, and acknowledged without being handled.", "Scheduler internals, section 9, idempotency guard"),
	situation(expired, "approval-expired", "An approval has grown too old, and its job waits for another.", "Scheduler internals, section 1, approval flow"),
	situation(reached(model.ApprovalGranted), "approval-granted", "Somebody approves a job that waits for it.", "Scheduler internals, section 1, approval flow"),
	situation(reached(model.ApprovalAskedAgain), "approval-asked-again", "A job that waits for its approval becomes another request.", "Scheduler internals, section 1, approval flow: the matching job hash"),
	situation(reached(model.TenantAtLimit), "tenant-at-its-limit", "A handling finds that the job's tenant has no slot left.", "Scheduler internals, section 5, reason codes"),
	situation(reached(model.DeliveriesExhausted), "deliveries-exhausted", "A message is not acknowledged at its last delivery, and JetStream gives it up.", "Scheduler internals, section 9, MaxDeliver"),
	situation(reached(model.RunContended), "replicas-contend-for-one-run", "A replica finds a run's lock in the hands of another.", "Scheduler internals, section 8, distributed workflow run locks"),
	situation(reached(model.DelayPolled), "delay-fired-by-another", "A delay that is over is fired by a replica that did not keep it: by its poller, or at its start.", "Scheduler internals, section 8, background poller and crash recovery"),
	situation(reached(model.StepRetried), "step-tried-again", "A step waits to be tried again after a failure.", "Scheduler internals, section 8, retry backoff"),
}

func situation(times func(*model.Facts) int, name, says, source string) rule {
	return checking(invariants.Invariant{Name: name, Says: says, Kind: invariants.Sometimes, Source: source}, func(f *model.Facts, t *tally) observe.Checker {
		return observe.Checker{Ended: func(*invariants.End) { t.Exercised = times(f) }}
	})
}

// reached counts how often a moment came.
func reached(m model.Moment) func(*model.Facts) int {
	return func(f *model.Facts) int { return f.Reached[m] }
}
