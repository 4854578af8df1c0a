package invariants

import "slices"

type (
	setting   = Setting[Config]
	mechanism = Mechanism[Config]
	exception = Exception[Config]
	gap       = Gap
)

// row is what the matrix says of one invariant.
type row struct {
	takes  []mechanism // without one of these nothing is promised; none: it takes nothing
	except []exception
	timed  bool // it goes by times that nodes' clocks have told: a wrong one releases it
	keeps  bool // not even a failover of Redis releases it
	open   gap  // what else it does not judge yet
	saga   bool // it is about a saga as a whole: what struck one of its jobs, or its rollback, struck it
}

// whole is the row with the exceptions that it shares with most.
func (r *row) whole() Row[Config] {
	list := r.except
	var rewound Kinds
	for _, e := range list {
		rewound |= e.By & strikesOf(RedisFailover)
	}
	if !r.keeps && rewound == 0 {
		list = append(slices.Clip(list), exception{By: strikesOf(RedisFailover), Why: Impossible, Says: "what Redis has confirmed and lost, nobody remembers"})
	}
	if r.timed {
		list = append(slices.Clip(list), exception{By: strikesOf(ClockWrong), Why: Impossible, Says: "a clock that is wrong, and one that is right at another time, show the same"})
	}
	return Row[Config]{Strikes: Strikes, Takes: r.takes, Except: list, Open: r.open}
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
	voided     = mechanism{"a void takes the place of a dispatch before its job ends", []setting{withVoid, withEpochs, withResume, withFence, withIntentFirst}}
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
	overstays = strikesOf(SchedulerAway, LockFails, WriteLate)                                                 // a holder goes on after its lock, or its write does
	tooLate   = overstays | strikesOf(PublishLate)                                                             //
	outages   = strikesOf(SchedulerAway, NATSAway)                                                             // what is due waits
	downtime  = outages | strikesOf(SchedulerCrash)                                                            // and what was in hand is left
	unwritten = strikesOf(WriteRefused, WriteUnanswered, WriteLate, SchedulerAway)                             // the record is not what its writer thinks
	slowTick  = strikesOf(TickFails, LockFails, ReadFails, WriteRefused, WriteUnanswered, WriteLate) | outages // a tick comes late, or goes on for long
	delays    = downtime | unwritten | strikesOf(PublishRefused, PublishUnanswered, PublishLate, ReadFails, LockFails, DLQFails, GuardFails, AckLost, DeliveryLost,
		KernelFails, TickFails, WorkerCrash, WorkerAway, HeartbeatLost, ResultLost) // a message comes again, and again
)

// matrix has a row for each invariant that takes something, or has exceptions beside those that all have.
var matrix = map[string]row{
	"acked-only-when-durable": {except: []exception{
		{By: overstays, But: []mechanism{fenced}},
		{By: slowTick, But: []mechanism{rechecked}},
		{By: strikesOf(NATSPowerLoss), Why: Impossible, Says: "an ack names a place in the stream, and the message that has it after the loss is another"},
	}},
	"no-dispatch-without-approval": {takes: []mechanism{having(withBinding)}, except: []exception{
		{By: overstays | strikesOf(ReadFails), But: []mechanism{fenced}},
	}},
	"approval-not-expired": {timed: true, takes: []mechanism{having(withBinding)}, except: []exception{
		{By: overstays | strikesOf(ReadFails), But: []mechanism{fenced}},
		{By: outages, Why: Impossible, Says: "a process that stands still between its look at the clock and its write cannot know for how long"},
	}},
	"approved-job-goes-on": {timed: true, except: []exception{
		{By: delays | strikesOf(SubmissionFails), But: []mechanism{having(withReplayer)}},
		{By: overstays, But: []mechanism{fenced}},
	}},
	"attempts-equal-scheduled-writes": {except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"attempts-drain-by-two":           {except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"attempts-never-past-ceiling":     {except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"counters-equal-trace": {except: []exception{
		{By: strikesOf(SchedulerCrash), Why: Impossible, Says: "a counter that is in memory goes with its process"},
	}},
	"events-agree-with-servers": {keeps: true},
	"redis-index-agrees-with-record": {except: []exception{
		{By: overstays, But: []mechanism{fenced}},
		{By: slowTick, But: []mechanism{rechecked}},
		{By: strikesOf(RedisFailover), But: []mechanism{fenced}},
	}},
	"one-dispatch-per-job": {takes: []mechanism{having(withEpochs), having(withoutResume)}, except: []exception{
		{By: tooLate | strikesOf(PublishUnanswered, RedisFailover), But: []mechanism{once}},
		{By: unwritten | downtime | strikesOf(PublishUnanswered), But: []mechanism{once, having(withoutOutbox)}}, // it stays in the outbox
		{By: strikesOf(NATSPowerLoss), Why: Open, Says: "a dispatch that was handed out before it was lost is published again; a sync of each message before its ack would close it"},
	}},
	"intent-before-dispatch": {except: []exception{
		{By: tooLate, Why: Impossible, Says: "a publish that is on its way when its job moves on is stored as the same publish is when it does not"},
	}},
	"no-dispatch-after-failed-read": {keeps: true},
	"nobody-is-rescued":             {keeps: true, takes: []mechanism{having(withDeliveries)}}, // it is judged until the first strike
	"one-execution-per-dispatch": {except: []exception{
		{By: strikesOf(AckLost, DeliveryLost, WorkerCrash, WorkerAway, ResultLost) | outages, Why: Impossible, Says: "a worker that died before its work and one that died after it leave the same message without an ack"},
	}},
	"processed-message-not-handled-again": {except: []exception{
		{By: strikesOf(GuardFails, SchedulerAway), Why: Impossible, Says: "a handling of which nothing could be noted, and one that never was, look alike"},
		{By: strikesOf(NATSPowerLoss), Why: Impossible, Says: "the message that takes a lost one's place has its number"},
	}},
	"no-message-given-up": {takes: []mechanism{having(withDeliveries)}, except: []exception{
		{By: delays, But: []mechanism{patient}},
	}},
	"terminated-message-has-dlq-entry": {except: []exception{{By: delays, But: []mechanism{{patient.Name, []setting{withBusyBackoff, withDLQPatience}}}}}},
	"every-intent-is-published": {timed: true, except: []exception{
		{By: unwritten | overstays | strikesOf(SchedulerCrash), But: []mechanism{resumed, retried, relayed}},
		{By: strikesOf(PublishRefused, ReadFails, LockFails) | outages, But: []mechanism{retried}},
		{By: strikesOf(NATSPowerLoss), Why: Open, Says: "a dispatch that was acknowledged and lost is not published again before its timeout"},
	}},
	"no-dispatch-after-end": {except: []exception{
		{By: tooLate, But: []mechanism{voided}},
		{By: strikesOf(NATSPowerLoss), Why: Open, Says: "the void is lost with the power, and nothing stores it again"},
	}},
	"epochs-never-decrease": {except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"lock-mutual-exclusion": {except: []exception{
		{By: tooLate | slowTick, But: []mechanism{onceOrder}},
		{By: overstays, But: []mechanism{rechecked}},
	}},
	"lock-kept-by-living-holder": {takes: []mechanism{having(withLongLocks)}, except: []exception{
		{By: strikesOf(LockFails, WriteLate) | outages, Why: Impossible, Says: "a holder that cannot renew its lock, and one that is gone, look alike to Redis"},
	}},
	"quarantined-only-when-blocked": {except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"every-quarantine-is-audited":   {except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"blocked-output-ends-quarantined": {timed: true, except: []exception{
		{By: downtime | unwritten | strikesOf(ReadFails, LockFails), But: []mechanism{scansKept}},
		{By: overstays, But: []mechanism{{scansKept.Name, []setting{withDurableScans, withFence}}}},
	}},
	"every-output-is-scanned": {timed: true, takes: []mechanism{scansKept}},
	"overdue-job-found-within-a-poll": {timed: true, takes: []mechanism{having(withReconciler, withRenewedTicks, withWholeTicks), having(withReconciler, withReleasedTicks, withWholeTicks)}, except: []exception{
		{By: slowTick | downtime, Why: Impossible, Says: "nobody can do in time what nobody is there to do, or what its servers refuse"},
	}},
	"no-dispatch-to-expired-worker": {timed: true},
	"snapshot-revives-no-worker":    {timed: true, takes: []mechanism{having(withLastSeen)}},
	"no-retry-for-want-of-known-workers": {timed: true, except: []exception{
		{By: strikesOf(TickFails, SchedulerAway), Why: Impossible, Says: "who could not read the snapshot knows of no worker"},
	}},
	"dispatches-count-as-load": {takes: []mechanism{having(withCounting)}},
	"stale-worker-has-its-own-reason": {takes: []mechanism{having(withStaleReason)}, except: []exception{
		{By: strikesOf(SchedulerCrash), Why: Impossible, Says: "a counter that is in memory goes with its process"},
	}},
	"no-check-while-circuit-open": {timed: true},
	"open-circuit-stops-every-replica": {timed: true, takes: []mechanism{having(withSharedBreaker)}, except: []exception{
		{By: downtime | strikesOf(KernelFails, WriteLate), Why: Impossible, Says: "a replica that cannot reach the shared counter does not learn what it says"},
	}},
	"half-open-probes-within-limit":  {timed: true, takes: []mechanism{having(withSharedBreaker, withSharedProbes)}},
	"half-open-closes-on-successes":  {timed: true},
	"replica-alone-keeps-its-budget": {timed: true, except: []exception{{By: outages, But: []mechanism{having(withSharedBreaker)}}}},
	"circuit-opens-on-failures-alone": {except: []exception{
		{By: strikesOf(KernelFails), Why: Open, Says: "a late count of a failure counts as one of now; a stamp of when it was would tell"},
	}},
	"open-circuit-ends": {timed: true, except: []exception{
		{By: outages | strikesOf(KernelFails), Why: Open, Says: "a late count keeps the circuit open for another while; a stamp of when it was would tell"},
	}},
	"closed-circuit-lets-calls-through": {timed: true, except: []exception{
		{By: outages | strikesOf(LockFails), Why: Impossible, Says: "who has lost its job's lock makes no call"},
	}},
	"no-dispatch-without-decision": {except: []exception{{By: strikesOf(WriteLate), But: []mechanism{fenced}}}},
	"no-dispatch-of-denied-job":    {except: []exception{{By: tooLate | strikesOf(ReadFails), But: []mechanism{fenced}}}},
	"throttled-job-waits":          {timed: true},
	"throttled-job-comes-again": {timed: true, except: []exception{
		{By: delays, Why: Impossible, Says: "nobody can ask again in time who is not there, or whom the servers refuse"},
	}},
	"one-replay-per-count":           {takes: []mechanism{having(withAtomicReplay)}},
	"dead-letter-keeps-its-decision": {except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"growth-alert-tells-the-truth":   {timed: true},
	"auto-replay-comes-about":        {timed: true, takes: []mechanism{having(withReplayWorker)}},
	"result-of-current-epoch": {except: []exception{
		{By: strikesOf(PublishUnanswered, PublishLate, ReadFails), But: []mechanism{having(withRefusal)}},
		{By: overstays, But: []mechanism{having(withRefusal, withFence)}},
	}},
	"cancelled-job-is-told": {takes: []mechanism{having(withNotice, withIntentFirst), having(withNotice, withEpochs, withVoid)}, except: []exception{
		{By: tooLate | strikesOf(PublishUnanswered), But: []mechanism{having(withResume, withEpochs, withVoid, withFence)}},
		{By: delays, But: []mechanism{patient}},
		{By: strikesOf(NATSPowerLoss), Why: Open, Says: "a notice that was acknowledged and lost is not published again"},
	}},
	"cancellation-takes-effect": {takes: []mechanism{having(withKeptCancellations)}, except: []exception{
		{By: unwritten | overstays | strikesOf(SchedulerCrash), Why: Impossible, Says: "whom the servers refuse to keep a cancellation cannot tell it to whoever handles the request"},
	}},
	"illegal-result-is-refused": {except: []exception{
		{By: downtime | strikesOf(DLQFails, AckLost, DeliveryLost, NATSPowerLoss), Why: Impossible, Says: "a message that was refused without the stream's knowledge, and one that was not, are delivered alike"},
	}},
	"dispatch-is-what-was-decided": {except: []exception{
		{By: tooLate, But: []mechanism{fenced}},
	}},
	"compensation-recorded-once": {saga: true, except: []exception{
		{By: unwritten | overstays | downtime | strikesOf(ReadFails, SubmissionFails), But: []mechanism{having(withAtomicRecord, withFence)}},
	}},
	"only-lock-holder-compensates": {saga: true, timed: true, takes: []mechanism{having(withLongSaga)}, except: []exception{
		{By: strikesOf(SchedulerAway, SubmissionFails), Why: Impossible, Says: "a publish that is on its way when its lock expires is stored as the same publish is before"},
	}},
	"one-compensation-per-key":           {saga: true, except: []exception{{By: unwritten | overstays | downtime | strikesOf(ReadFails, SubmissionFails), But: []mechanism{peeked}}}},
	"compensations-in-lifo-order":        {saga: true, except: []exception{{By: unwritten | downtime | strikesOf(ReadFails, LockFails, SubmissionFails), But: []mechanism{peeked}}}},
	"compensation-only-of-succeeded-job": {takes: []mechanism{having(withAtomicRecord)}},
	"every-compensation-accounted-for":   {saga: true, timed: true, takes: []mechanism{rolledOn}},
	"no-failure-for-want-of-attempts": {keeps: true, except: []exception{
		{By: unwritten | downtime | strikesOf(PublishRefused, PublishUnanswered, PublishLate), Why: Impossible, Says: "who has no attempt left cannot learn that the faults are over"},
	}, open: gap{Under: "a busy or empty pool", Says: "an attempt that finds no worker is used up; one that waits for a worker would not be"}},
	"every-job-settles": {timed: true, takes: []mechanism{having(withDeliveries)}, except: []exception{
		{By: strikesOf(WorkerCrash, WorkerAway, ResultLost), But: []mechanism{reconciled}},
		{By: unwritten | strikesOf(SchedulerCrash), But: []mechanism{reconciled, {resumed.Name, []setting{withResume, withEpochs}}, {relayed.Name, []setting{withOutbox}}}},
		{By: delays | strikesOf(NATSPowerLoss, SubmissionFails), But: []mechanism{sweptUp, patient}},
		{By: overstays, But: []mechanism{fenced}},
		{By: strikesOf(NATSPowerLoss), Why: Impossible, Says: "a request that was acknowledged and lost before anybody stored a record of it leaves no trace"},
	}},
	"failed-job-has-dlq-entry": {except: []exception{
		{By: unwritten | strikesOf(DLQFails, SchedulerCrash), But: []mechanism{together, before}},
		{By: overstays, But: []mechanism{fenced}},
	}},
	"tenant-limit-held":     {takes: []mechanism{having(withTenantReserve, withIntentFirst)}, except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"one-writer-a-tick":     {except: []exception{{By: strikesOf(TickFails, SchedulerAway), But: []mechanism{fenced}}}},
	"timeout-only-when-due": {timed: true, takes: []mechanism{rechecked}, except: []exception{{By: overstays, But: []mechanism{fenced}}}},
	"no-timeout-while-executing": {timed: true, except: []exception{
		{By: slowTick, But: []mechanism{rechecked}},
		{By: tooLate | unwritten | downtime | strikesOf(PublishUnanswered), But: []mechanism{voided}},
	}},
	"dead-worker-is-noticed": {timed: true, takes: []mechanism{having(withWatch, withReconciler)}, except: []exception{
		{By: downtime | unwritten | strikesOf(ReadFails, LockFails), Why: Impossible, Says: "nobody can notice in time who is not there, or whom the servers refuse"},
	}},
	"terminal-states-final":       {except: []exception{{By: overstays, But: []mechanism{fenced}}, {By: slowTick, But: []mechanism{rechecked}}}},
	"documented-transitions-only": {except: []exception{{By: overstays, But: []mechanism{fenced}}, {By: slowTick, But: []mechanism{rechecked}}}},
	"no-delay-fires-early":        {timed: true},
	"delay-fires-on-time": {timed: true, takes: []mechanism{having(withDurableTimers, withDelayPoller)}, except: []exception{
		{By: delays | strikesOf(SubmissionFails), Why: Impossible, Says: "nobody can fire in time what nobody is there to fire, or what the servers refuse"},
	}},
	"run-writes-not-lost":        {takes: []mechanism{having(withFenceRuns)}},
	"run-written-by-lock-holder": {takes: []mechanism{having(withStrictRunLock, withFenceRuns)}},
	"every-run-settles":          {timed: true, takes: []mechanism{having(withRunReconciler)}},
}
