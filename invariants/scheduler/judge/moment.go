package judge

// moment is a situation that a Sometimes waits for and that releases no promise.
type moment int

const (
	failedClosed moment = iota
	redeliveredInFlight
	contended
	toDeadWorker
	toSilentWorker
	staleWorkerMet
	ceilingReached
	lateHeartbeat
	resultAhead
	resultAfterEnd
	crashWithIntent
	lockAbandoned
	publishRefused
	publishDropped
	writeFenced
	scheduledSwept
	tickContended
	olderResult
	voidStored
	warmStarted
	messageSkipped
	tenantAtLimit
	scanDowngraded
	outputFailedOpen
	outputRedacted
	scanResumed
	runContended
	delayPolled
	stepRetried
	circuitOpened
	circuitHalfOpened
	circuitClosedAgain
	countedAlone
	failOpenUsed
	jobThrottled
	jobDenied
	approvalGranted
	approvalAskedAgain
	ambiguousPublish
	failedPublish
	ambiguousWrite
	failedWrite
	lockOverstayed
	lockLeft
	noWorkerTook
	lostAck
	dispatchRedelivered
	intentResumed
	orphanReplayed
	deliveriesExhausted
	rollbackFailed
	ambiguousIntent
	deadWorker
	resultUnsent
	tailLost
	rescued

	moments // how many there are
)

// reach notes that a moment has come.
func (f *facts) reach(m moment) { f.reached[m]++ }

// come notes that a moment has come to a job, of which [job.why] may speak.
func (f *facts) come(j *job, m moment) {
	f.reach(m)
	if j != nil {
		j.moments |= 1 << m
	}
}

func (j *job) had(m moment) bool { return j.moments&(1<<m) != 0 }
