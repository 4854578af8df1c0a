package model

// Moment is a situation that a Sometimes waits for.
type Moment int

const (
	FailedClosed Moment = iota
	RedeliveredInFlight
	Contended
	ToDeadWorker
	ToSilentWorker
	ToTopic
	StaleWorkerMet
	CeilingReached
	LateHeartbeat
	ResultAhead
	ResultAfterEnd
	CrashWithIntent
	LockAbandoned
	PublishRefused
	PublishDropped
	WriteFenced
	ScheduledSwept
	TickContended
	OlderResult
	VoidStored
	WarmStarted
	MessageSkipped
	TenantAtLimit
	ScanDowngraded
	OutputFailedOpen
	OutputRedacted
	ScanResumed
	RunContended
	DelayPolled
	StepRetried
	CircuitOpened
	CircuitHalfOpened
	CircuitClosedAgain
	CountedAlone
	FailOpenUsed
	JobThrottled
	JobDenied
	ApprovalGranted
	ApprovalAskedAgain
	AmbiguousPublish
	FailedPublish
	AmbiguousWrite
	FailedWrite
	LockOverstayed
	LockLeft
	NoWorkerTook
	LostAck
	DispatchRedelivered
	IntentResumed
	OrphanReplayed
	DeliveriesExhausted
	RollbackFailed
	AmbiguousIntent
	DeadWorker
	ResultUnsent
	TailLost
	Rescued
	KeyOfTwoTenants

	moments // how many there are
)

// Reach notes that a moment has come.
func (f *Facts) Reach(m Moment) { f.Reached[m]++ }

// Come notes that a moment has come to a job. It may be the reason why the job did not settle.
func (f *Facts) Come(j *Job, m Moment) {
	f.Reach(m)
	if j != nil {
		j.Moments |= 1 << m
	}
}

func (j *Job) Had(m Moment) bool { return j.Moments&(1<<m) != 0 }
