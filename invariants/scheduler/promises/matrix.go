package promises

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	. "github.com/wavetank-sim/wavetank/invariants/scheduler/history" // so that the table can name its kinds of strike
)

type (
	setting   = invariants.Setting[config.Config]
	mechanism = invariants.Mechanism[config.Config]
	exception = invariants.Exception[config.Config]
	row       = invariants.Row[config.Config]
)

const (
	impossible = invariants.Impossible
	open       = invariants.Open
)

func having(settings ...setting) mechanism { return by("", settings...) }

func both(a, b mechanism) mechanism {
	return by(a.Name+", and "+b.Name, slices.Concat(a.Settings, b.Settings)...)
}

func by(name string, settings ...setting) mechanism {
	return mechanism{Name: name, Settings: settings}
}

// Mechanisms that neutralise strikes on several invariants.
var (
	fenced     = by("a state write is a compare-and-set under its lock", withFence)
	once       = by("the stream refuses a second dispatch of an epoch", withEpochs)
	onceOrder  = by("a late write or publish meets a newer version or epoch, and is refused", withFence, withEpochs)
	resumed    = by("an intent that was not published is taken up again in time", withResume, withEpochs, withFence, withTimeToResume)
	retried    = by("a dispatch that was not published is voided and tried again", withResume, withEpochs, withFence, withVoid, withRecheck, withRetry, withSweep, withStateFirst)
	relayed    = by("a dispatch is in the outbox before it is published", withOutbox, withTimeToResume)
	voided     = by("a void takes the place of a dispatch before its job ends", withVoid, withEpochs, withResume, withFence, withRecheck, withIntentFirst)
	rechecked  = by("the reconciler reads a job again under its lock", withRecheck)
	reconciled = by("the reconciler times out a job that stays", withReconciler)
	sweptUp    = by("the replayer takes up what stays PENDING or SCHEDULED", withSweep, withReplayer, withReconciler)
	askedAgain = by("the replayer asks again", withReplayer, withWholeTicks)
	patient    = by("deliveries outlast every outage", withBusyBackoff, withLongPatience)
	patientDLQ = by("deliveries of an unreadable message outlast every outage", withBusyBackoff, withDLQPatience)
	peeked     = by("a compensation leaves its stack once it is submitted", withPeek)
	rolledOn   = by("a rollback that was cut short is taken up again", withPeek, withDurable, withReconciler)
	confirmed  = by("a worker remembers what it has executed", withConfirm, withAddresses)
	scansKept  = by("Redis keeps a scan that is due", withDurableScans)
	synced     = by("nats-server has a message on the disk before it acknowledges it", withSync)
	replicated = by("what is acknowledged or published is on a replica", withReplica)
	onDisk     = by("Redis has a write on its disk before it answers", withRedisSync)
	together   = by("the entry is written with the state", withAtomicDLQ)
	before     = by("the entry is written before the state", withDLQThenState)
)

// nats-server is away after a power loss, too.
var (
	syncedRetried = both(synced, retried)
	syncedSwept   = both(synced, sweptUp)
)

// Kinds of strike that have the same effect on several invariants.
var (
	overstays = StrikesOf(SchedulerAway, LockFails, WriteLate) // a holder continues after its lock has expired, or its write does
)

// What makes a job execute again: the same dispatch, or another.
var (
	redelivered = exception{By: StrikesOf(AckLost, DeliveryLost, WorkerAway, NATSAway), But: []mechanism{confirmed}}
	reexecuted  = exception{By: StrikesOf(WorkerCrash), Why: impossible, Says: "a worker that crashes before its work and a worker that crashes after it leave the same unacknowledged message"}
	reissued    = exception{By: StrikesOf(WriteRefused, SchedulerCrash), But: []mechanism{once, having(withoutOutbox)}}
)

// What the servers forget, and what a wrong clock shows, releases many invariants.
var (
	lost       = exception{By: StrikesOf(RedisFailover), But: []mechanism{replicated}}
	torn       = exception{By: StrikesOf(RedisFailover), But: []mechanism{both(replicated, fenced)}} // a write may meet an older record
	rewound    = exception{By: StrikesOf(RedisFailover), Why: impossible, Says: "no process remembers what Redis confirmed and then lost"}
	usedUp     = exception{By: StrikesOf(DeliveryLost), Why: impossible, Says: "each lost or duplicate delivery uses up one of the message's deliveries"}
	wrongClock = exception{By: StrikesOf(ClockWrong), Why: impossible, Says: "a wrong clock shows what a correct clock shows at another time"}
)

// Matrix has a row for each invariant that requires something, or has exceptions.
var Matrix = withDeaths(map[string]row{
	"acked-only-when-durable": {Takes: []mechanism{having(withFailClosed)}, Except: []exception{
		{By: overstays, But: []mechanism{fenced}},
		lost,
	}},
	"no-dispatch-after-failed-read": {Takes: []mechanism{having(withFailClosed)}},
	"no-dispatch-without-approval":  {Takes: []mechanism{having(withBinding)}, Except: []exception{{By: StrikesOf(WriteLate), But: []mechanism{fenced}}}},
	"approval-not-expired":          {Takes: []mechanism{having(withBinding)}},
	"approved-job-goes-on":          {Except: []exception{lost}},
	"attempts-never-past-ceiling":   {Except: []exception{{By: StrikesOf(SchedulerAway, WriteLate), But: []mechanism{fenced}}}},
	"last-cause-is-true":            {Except: []exception{{By: StrikesOf(SchedulerAway), But: []mechanism{fenced}}}},
	"counters-equal-trace":          {Except: []exception{torn}},
	"redis-index-agrees-with-record": {Except: []exception{
		{By: overstays, But: []mechanism{fenced}},
		{By: StrikesOf(RedisFailover), But: []mechanism{fenced}},
	}},
	"one-dispatch-per-job": {Takes: []mechanism{having(withEpochs), having(withoutResume)}, Except: []exception{
		{By: StrikesOf(PublishUnanswered, PublishLate, WriteLate, LockFails, SchedulerAway, RedisFailover), But: []mechanism{once}},
		reissued,
		{By: StrikesOf(NATSPowerLoss), But: []mechanism{synced}},
	}},
	"intent-before-dispatch": {Except: []exception{
		{By: StrikesOf(WriteLate), But: []mechanism{fenced}},
		{By: StrikesOf(PublishLate, SchedulerAway), Why: impossible, Says: "the stream stores a publish that is on its way, even if its job has moved on"},
		lost,
	}},
	"nobody-is-rescued": {Takes: []mechanism{having(withDeliveries)}, Except: []exception{
		{By: StrikesOf(PublishRefused, PublishLate, WriteRefused, WriteUnanswered, WriteLate, ReadFails, LockFails, GuardFails, SubmissionFails, AckLost, DeliveryLost, SchedulerCrash, SchedulerAway, WorkerCrash, WorkerAway, NATSAway, RedisFailover, ClockWrong), Why: impossible, Says: "another process has to take up work that a strike has cut short"},
		{By: StrikesOf(KernelFails), But: []mechanism{by("deliveries and the pending_age outlast every outage", withBusyBackoff, withLongPatience, withLongPendingAge)}},
		{By: StrikesOf(PublishUnanswered), But: []mechanism{having(withResume), having(withoutRefusal)}},
	}},
	"one-execution-per-dispatch":          {Except: []exception{redelivered, reexecuted}},
	"one-effect-per-key":                  {Takes: []mechanism{having(withDeduplication, withKeptKey)}},
	"one-undo-per-effect":                 {Takes: []mechanism{having(withDeduplication, withKeptKey)}},
	"no-replay-of-what-the-ledger-has":    {Takes: []mechanism{having(withLedger, withCommitCheck)}},
	"failed-never-precedes-its-dlq-entry": {Except: []exception{lost}},
	"processed-message-not-handled-again": {Except: []exception{rewound}},
	"one-execution-per-job": {Takes: []mechanism{having(withEpochs), having(withoutResume)}, Except: []exception{
		redelivered, reexecuted, // it executes again by the same dispatch
		reissued, // or by another
		{By: StrikesOf(LockFails), But: []mechanism{once}},
		{By: StrikesOf(WriteLate), But: []mechanism{fenced}},
		{By: StrikesOf(SchedulerAway), But: []mechanism{onceOrder}},
		{By: StrikesOf(PublishUnanswered, PublishLate), But: []mechanism{by(resumed.Name, withResume, withEpochs)}},
		{By: StrikesOf(RedisFailover), But: []mechanism{by("the stream refuses a second dispatch of an epoch to the same worker", withResume, withEpochs, withAddresses)}},
	}},
	"no-message-given-up": {Takes: []mechanism{having(withDeliveries)}, Except: []exception{
		{By: StrikesOf(PublishRefused, WriteRefused, WriteUnanswered, WriteLate, ReadFails, LockFails, KernelFails, SchedulerCrash, SchedulerAway), But: []mechanism{patient}},
		usedUp,
		{By: StrikesOf(NATSPowerLoss), But: []mechanism{synced}}, // a consumer may remember a delivery of the message that has the sequence of a lost one
		{By: StrikesOf(RedisFailover), But: []mechanism{both(replicated, patient)}},
	}, Open: invariants.Gap{Under: "a kernel that still throttles at the last delivery", Says: "each question to the kernel uses up a delivery, and after the last one only the replayer asks; it would be closed if a throttled request used up no delivery"}},
	"terminated-message-has-dlq-entry": {Except: []exception{
		{By: StrikesOf(DLQFails, SchedulerCrash, SchedulerAway), But: []mechanism{patientDLQ}},
		usedUp,
		lost,
	}},
	"every-intent-is-published": {Except: []exception{
		{By: StrikesOf(WriteUnanswered, WriteLate, SchedulerCrash), But: []mechanism{resumed, retried, relayed}},
		{By: StrikesOf(PublishRefused, WriteRefused, SchedulerAway, NATSAway), But: []mechanism{retried}},
		{By: StrikesOf(NATSPowerLoss), But: []mechanism{syncedRetried}},
	}},
	"no-dispatch-after-end": {Except: []exception{
		{By: StrikesOf(PublishLate, SchedulerAway), But: []mechanism{voided}},
		{By: StrikesOf(NATSPowerLoss), But: []mechanism{synced}},
		lost,
	}},
	"epochs-never-decrease": {Except: []exception{{By: StrikesOf(WriteLate), But: []mechanism{fenced}}}},
	"lock-mutual-exclusion": {Except: []exception{
		{By: StrikesOf(PublishLate, WriteLate, LockFails, SchedulerAway, NATSAway), But: []mechanism{onceOrder}},
		{By: StrikesOf(WriteLate, SchedulerAway), But: []mechanism{rechecked}},
		torn,
	}},
	"lock-kept-by-living-holder": {Takes: []mechanism{having(withLongLocks)}, Except: []exception{
		{By: StrikesOf(LockFails, SchedulerAway), Why: impossible, Says: "Redis cannot tell a holder that cannot renew its lock from a holder that is gone"},
		rewound, // a lock and its renewals, too
	}},
	"quarantined-only-when-blocked": {Except: []exception{
		{By: StrikesOf(WriteLate, SchedulerAway), But: []mechanism{fenced}},
		lost,
	}},
	"blocked-output-ends-quarantined": {Takes: []mechanism{scansKept, by("a scan that finds its job locked comes again in time", withTimeToScan)}, Except: []exception{
		{By: StrikesOf(WriteRefused, ReadFails, SchedulerCrash, SchedulerAway), But: []mechanism{scansKept}},
		{By: StrikesOf(LockFails), But: []mechanism{by(scansKept.Name, withDurableScans, withFence)}},
	}},
	"every-output-is-scanned": {Takes: []mechanism{scansKept}, Except: []exception{lost, wrongClock}},
	"scans-come-in-time":      {Except: []exception{wrongClock}},
	"overdue-job-found-within-a-poll": {Takes: []mechanism{having(withReconciler, withRenewedTicks, withWholeTicks), having(withReconciler, withReleasedTicks, withWholeTicks)}, Except: []exception{
		{By: StrikesOf(WriteRefused, WriteLate, ReadFails, LockFails, GuardFails, TickFails, SchedulerCrash, SchedulerAway, NATSAway), Why: impossible, Says: "a scheduler that is gone, or whose operations the servers refuse, does nothing in time"},
		rewound,
		wrongClock,
	}},
	"waiting-job-is-left-alone":          {Except: []exception{wrongClock}},
	"what-is-due-is-taken-up":            {Takes: []mechanism{having(withWholeTicks)}, Except: []exception{wrongClock}},
	"snapshot-revives-no-worker":         {Takes: []mechanism{having(withLastSeen)}},
	"no-retry-for-want-of-known-workers": {Except: []exception{{By: StrikesOf(HeartbeatLost, SchedulerAway), Why: impossible, Says: "a replica that could not read the snapshot knows no worker"}}},
	"heartbeat-tells-the-truth":          {},
	"live-worker-is-found":               {},
	"dispatches-count-as-load":           {Takes: []mechanism{having(withCounting)}},
	"lock-renewed-by-thirds":             {Takes: []mechanism{having(withLongLocks)}},
	"stale-worker-has-its-own-reason":    {Takes: []mechanism{having(withStaleReason)}},
	"open-circuit-stops-every-replica": {Takes: []mechanism{having(withSharedBreaker)}, Except: []exception{
		{By: StrikesOf(TickFails, SchedulerAway), Why: impossible, Says: "a replica that cannot reach the shared counter does not learn its value"},
	}},
	"half-open-closes-on-successes": {Except: []exception{rewound}},
	"half-open-probes-within-limit": {Takes: []mechanism{having(withSharedProbes)}, Except: []exception{rewound}},
	"no-dispatch-without-decision": {Except: []exception{
		{By: StrikesOf(WriteLate), But: []mechanism{fenced}},
		lost,
	}},
	"throttled-job-waits": {Except: []exception{
		{By: StrikesOf(DeliveryLost, NATSAway), Why: open, Says: "a scheduler asks the kernel twice about a request that is delivered twice; a note of when the job was put off would close it"},
	}},
	"throttled-job-comes-again": {Except: []exception{
		{By: StrikesOf(AckLost, DeliveryLost), But: []mechanism{askedAgain}},
		{By: StrikesOf(ReadFails, LockFails, SchedulerCrash, SchedulerAway), Why: impossible, Says: "a scheduler that is gone, or whose operations the servers refuse, cannot ask again in time"},
	}},
	"one-replay-per-count":         {Takes: []mechanism{having(withAtomicReplay)}},
	"replay-waits-its-backoff":     {Except: []exception{wrongClock}},
	"dead-letters-take-turns":      {Except: []exception{wrongClock}},
	"growth-alert-tells-the-truth": {Except: []exception{wrongClock}},
	"auto-replay-comes-about":      {Takes: []mechanism{having(withReplayWorker)}, Except: []exception{{By: StrikesOf(RedisFailover), But: []mechanism{fenced}}, wrongClock}},
	"result-of-current-epoch":      {Except: []exception{{By: StrikesOf(PublishUnanswered, PublishLate, ReadFails), But: []mechanism{having(withRefusal)}}}},
	"cancelled-job-is-told": {Takes: []mechanism{having(withNotice, withIntentFirst), having(withNotice, withEpochs, withVoid)}, Except: []exception{
		{By: StrikesOf(PublishUnanswered, PublishLate), But: []mechanism{having(withResume, withEpochs, withVoid, withFence)}},
		{By: StrikesOf(SubmissionFails), But: []mechanism{patient}},
		{By: StrikesOf(NATSPowerLoss), But: []mechanism{synced}},
		lost,
	}},
	"illegal-result-is-refused": {Except: []exception{
		{By: StrikesOf(DLQFails, SchedulerCrash, SchedulerAway), But: []mechanism{patientDLQ}},
		usedUp,
		{By: StrikesOf(RedisFailover), But: []mechanism{both(replicated, patientDLQ)}},
	}},
	"cancellation-takes-effect": {Takes: []mechanism{having(withKeptCancellations, withDeliveries)}, Except: []exception{
		{By: StrikesOf(LockFails, SchedulerCrash), But: []mechanism{patient}},
		lost,
	}},
	"compensation-recorded-once": {Except: []exception{
		{By: StrikesOf(WriteRefused, WriteUnanswered, WriteLate, SchedulerCrash, SchedulerAway), But: []mechanism{having(withAtomicRecord, withFence)}},
		lost,
	}},
	"only-lock-holder-compensates": {Takes: []mechanism{having(withLongSaga)}, Except: []exception{
		{By: StrikesOf(SchedulerAway), Why: impossible, Says: "the stream stores a publish that is on its way, even if its lock has expired"},
		rewound,
	}},
	"one-compensation-per-key":           {Except: []exception{{By: StrikesOf(WriteRefused, WriteUnanswered, WriteLate, SchedulerAway), But: []mechanism{peeked}}, lost}},
	"compensations-in-lifo-order":        {Except: []exception{{By: StrikesOf(SchedulerAway), But: []mechanism{peeked}}}},
	"denied-compensation-is-skipped":     {},
	"finished-saga-leaves-nothing":       {},
	"compensation-only-of-succeeded-job": {Takes: []mechanism{having(withAtomicRecord)}},
	"every-compensation-accounted-for":   {Takes: []mechanism{rolledOn}, Except: []exception{lost, wrongClock}},
	"no-failure-for-want-of-attempts": {Except: []exception{
		{By: StrikesOf(PublishRefused, PublishUnanswered, PublishLate, WriteRefused, WriteUnanswered, WriteLate, ReadFails, SchedulerCrash, SchedulerAway, NATSAway), Why: impossible, Says: "no scheduler tries a job again after the faults if the job has used up its attempts"},
	}},
	"attempts-last-their-budget":      {Takes: []mechanism{having(withEvenBackoff, withBusyBackoff)}},
	"workload-is-submitted":           {},
	"requests-can-be-read":            {},
	"intent-is-safe-before-dispatch":  {},
	"keys-last-as-stated":             {},
	"record-names-its-worker":         {},
	"times-are-those-of-their-writes": {},
	"what-is-asked-is-stored":         {},
	"nothing-is-published-twice":      {},

	"audit-event-tells-its-change":   {},
	"dead-letter-tells-its-decision": {},
	"dead-letter-tells-its-failure":  {},

	"every-job-settles": {Takes: []mechanism{having(withDeliveries)}, Except: []exception{
		{By: StrikesOf(WorkerCrash, WorkerAway), But: []mechanism{reconciled}},
		{By: StrikesOf(WriteRefused, WriteUnanswered, WriteLate, SchedulerCrash), But: []mechanism{reconciled, by(resumed.Name, withResume, withEpochs), by(relayed.Name, withOutbox)}},
		{By: StrikesOf(PublishRefused, WriteRefused, WriteLate, ReadFails, LockFails, SchedulerCrash, SchedulerAway), But: []mechanism{sweptUp, patient}},
		{By: StrikesOf(SubmissionFails, DeliveryLost, NATSAway), But: []mechanism{sweptUp}},
		{By: overstays, But: []mechanism{fenced}},
		{By: StrikesOf(NATSPowerLoss), But: []mechanism{syncedSwept}},
		{By: StrikesOf(RedisFailover), But: []mechanism{both(replicated, sweptUp), both(replicated, patient)}},
		wrongClock,
	}},
	"failed-job-has-dlq-entry": {Except: []exception{
		{By: StrikesOf(WriteUnanswered, WriteLate, DLQFails, SchedulerCrash, SchedulerAway), But: []mechanism{together, before}},
		lost,
	}},
	"tenant-limit-held": {Takes: []mechanism{having(withTenantReserve, withIntentFirst)}},
	"one-writer-a-tick": {Except: []exception{
		{By: StrikesOf(TickFails), But: []mechanism{fenced}},
		rewound,
	}},
	"snapshot-stays-fresh": {Except: []exception{
		{By: StrikesOf(TickFails, SchedulerAway, RedisFailover), Why: impossible, Says: "a scheduler that is gone, or whose operations Redis refuses or leaves unanswered, writes nothing in time"},
	}},
	"timeout-only-when-due": {Takes: []mechanism{rechecked}, Except: []exception{
		{By: StrikesOf(WriteLate), But: []mechanism{fenced}},
		wrongClock,
	}},
	"no-timeout-while-executing": {Except: []exception{
		{By: StrikesOf(PublishUnanswered, WriteRefused, WriteLate, SchedulerCrash, SchedulerAway), But: []mechanism{voided}},
	}},
	"dead-worker-is-noticed": {Takes: []mechanism{having(withWatch)}},
	"terminal-states-final": {Except: []exception{
		{By: overstays, But: []mechanism{fenced}},
		{By: StrikesOf(WriteUnanswered, WriteLate, SchedulerAway), But: []mechanism{rechecked}},
		lost,
	}},
	"documented-transitions-only": {Except: []exception{
		{By: StrikesOf(WriteLate, SchedulerAway), But: []mechanism{fenced}},
		torn,
	}},
	"delay-fires-on-time": {Takes: []mechanism{having(withDurableTimers, withDelayPoller)}, Except: []exception{
		{By: StrikesOf(LockFails, TickFails, SchedulerCrash, SchedulerAway, NATSAway), Why: impossible, Says: "a scheduler that is gone, or whose operations the servers refuse, ends no delay in time"},
		rewound,
		wrongClock,
	}},
	"run-writes-not-lost":                   {Takes: []mechanism{having(withFenceRuns)}},
	"run-written-by-lock-holder":            {Takes: []mechanism{having(withStrictRunLock, withFenceRuns)}},
	"every-run-settles":                     {Takes: []mechanism{having(withRunReconciler)}, Except: []exception{torn}},
	"no-delay-fires-early":                  {Except: []exception{wrongClock}},
	"no-delay-fires-twice":                  {Except: []exception{rewound}},
	"saga-lock-released-by-owner-or-expiry": {Except: []exception{rewound}},
})

// withDeaths makes a death of Redis release what a failover releases, unless Redis has each write on its
// disk. A replica does not help.
func withDeaths(rows map[string]row) map[string]row {
	for name, r := range rows {
		for _, e := range r.Except {
			if e.By&StrikesOf(RedisFailover) == 0 {
				continue
			}
			but := slices.DeleteFunc(slices.Clone(e.But), func(m mechanism) bool {
				return slices.ContainsFunc(m.Settings, func(s setting) bool { return s.Name == "wait_replica" })
			})
			r.Except = append(r.Except, exception{By: StrikesOf(RedisDeath), But: append(but, onDisk)})
		}
		rows[name] = r
	}
	return rows
}
