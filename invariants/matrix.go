package invariants

type (
	setting   = Setting[Config]
	mechanism = Mechanism[Config]
	exception = Exception[Config]
)

// row is what the matrix says of one invariant: it is promised under every strike but the exceptions. Each of them has
// a witness in scenarios/testdata/witnesses.
type row struct {
	takes  []mechanism // without one of these nothing is promised; none: it takes nothing
	except []exception
	open   Gap  // what else it does not judge yet
	saga   bool // it is about a saga as a whole: what struck one of its jobs, or its rollback, struck it
}

func having(settings ...setting) mechanism { return mechanism{Settings: settings} }

// Mechanisms that neutralise strikes on several invariants.
var (
	fenced     = mechanism{"a state write is a compare-and-set under its lock", []setting{withFence}}
	once       = mechanism{"the stream refuses a second dispatch of an epoch", []setting{withEpochs}}
	onceOrder  = mechanism{"a late write or publish meets a newer version or epoch, and is refused", []setting{withFence, withEpochs}}
	resumed    = mechanism{"an intent that was not published is taken up again in time", []setting{withResume, withEpochs, withFence, withTimeToResume}}
	retried    = mechanism{"a dispatch that was not published is voided and tried again", []setting{withResume, withEpochs, withFence, withVoid, withRecheck, withRetry, withStateFirst}}
	relayed    = mechanism{"a dispatch is in the outbox before it is published", []setting{withOutbox, withTimeToResume}}
	voided     = mechanism{"a void takes the place of a dispatch before its job ends", []setting{withVoid, withEpochs, withResume, withFence, withRecheck, withIntentFirst}}
	rechecked  = mechanism{"the reconciler reads a job again under its lock", []setting{withRecheck}}
	reconciled = mechanism{"the reconciler times out what stays", []setting{withReconciler}}
	sweptUp    = mechanism{"the replayer takes up what stays PENDING or SCHEDULED", []setting{withSweep, withReplayer, withReconciler}}
	patient    = mechanism{"deliveries outlast every outage", []setting{withBusyBackoff, withLongPatience}}
	peeked     = mechanism{"a compensation leaves its stack once it is submitted", []setting{withPeek}}
	rolledOn   = mechanism{"a rollback that was cut short is taken up again", []setting{withPeek, withDurable, withReconciler}}
	scansKept  = mechanism{"a scan that is due is in Redis", []setting{withDurableScans}}
	together   = mechanism{"the entry is written with the state", []setting{withAtomicDLQ}}
	before     = mechanism{"the entry is written before the state", []setting{withDLQThenState}}
)

// Kinds of strike that have the same effect on several invariants.
var (
	overstays = strikesOf(SchedulerAway, LockFails, WriteLate) // a holder goes on after its lock, or its write does
)

// What the servers forget, and what a wrong clock says, releases many.
var (
	rewound    = exception{By: strikesOf(RedisFailover), Why: Impossible, Says: "what Redis has confirmed and lost, nobody remembers"}
	wrongClock = exception{By: strikesOf(ClockWrong), Why: Impossible, Says: "a clock that is wrong, and one that is right at another time, show the same"}
)

// matrix has a row for each invariant that takes something, or has exceptions.
var matrix = map[string]row{
	"acked-only-when-durable": {except: []exception{
		{By: overstays, But: []mechanism{fenced}},
		{By: strikesOf(WriteLate, LockFails, SchedulerAway, NATSAway), But: []mechanism{rechecked}},
		rewound,
	}},
	"no-dispatch-without-approval": {takes: []mechanism{having(withBinding)}, except: []exception{{By: strikesOf(WriteLate), But: []mechanism{fenced}}}},
	"approval-not-expired":         {takes: []mechanism{having(withBinding)}},
	"approved-job-goes-on":         {except: []exception{rewound}},
	"attempts-never-past-ceiling":  {except: []exception{{By: strikesOf(WriteLate), But: []mechanism{fenced}}}},
	"counters-equal-trace": {except: []exception{
		{By: strikesOf(SchedulerCrash), Why: Impossible, Says: "a counter that is in memory goes with its process"},
		rewound,
	}},
	"redis-index-agrees-with-record": {except: []exception{
		{By: overstays, But: []mechanism{fenced}},
		{By: strikesOf(WriteLate, SchedulerAway, NATSAway), But: []mechanism{rechecked}},
		{By: strikesOf(RedisFailover), But: []mechanism{fenced}},
	}},
	"one-dispatch-per-job": {takes: []mechanism{having(withEpochs), having(withoutResume)}, except: []exception{
		{By: strikesOf(PublishUnanswered, PublishLate, WriteLate, LockFails, SchedulerAway, RedisFailover), But: []mechanism{once}},
		{By: strikesOf(PublishUnanswered, WriteRefused, WriteLate, SchedulerCrash, SchedulerAway), But: []mechanism{once, having(withoutOutbox)}},
		{By: strikesOf(NATSPowerLoss), Why: Open, Says: "a dispatch that was handed out before it was lost is published again; a sync of each message before its ack would close it"},
	}},
	"intent-before-dispatch": {except: []exception{
		{By: strikesOf(PublishLate, SchedulerAway), Why: Impossible, Says: "a publish that is on its way when its job moves on is stored as the same publish is when it does not"},
		rewound,
	}},
	"nobody-is-rescued": {takes: []mechanism{having(withDeliveries)}},
	"one-execution-per-dispatch": {except: []exception{
		{By: strikesOf(ResultLost, AckLost, DeliveryLost, SchedulerAway, WorkerCrash, WorkerAway, NATSAway), Why: Impossible, Says: "a worker that died before its work and one that died after it leave the same message without an ack"},
	}},
	"processed-message-not-handled-again": {except: []exception{rewound}},
	"no-message-given-up": {takes: []mechanism{having(withDeliveries)}, except: []exception{
		{By: strikesOf(PublishRefused, WriteRefused, WriteUnanswered, WriteLate, ReadFails, LockFails, KernelFails, SchedulerCrash, SchedulerAway), But: []mechanism{patient}},
		rewound,
	}},
	"terminated-message-has-dlq-entry": {except: []exception{
		{By: strikesOf(DLQFails, DeliveryLost, SchedulerAway), But: []mechanism{{patient.Name, []setting{withBusyBackoff, withDLQPatience}}}},
		rewound,
	}},
	"every-intent-is-published": {except: []exception{
		{By: strikesOf(WriteRefused, WriteUnanswered, WriteLate, SchedulerCrash, SchedulerAway), But: []mechanism{resumed, retried, relayed}},
		{By: strikesOf(PublishRefused, SchedulerAway, NATSAway), But: []mechanism{retried}},
		{By: strikesOf(NATSPowerLoss), Why: Open, Says: "a dispatch that was acknowledged and lost is not published again before its timeout"},
	}},
	"no-dispatch-after-end": {except: []exception{
		{By: strikesOf(PublishLate, SchedulerAway), But: []mechanism{voided}},
		{By: strikesOf(NATSPowerLoss), Why: Open, Says: "the void is lost with the power, and nothing stores it again"},
		rewound,
	}},
	"epochs-never-decrease": {except: []exception{{By: strikesOf(WriteLate), But: []mechanism{fenced}}}},
	"lock-mutual-exclusion": {except: []exception{
		{By: strikesOf(PublishLate, WriteLate, LockFails, SchedulerAway, NATSAway), But: []mechanism{onceOrder}},
		{By: overstays, But: []mechanism{rechecked}},
		rewound,
	}},
	"lock-kept-by-living-holder": {takes: []mechanism{having(withLongLocks)}, except: []exception{
		{By: strikesOf(LockFails, SchedulerAway), Why: Impossible, Says: "a holder that cannot renew its lock, and one that is gone, look alike to Redis"},
		rewound,
	}},
	"quarantined-only-when-blocked": {except: []exception{
		{By: strikesOf(WriteLate, SchedulerAway), But: []mechanism{fenced}},
		rewound,
	}},
	"blocked-output-ends-quarantined": {except: []exception{
		{By: strikesOf(WriteRefused, ReadFails, LockFails, SchedulerCrash), But: []mechanism{scansKept}},
		{By: strikesOf(LockFails), But: []mechanism{{scansKept.Name, []setting{withDurableScans, withFence}}}},
	}},
	"every-output-is-scanned": {takes: []mechanism{scansKept}},
	"overdue-job-found-within-a-poll": {takes: []mechanism{having(withReconciler, withRenewedTicks, withWholeTicks), having(withReconciler, withReleasedTicks, withWholeTicks)}, except: []exception{
		{By: strikesOf(WriteRefused, WriteLate, ReadFails, LockFails, TickFails, SchedulerCrash, SchedulerAway, NATSAway), Why: Impossible, Says: "nobody can do in time what nobody is there to do, or what its servers refuse"},
		rewound,
		wrongClock,
	}},
	"no-dispatch-to-expired-worker":      {except: []exception{rewound}},
	"snapshot-revives-no-worker":         {takes: []mechanism{having(withLastSeen)}},
	"no-retry-for-want-of-known-workers": {except: []exception{{By: strikesOf(TickFails), Why: Impossible, Says: "who could not read the snapshot knows of no worker"}}},
	"dispatches-count-as-load":           {takes: []mechanism{having(withCounting)}},
	"stale-worker-has-its-own-reason":    {takes: []mechanism{having(withStaleReason)}},
	"open-circuit-stops-every-replica": {takes: []mechanism{having(withSharedBreaker)}, except: []exception{
		{By: strikesOf(KernelFails, SchedulerAway), Why: Impossible, Says: "a replica that cannot reach the shared counter does not learn what it says"},
	}},
	"half-open-probes-within-limit": {takes: []mechanism{having(withSharedBreaker, withSharedProbes)}},
	"no-dispatch-without-decision": {except: []exception{
		{By: strikesOf(WriteLate), But: []mechanism{fenced}},
		rewound,
	}},
	"throttled-job-waits": {except: []exception{
		{By: strikesOf(DeliveryLost), Why: Open, Says: "a request that is delivered twice is asked about twice; a note of when its job was put off would tell"},
	}},
	"throttled-job-comes-again": {except: []exception{
		{By: strikesOf(AckLost, DeliveryLost, SchedulerCrash, SchedulerAway), Why: Impossible, Says: "nobody can ask again in time who is not there, or whom the servers refuse"},
	}},
	"one-replay-per-count":    {takes: []mechanism{having(withAtomicReplay)}},
	"auto-replay-comes-about": {takes: []mechanism{having(withReplayWorker)}},
	"result-of-current-epoch": {except: []exception{{By: strikesOf(PublishUnanswered, ReadFails), But: []mechanism{having(withRefusal)}}}},
	"cancelled-job-is-told": {takes: []mechanism{having(withNotice, withIntentFirst), having(withNotice, withEpochs, withVoid)}, except: []exception{
		{By: strikesOf(PublishUnanswered), But: []mechanism{having(withResume, withEpochs, withVoid, withFence)}},
		{By: strikesOf(PublishUnanswered), But: []mechanism{patient}},
		{By: strikesOf(NATSPowerLoss), Why: Open, Says: "a notice that was acknowledged and lost is not published again"},
		rewound,
	}},
	"cancellation-takes-effect": {takes: []mechanism{having(withKeptCancellations)}},
	"compensation-recorded-once": {saga: true, except: []exception{
		{By: strikesOf(WriteRefused, WriteUnanswered, WriteLate, SchedulerCrash), But: []mechanism{having(withAtomicRecord, withFence)}},
		rewound,
	}},
	"only-lock-holder-compensates": {saga: true, takes: []mechanism{having(withLongSaga)}, except: []exception{
		{By: strikesOf(SubmissionFails, SchedulerAway), Why: Impossible, Says: "a publish that is on its way when its lock expires is stored as the same publish is before"},
		rewound,
	}},
	"one-compensation-per-key":           {saga: true, except: []exception{{By: strikesOf(WriteRefused, WriteUnanswered), But: []mechanism{peeked}}}},
	"compensations-in-lifo-order":        {saga: true, except: []exception{{By: strikesOf(SchedulerAway), But: []mechanism{peeked}}}},
	"compensation-only-of-succeeded-job": {takes: []mechanism{having(withAtomicRecord)}},
	"every-compensation-accounted-for":   {saga: true, takes: []mechanism{rolledOn}, except: []exception{rewound}},
	"no-failure-for-want-of-attempts": {except: []exception{
		{By: strikesOf(PublishRefused, PublishUnanswered, PublishLate, WriteRefused, WriteUnanswered, WriteLate, SchedulerCrash, SchedulerAway, NATSAway), Why: Impossible, Says: "who has no attempt left cannot learn that the faults are over"},
	}, open: Gap{Under: "a busy or empty pool", Says: "an attempt that finds no worker is used up; one that waits for a worker would not be"}},
	"every-job-settles": {takes: []mechanism{having(withDeliveries)}, except: []exception{
		{By: strikesOf(WorkerCrash, WorkerAway), But: []mechanism{reconciled}},
		{By: strikesOf(WriteRefused, WriteUnanswered, WriteLate, SchedulerCrash, SchedulerAway), But: []mechanism{reconciled, {resumed.Name, []setting{withResume, withEpochs}}, {relayed.Name, []setting{withOutbox}}}},
		{By: strikesOf(PublishRefused, PublishUnanswered, WriteRefused, WriteUnanswered, WriteLate, ReadFails, LockFails, DLQFails, SchedulerCrash, SchedulerAway, WorkerCrash, WorkerAway, NATSAway), But: []mechanism{sweptUp, patient}},
		{By: strikesOf(SubmissionFails), But: []mechanism{sweptUp}},
		{By: overstays, But: []mechanism{fenced}},
		{By: strikesOf(NATSPowerLoss), Why: Impossible, Says: "a request that was acknowledged and lost before anybody stored a record of it leaves no trace"},
		rewound,
	}},
	"failed-job-has-dlq-entry": {except: []exception{
		{By: strikesOf(WriteRefused, WriteUnanswered, WriteLate, DLQFails, SchedulerCrash), But: []mechanism{together, before}},
		{By: strikesOf(WriteLate), But: []mechanism{fenced}},
		rewound,
	}},
	"tenant-limit-held": {takes: []mechanism{having(withTenantReserve, withIntentFirst)}},
	"one-writer-a-tick": {except: []exception{
		{By: strikesOf(TickFails, SchedulerAway), But: []mechanism{fenced}},
		rewound,
	}},
	"timeout-only-when-due": {takes: []mechanism{rechecked}, except: []exception{
		{By: strikesOf(WriteLate), But: []mechanism{fenced}},
		rewound,
		wrongClock,
	}},
	"no-timeout-while-executing": {except: []exception{
		{By: strikesOf(WriteRefused, NATSAway), But: []mechanism{rechecked}},
		{By: strikesOf(WriteRefused, SchedulerCrash, NATSAway), But: []mechanism{voided}},
	}},
	"dead-worker-is-noticed": {takes: []mechanism{having(withWatch, withReconciler)}},
	"terminal-states-final": {except: []exception{
		{By: overstays, But: []mechanism{fenced}},
		{By: strikesOf(WriteRefused, WriteUnanswered, WriteLate, ReadFails, SchedulerAway), But: []mechanism{rechecked}},
		rewound,
	}},
	"documented-transitions-only": {except: []exception{
		{By: strikesOf(WriteLate, SchedulerAway), But: []mechanism{fenced}},
		{By: strikesOf(WriteLate, ReadFails, SchedulerAway), But: []mechanism{rechecked}},
		rewound,
	}},
	"delay-fires-on-time": {takes: []mechanism{having(withDurableTimers, withDelayPoller)}, except: []exception{
		{By: strikesOf(ReadFails, SchedulerCrash, SchedulerAway), Why: Impossible, Says: "nobody can fire in time what nobody is there to fire, or what the servers refuse"},
		wrongClock,
	}},
	"run-writes-not-lost":                   {takes: []mechanism{having(withFenceRuns)}},
	"run-written-by-lock-holder":            {takes: []mechanism{having(withStrictRunLock, withFenceRuns)}},
	"every-run-settles":                     {takes: []mechanism{having(withRunReconciler)}},
	"no-delay-fires-twice":                  {except: []exception{rewound}},
	"saga-lock-released-by-owner-or-expiry": {except: []exception{rewound}},
}
