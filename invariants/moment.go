package invariants

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

	moments // how many there are
)

// reach notes that a moment has come.
func (f *facts) reach(m moment) { f.reached[m]++ }
