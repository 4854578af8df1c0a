package judge

import (
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// situations are the Sometimes. Each is a moment that the facts notice.
var situations = []rule.Rule{
	rule.Situation(rule.Reached(model.AmbiguousPublish), "ambiguous-publish-stored", "A dispatch is stored although its publisher sees an error.", "Dispatch ordering, the production problem"),
	rule.Situation(rule.Reached(model.FailedPublish), "publish-failed-clean", "The publish of a dispatch fails, and nothing is stored.", "Dispatch ordering, publish failure recovery"),
	rule.Situation(rule.Reached(model.AmbiguousWrite), "ambiguous-write-applied", "A state write is applied although its caller sees an error.", "Dispatch ordering, requires robust store writes"),
	rule.Situation(rule.Reached(model.FailedWrite), "state-write-failed-clean", "A state write fails and nothing is applied.", "Dispatch ordering, dispatch ordering"),
	rule.Situation(rule.Reached(model.RollbackFailed), "rollback-failed", "The rollback of a failed publish fails too, and the job stays DISPATCHED to nobody.", "Dispatch ordering, residual risk window"),
	rule.Situation(rule.Reached(model.FailedClosed), "state-read-failed-closed", "A state read fails, and the handling ends without a write or a publish.", "State-read errors, the fail-closed branch"),
	rule.Situation(rule.Reached(model.RedeliveredInFlight), "redelivery-of-dispatched-job", "A request is delivered again while its job is DISPATCHED or RUNNING.", "Dispatch ordering, the redelivery gate"),
	rule.Situation(rule.Reached(model.Contended), "replicas-contend-for-one-job", "A replica finds that another holds a job's lock.", "Scheduler internals, section 8"),
	rule.Situation(rule.Reached(model.LockLeft), "lock-left-to-expire", "The holder of a lock crashes or fails to release it, and the lock is left to expire.", "Scheduler internals, section 8"),
	rule.Situation(rule.Reached(model.LockOverstayed), "lock-overstayed", "A handler goes on after its lock has expired.", "Scheduler internals, section 8, renewal abandon"),
	rule.Situation(rule.Reached(model.ToDeadWorker), "dispatch-to-dead-worker", "A dispatch is stored for a worker that is dead.", "Stale workers, the worker TTL window"),
	rule.Situation(rule.Reached(model.ToSilentWorker), "dispatch-to-silent-worker", "A dispatch is stored for a worker whose heartbeats are being lost.", "Stale workers, the worker TTL window"),
	rule.Situation(rule.Reached(model.ToTopic), "dispatch-to-a-topic", "A dispatch is stored for a topic, from which any worker may take it.", "Scheduler internals, section 5, subjects: a topic is for whoever takes it"),
	rule.Situation(rule.Reached(model.NoWorkerTook), "no-worker-took-a-job", "A handling schedules a job and finds no worker for it.", "Stale workers, error classification"),
	rule.Situation(rule.Reached(model.StaleWorkerMet), "stale-worker-exhausted-the-picks", "A handling finds no worker while a worker past its TTL may still be listed.", "Stale workers, the inner dispatch loop"),
	rule.Situation(rule.Reached(model.LateHeartbeat), "late-heartbeat", "A replica hears of a worker again after the worker's TTL has passed.", "Stale workers, the worker TTL window"),
	rule.Situation(rule.Reached(model.CeilingReached), "retry-ceiling-reached", "A job's attempts reach the ceiling.", "Scheduler internals, section 1, max scheduling retries"),
	rule.Situation(rule.Reached(model.CrashWithIntent), "crash-between-intent-and-publish", "A scheduler crashes between a DISPATCHED write and the publish.", "Dispatch ordering, residual risk window"),
	rule.Situation(rule.Reached(model.LostAck), "ack-lost", "An ack is lost on its way.", "Scheduler internals, section 9"),
	rule.Situation(rule.Reached(model.DispatchRedelivered), "dispatch-delivered-twice", "A worker is given a dispatch for the second time.", "Scheduler internals, section 9"),
	rule.Situation(rule.Reached(model.ResultAhead), "result-ahead-of-state", "A result arrives while the record says neither DISPATCHED nor RUNNING nor a terminal state.", "Scheduler internals, section 1"),
	rule.Situation(rule.Reached(model.ResultAfterEnd), "result-for-ended-job", "A result arrives for a job that is already terminal.", "Scheduler internals, section 1, idempotency"),
	rule.Situation(rule.Reached(model.LockAbandoned), "lock-abandoned", "A handler stops renewing its lock, because too many renewals in a row have failed.", "Scheduler internals, section 8, renewal abandon"),
	rule.Situation(rule.Reached(model.IntentResumed), "intent-resumed", "A handling publishes a dispatch that an earlier one has intended.", "the hardened dispatch: a redelivery resumes an intent instead of skipping it"),
	rule.Situation(rule.Reached(model.PublishRefused), "publish-refused-as-stored", "The stream refuses a dispatch, because it already holds a dispatch of that epoch.", "the hardened dispatch: the publish is a compare-and-set on the stream"),
	rule.Situation(rule.Reached(model.PublishDropped), "publish-dropped-as-duplicate", "The stream confirms a dispatch and stores nothing, because it remembers the message id.", "the stream's duplicate window, two minutes: within it, one message of an id is stored"),
	rule.Situation(rule.Reached(model.WriteFenced), "late-write-fenced", "A state write is refused, because the record or the lock has changed since its writer read it.", "the hardened dispatch: a holder that overstayed its lock changes nothing"),
	rule.Situation(rule.Reached(model.OrphanReplayed), "orphan-replayed", "The replayer takes up a job that has stayed PENDING.", "Scheduler internals, section 3, pending replayer"),
	rule.Situation(rule.Reached(model.Rescued), "job-rescued", "A replayer, a reconciler or a run reconciler does work that another path should have done.", "Scheduler internals, section 3: loops that end or take up what nobody is working on"),
	rule.Situation(rule.Reached(model.ScheduledSwept), "scheduled-swept", "The replayer takes up a job that has stayed SCHEDULED.", "Scheduler internals, section 3, and what it leaves without an owner"),
	rule.Situation(rule.Reached(model.TickContended), "tick-contended", "A replica finds that another holds the lock of a tick.", "Scheduler internals, section 8, the lock-hold pattern"),
	rule.Situation(rule.Reached(model.OlderResult), "result-of-older-epoch", "A result arrives for an older epoch than the record's.", "the hardened dispatch: a result of an older epoch is not accepted"),
	rule.Situation(rule.Reached(model.VoidStored), "void-stored", "A void takes the place of a dispatch in the stream, because the dispatch's job is to end.", "cancellation between DISPATCHED and the publish"),
	rule.Situation(rule.Reached(model.WarmStarted), "warm-started", "A replica dispatches to a worker that it knows only from the snapshot.", "Scheduler internals, section 11"),
	rule.Situation(rule.Reached(model.MessageSkipped), "message-skipped-as-processed", "A message is delivered again, and is acknowledged without being handled.", "Scheduler internals, section 9, idempotency guard"),
	rule.Situation((*model.Facts).ExpiredApprovals, "approval-expired", "An approval has grown too old, and its job waits for another one.", "Scheduler internals, section 1, approval flow"),
	rule.Situation(rule.Reached(model.ApprovalGranted), "approval-granted", "A person approves a job that waits for an approval.", "Scheduler internals, section 1, approval flow"),
	rule.Situation(rule.Reached(model.ApprovalAskedAgain), "approval-asked-again", "The request of a job changes while the job waits for an approval.", "Scheduler internals, section 1, approval flow: the matching job hash"),
	rule.Situation(rule.Reached(model.TenantAtLimit), "tenant-at-its-limit", "A handling finds that the job's tenant has no slot left.", "Scheduler internals, section 5, reason codes"),
	rule.Situation(rule.Reached(model.KeyOfTwoTenants), "key-of-two-tenants", "An effect happens under an idempotency key that another tenant has used.", "Dead letters, replay worker: a key is its tenant's"),
	rule.Situation(rule.Reached(model.DeliveriesExhausted), "deliveries-exhausted", "A message is not acknowledged at its last delivery, and JetStream gives it up.", "Scheduler internals, section 9, MaxDeliver"),
	rule.Situation(rule.Reached(model.RunContended), "replicas-contend-for-one-run", "A replica finds that another holds a run's lock.", "Scheduler internals, section 8, distributed workflow run locks"),
	rule.Situation(rule.Reached(model.DelayPolled), "delay-fired-by-another", "A replica that did not set the delay's timer ends the delay: its poller does, or the replica at its start.", "Scheduler internals, section 8, background poller and crash recovery"),
	rule.Situation(rule.Reached(model.StepRetried), "step-tried-again", "A step waits to be tried again after a failure.", "Scheduler internals, section 8, retry backoff"),
}
