package invariants

// class is a set of things that can happen in a run and release promises: the fault classes. They are
// derived from events alone.
type class uint64

const (
	ambiguousPublish class = 1 << iota
	failedPublish
	ambiguousWrite
	failedWrite
	ambiguousIntent
	ambiguousTerminal
	rollbackFailed
	stateReadError
	dlqWriteFailed
	ambiguousLock
	lockError
	lockOverstayed
	schedulerCrash
	workerCrash
	crashBeforePublish
	crashBeforeDLQ
	deadWorker
	lostAck
	lostHeartbeats
	resultUnsent
	dispatchRedelivered
	deliveriesExhausted
	outboxKept
	lateWrite
	latePublish
	oldList
	guardError
	renewalFailed
	paused
	allAway
	snapshotUnread
	writerOverstayed
	lockLeft
	orphanStranded
	requestLost
	intentResumed
	noWorkerTook
	orphanReplayed
	runTroubled
	unprovided
	sagaFailed
	succeededLate
	breakerError
	approvalUnsent
	undecided
	dataLost
	clockWrong
	timeoutHindered
	lostNak
	tailLost
	placeReused
)

// classes describes each class, in the order of its bit: its name if it is a fault, and the words
// that finish the sentence "promised unless ...".
var classes = [64]struct{ fault, words string }{
	{"ambiguous-publish", "an earlier publish of that job was stored although its caller saw an error"},
	{"failed-publish", "a publish of that job failed and was not stored"},
	{"ambiguous-write", "a state write of that job was applied although its caller saw an error"},
	{"failed-write", "a state write of that job failed and was not applied"},
	{"ambiguous-dispatched-write", "the DISPATCHED write of that job was applied although its caller saw an error, and the dispatch was in no outbox"},
	{"ambiguous-terminal-write", "the terminal write of that job was applied although its caller saw an error"},
	{"rollback-failed", "a rollback of that job failed, or at the ceiling the FAILED write in its place"},
	{"state-read-error", "a state read of that job failed"},
	{"dlq-write-failed", "the DLQ write of that job failed"},
	{"ambiguous-lock", "a lock of that job was taken although its caller saw an error"},
	{"lock-error", "a lock operation of that job failed"},
	{"lock-overstayed", "a handler of that job outlived its lock"},
	{"scheduler-crash", "a scheduler crashed"},
	{"worker-crash", "a worker crashed"},
	{"crash-before-publish", "a scheduler crashed between that job's DISPATCHED write and its publish, and the dispatch was in no outbox"},
	{"crash-before-dlq", "a scheduler crashed between that job's FAILED write and its DLQ entry"},
	{"dead-worker", "that job's worker was dead when the dispatch was stored, or died before the job ended, and did not start again"},
	{"lost-ack", "an ack of that job was lost"},
	{"lost-heartbeats", "heartbeats were lost"},
	{"result-unsent", "the result of that job was never published"},
	{"dispatch-redelivered", "a dispatch of that job was delivered more than once"},
	{"deliveries-exhausted", "a message of that job was given up after MaxDeliver deliveries"},
	{"outbox-entry-kept", "a dispatch of that job was stored, and an error, a crash or a lock that ran out kept its entry in the outbox, so that a relay publishes it again"},
	{"late-write", "a state write of that job was applied after its caller had given it up"},
	{"late-publish", "a publish of that job was stored after its caller had given it up"},
	{"old-list", "a reconciler that reads nothing again timed that job out by what a list had said of it"},
	{"guard-error", "an operation of the idempotency guard failed"},
	{"renewal-failed", "a renewal of a lock of that job failed"},
	{"scheduler-paused", "a scheduler was paused, or cut off"},
	{"schedulers-away", "for a while no scheduler could work: all were down, paused or cut off, or NATS was down"},
	{"snapshot-unread", "a scheduler could not read the snapshot at its start"},
	{"writer-overstayed", "a writer of the snapshot outlived its lock"},
	{"lock-left", "a lock of that job was left to expire, its holder having crashed or failed to release it"},
	{"orphan-stranded", "a replayer took that job up and could only schedule it, and no request of it was left to come"},
	{"request-lost", "the last request of that job was given up after MaxDeliver deliveries, or lost with nats-server's power, and there was no record of the job"},
	{"", "a later handling of that job published its intent again"},
	{"", "a handling of that job found no worker for it"},
	{"", "a replayer took that job up"},
	{"run-troubled", "an operation on that run, on its delays or on its jobs' submission failed or met another's lock, or a scheduler crashed that had the run in hand"},
	{"", "nothing provides for it"},
	{"saga-operation-failed", "an operation of a rollback, or on a saga's stack, failed"},
	{"joined-late", "that job succeeded once its saga was to be rolled back"},
	{"breaker-error", "an operation on a circuit breaker's counter failed"},
	{"approval-unsent", "that job was approved, and its request could not be published again"},
	{"undecided", "the safety kernel did not say whether that job may run: it failed, or throttled, or the circuit was open"},
	{"data-lost", "Redis failed over to a replica that was behind"},
	{"clock-wrong", "the clock of a node was wrong"},
	{"timeout-hindered", "an operation of a reconciler's tick failed, or once that job's time was up one on it failed or met another's lock"},
	{"lost-nak", "a nak of that job was lost"},
	{"tail-lost", "nats-server lost its power, and with it a message of that job"},
	{"place-reused", "a message of that job was stored in the place of one that nats-server had lost"},
}
