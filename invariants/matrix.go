package invariants

// row is what the matrix says of one invariant: it is promised under every strike but the exceptions.
type row struct {
	takes  []mechanism // without one of these nothing is promised; none: it takes nothing
	except []exception
	timed  bool // it goes by times that nodes' clocks have told: a wrong one releases it
	keeps  bool // not even a failover of Redis releases it
	open   gap  // what else it does not judge yet
	saga   bool // it is about a saga as a whole: what struck one of its jobs, or its rollback, struck it
}

// exception is some cells of a row: strikes of these kinds release the promise.
type exception struct {
	by   kinds
	but  []mechanism // with one of these they do not
	why  ruling      // where nothing helps
	says string      // the two runs that nobody can tell apart; or what would close it
}

// gap is something besides a strike under which nothing is promised yet.
type gap struct {
	under string
	says  string // what would close it
}

// ruling says what is known of a cell that no setting closes.
type ruling string

const (
	impossible ruling = "impossible" // no engine can tell the run that breaks it from one in which it must do what it does
	openCell   ruling = "open"       // it could be closed
)

// mechanism is what the scheduler has to set against strikes.
type mechanism struct {
	name     string
	settings []setting
}

func having(settings ...setting) mechanism { return mechanism{settings: settings} }

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
		{by: overstays, but: []mechanism{fenced}},
		{by: slowTick, but: []mechanism{rechecked}},
		{by: strikesOf(NATSPowerLoss), why: impossible, says: "an ack names a place in the stream, and the message that has it after the loss is another"},
	}},
	"no-dispatch-without-approval": {takes: []mechanism{having(withBinding)}, except: []exception{
		{by: overstays | strikesOf(ReadFails), but: []mechanism{fenced}},
	}},
	"approval-not-expired": {timed: true, takes: []mechanism{having(withBinding)}, except: []exception{
		{by: overstays | strikesOf(ReadFails), but: []mechanism{fenced}},
		{by: outages, why: impossible, says: "a process that stands still between its look at the clock and its write cannot know for how long"},
	}},
	"approved-job-goes-on": {timed: true, except: []exception{
		{by: delays | strikesOf(SubmissionFails), but: []mechanism{having(withReplayer)}},
		{by: overstays, but: []mechanism{fenced}},
	}},
	"attempts-equal-scheduled-writes": {except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"attempts-drain-by-two":           {except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"attempts-never-past-ceiling":     {except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"counters-equal-trace": {except: []exception{
		{by: strikesOf(SchedulerCrash), why: impossible, says: "a counter that is in memory goes with its process"},
	}},
	"events-agree-with-servers": {keeps: true},
	"redis-index-agrees-with-record": {except: []exception{
		{by: overstays, but: []mechanism{fenced}},
		{by: slowTick, but: []mechanism{rechecked}},
		{by: strikesOf(RedisFailover), but: []mechanism{fenced}},
	}},
	"one-dispatch-per-job": {takes: []mechanism{having(withEpochs), having(withoutResume)}, except: []exception{
		{by: tooLate | strikesOf(PublishUnanswered, RedisFailover), but: []mechanism{once}},
		{by: unwritten | downtime | strikesOf(PublishUnanswered), but: []mechanism{once, having(withoutOutbox)}}, // it stays in the outbox
		{by: strikesOf(NATSPowerLoss), why: openCell, says: "a dispatch that was handed out before it was lost is published again; a sync of each message before its ack would close it"},
	}},
	"intent-before-dispatch": {except: []exception{
		{by: tooLate, why: impossible, says: "a publish that is on its way when its job moves on is stored as the same publish is when it does not"},
	}},
	"no-dispatch-after-failed-read": {keeps: true},
	"nobody-is-rescued":             {keeps: true, takes: []mechanism{having(withDeliveries)}}, // it is judged until the first strike
	"one-execution-per-dispatch": {except: []exception{
		{by: strikesOf(AckLost, DeliveryLost, WorkerCrash, WorkerAway, ResultLost) | outages, why: impossible, says: "a worker that died before its work and one that died after it leave the same message without an ack"},
	}},
	"processed-message-not-handled-again": {except: []exception{
		{by: strikesOf(GuardFails, SchedulerAway), why: impossible, says: "a handling of which nothing could be noted, and one that never was, look alike"},
		{by: strikesOf(NATSPowerLoss), why: impossible, says: "the message that takes a lost one's place has its number"},
	}},
	"no-message-given-up": {takes: []mechanism{having(withDeliveries)}, except: []exception{
		{by: delays, but: []mechanism{patient}},
	}},
	"terminated-message-has-dlq-entry": {except: []exception{{by: delays, but: []mechanism{{patient.name, []setting{withBusyBackoff, withDLQPatience}}}}}},
	"every-intent-is-published": {timed: true, except: []exception{
		{by: unwritten | overstays | strikesOf(SchedulerCrash), but: []mechanism{resumed, retried, relayed}},
		{by: strikesOf(PublishRefused, ReadFails, LockFails) | outages, but: []mechanism{retried}},
		{by: strikesOf(NATSPowerLoss), why: openCell, says: "a dispatch that was acknowledged and lost is not published again before its timeout"},
	}},
	"no-dispatch-after-end": {except: []exception{
		{by: tooLate, but: []mechanism{voided}},
		{by: strikesOf(NATSPowerLoss), why: openCell, says: "the void is lost with the power, and nothing stores it again"},
	}},
	"epochs-never-decrease": {except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"lock-mutual-exclusion": {except: []exception{
		{by: tooLate | slowTick, but: []mechanism{onceOrder}},
		{by: overstays, but: []mechanism{rechecked}},
	}},
	"lock-kept-by-living-holder": {takes: []mechanism{having(withLongLocks)}, except: []exception{
		{by: strikesOf(LockFails, WriteLate) | outages, why: impossible, says: "a holder that cannot renew its lock, and one that is gone, look alike to Redis"},
	}},
	"quarantined-only-when-blocked": {except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"every-quarantine-is-audited":   {except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"blocked-output-ends-quarantined": {timed: true, except: []exception{
		{by: downtime | unwritten | strikesOf(ReadFails, LockFails), but: []mechanism{scansKept}},
		{by: overstays, but: []mechanism{{scansKept.name, []setting{withDurableScans, withFence}}}},
	}},
	"every-output-is-scanned": {timed: true, takes: []mechanism{scansKept}},
	"overdue-job-found-within-a-poll": {timed: true, takes: []mechanism{having(withReconciler, withRenewedTicks, withWholeTicks), having(withReconciler, withReleasedTicks, withWholeTicks)}, except: []exception{
		{by: slowTick | downtime, why: impossible, says: "nobody can do in time what nobody is there to do, or what its servers refuse"},
	}},
	"no-dispatch-to-expired-worker": {timed: true},
	"snapshot-revives-no-worker":    {timed: true, takes: []mechanism{having(withLastSeen)}},
	"no-retry-for-want-of-known-workers": {timed: true, except: []exception{
		{by: strikesOf(TickFails, SchedulerAway), why: impossible, says: "who could not read the snapshot knows of no worker"},
	}},
	"dispatches-count-as-load": {takes: []mechanism{having(withCounting)}},
	"stale-worker-has-its-own-reason": {takes: []mechanism{having(withStaleReason)}, except: []exception{
		{by: strikesOf(SchedulerCrash), why: impossible, says: "a counter that is in memory goes with its process"},
	}},
	"no-check-while-circuit-open": {timed: true},
	"open-circuit-stops-every-replica": {timed: true, takes: []mechanism{having(withSharedBreaker)}, except: []exception{
		{by: downtime | strikesOf(KernelFails, WriteLate), why: impossible, says: "a replica that cannot reach the shared counter does not learn what it says"},
	}},
	"half-open-probes-within-limit":  {timed: true, takes: []mechanism{having(withSharedBreaker, withSharedProbes)}},
	"half-open-closes-on-successes":  {timed: true},
	"replica-alone-keeps-its-budget": {timed: true, except: []exception{{by: outages, but: []mechanism{having(withSharedBreaker)}}}},
	"circuit-opens-on-failures-alone": {except: []exception{
		{by: strikesOf(KernelFails), why: openCell, says: "a late count of a failure counts as one of now; a stamp of when it was would tell"},
	}},
	"open-circuit-ends": {timed: true, except: []exception{
		{by: outages | strikesOf(KernelFails), why: openCell, says: "a late count keeps the circuit open for another while; a stamp of when it was would tell"},
	}},
	"closed-circuit-lets-calls-through": {timed: true, except: []exception{
		{by: outages | strikesOf(LockFails), why: impossible, says: "who has lost its job's lock makes no call"},
	}},
	"no-dispatch-without-decision": {except: []exception{{by: strikesOf(WriteLate), but: []mechanism{fenced}}}},
	"no-dispatch-of-denied-job":    {except: []exception{{by: tooLate | strikesOf(ReadFails), but: []mechanism{fenced}}}},
	"throttled-job-waits":          {timed: true},
	"throttled-job-comes-again": {timed: true, except: []exception{
		{by: delays, why: impossible, says: "nobody can ask again in time who is not there, or whom the servers refuse"},
	}},
	"one-replay-per-count":           {takes: []mechanism{having(withAtomicReplay)}},
	"dead-letter-keeps-its-decision": {except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"growth-alert-tells-the-truth":   {timed: true},
	"auto-replay-comes-about":        {timed: true, takes: []mechanism{having(withReplayWorker)}},
	"result-of-current-epoch": {except: []exception{
		{by: strikesOf(PublishUnanswered, PublishLate, ReadFails), but: []mechanism{having(withRefusal)}},
		{by: overstays, but: []mechanism{having(withRefusal, withFence)}},
	}},
	"cancelled-job-is-told": {takes: []mechanism{having(withNotice, withIntentFirst), having(withNotice, withEpochs, withVoid)}, except: []exception{
		{by: tooLate | strikesOf(PublishUnanswered), but: []mechanism{having(withResume, withEpochs, withVoid, withFence)}},
		{by: delays, but: []mechanism{patient}},
		{by: strikesOf(NATSPowerLoss), why: openCell, says: "a notice that was acknowledged and lost is not published again"},
	}},
	"cancellation-takes-effect": {takes: []mechanism{having(withKeptCancellations)}, except: []exception{
		{by: unwritten | overstays | strikesOf(SchedulerCrash), why: impossible, says: "whom the servers refuse to keep a cancellation cannot tell it to whoever handles the request"},
	}},
	"illegal-result-is-refused": {except: []exception{
		{by: downtime | strikesOf(DLQFails, AckLost, DeliveryLost, NATSPowerLoss), why: impossible, says: "a message that was refused without the stream's knowledge, and one that was not, are delivered alike"},
	}},
	"dispatch-is-what-was-decided": {except: []exception{
		{by: tooLate, but: []mechanism{fenced}},
	}},
	"compensation-recorded-once": {saga: true, except: []exception{
		{by: unwritten | overstays | downtime | strikesOf(ReadFails, SubmissionFails), but: []mechanism{having(withAtomicRecord, withFence)}},
	}},
	"only-lock-holder-compensates": {saga: true, timed: true, takes: []mechanism{having(withLongSaga)}, except: []exception{
		{by: strikesOf(SchedulerAway, SubmissionFails), why: impossible, says: "a publish that is on its way when its lock expires is stored as the same publish is before"},
	}},
	"one-compensation-per-key":           {saga: true, except: []exception{{by: unwritten | overstays | downtime | strikesOf(ReadFails, SubmissionFails), but: []mechanism{peeked}}}},
	"compensations-in-lifo-order":        {saga: true, except: []exception{{by: unwritten | downtime | strikesOf(ReadFails, LockFails, SubmissionFails), but: []mechanism{peeked}}}},
	"compensation-only-of-succeeded-job": {takes: []mechanism{having(withAtomicRecord)}},
	"every-compensation-accounted-for":   {saga: true, timed: true, takes: []mechanism{rolledOn}},
	"no-failure-for-want-of-attempts": {keeps: true, except: []exception{
		{by: unwritten | downtime | strikesOf(PublishRefused, PublishUnanswered, PublishLate), why: impossible, says: "who has no attempt left cannot learn that the faults are over"},
	}, open: gap{"a busy or empty pool", "an attempt that finds no worker is used up; one that waits for a worker would not be"}},
	"every-job-settles": {timed: true, takes: []mechanism{having(withDeliveries)}, except: []exception{
		{by: strikesOf(WorkerCrash, WorkerAway, ResultLost), but: []mechanism{reconciled}},
		{by: unwritten | strikesOf(SchedulerCrash), but: []mechanism{reconciled, {resumed.name, []setting{withResume, withEpochs}}, {relayed.name, []setting{withOutbox}}}},
		{by: delays | strikesOf(NATSPowerLoss, SubmissionFails), but: []mechanism{sweptUp, patient}},
		{by: overstays, but: []mechanism{fenced}},
		{by: strikesOf(NATSPowerLoss), why: impossible, says: "a request that was acknowledged and lost before anybody stored a record of it leaves no trace"},
	}},
	"failed-job-has-dlq-entry": {except: []exception{
		{by: unwritten | strikesOf(DLQFails, SchedulerCrash), but: []mechanism{together, before}},
		{by: overstays, but: []mechanism{fenced}},
	}},
	"tenant-limit-held":     {takes: []mechanism{having(withTenantReserve, withIntentFirst)}, except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"one-writer-a-tick":     {except: []exception{{by: strikesOf(TickFails, SchedulerAway), but: []mechanism{fenced}}}},
	"timeout-only-when-due": {timed: true, takes: []mechanism{rechecked}, except: []exception{{by: overstays, but: []mechanism{fenced}}}},
	"no-timeout-while-executing": {timed: true, except: []exception{
		{by: slowTick, but: []mechanism{rechecked}},
		{by: tooLate | unwritten | downtime | strikesOf(PublishUnanswered), but: []mechanism{voided}},
	}},
	"dead-worker-is-noticed": {timed: true, takes: []mechanism{having(withWatch, withReconciler)}, except: []exception{
		{by: downtime | unwritten | strikesOf(ReadFails, LockFails), why: impossible, says: "nobody can notice in time who is not there, or whom the servers refuse"},
	}},
	"terminal-states-final":       {except: []exception{{by: overstays, but: []mechanism{fenced}}, {by: slowTick, but: []mechanism{rechecked}}}},
	"documented-transitions-only": {except: []exception{{by: overstays, but: []mechanism{fenced}}, {by: slowTick, but: []mechanism{rechecked}}}},
	"no-delay-fires-early":        {timed: true},
	"delay-fires-on-time": {timed: true, takes: []mechanism{having(withDurableTimers, withDelayPoller)}, except: []exception{
		{by: delays | strikesOf(SubmissionFails), why: impossible, says: "nobody can fire in time what nobody is there to fire, or what the servers refuse"},
	}},
	"run-writes-not-lost":        {takes: []mechanism{having(withFenceRuns)}},
	"run-written-by-lock-holder": {takes: []mechanism{having(withStrictRunLock, withFenceRuns)}},
	"every-run-settles":          {timed: true, takes: []mechanism{having(withRunReconciler)}},
}
