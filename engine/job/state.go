package job

// State is where a job is in its life (Scheduler internals, section 1).
type State string

// The states of Scheduler internals. Absent stands for a job that has no record.
const (
	Absent            State = ""
	Pending           State = "PENDING"
	ApprovalRequired  State = "APPROVAL_REQUIRED"
	Scheduled         State = "SCHEDULED"
	Dispatched        State = "DISPATCHED"
	Running           State = "RUNNING"
	Succeeded         State = "SUCCEEDED"
	Failed            State = "FAILED"
	Timeout           State = "TIMEOUT"
	Cancelled         State = "CANCELLED"
	Denied            State = "DENIED"
	OutputQuarantined State = "OUTPUT_QUARANTINED"
)

// States lists every state that a record can hold, in the order of a job's life.
var States = []State{
	Pending, ApprovalRequired, Scheduled, Dispatched, Running,
	Succeeded, Failed, Timeout, Cancelled, Denied, OutputQuarantined,
}

// Valid says whether s is a state that a record can hold.
func (s State) Valid() bool {
	switch s {
	case Pending, ApprovalRequired, Scheduled, Dispatched, Running:
		return true
	}
	return s.Terminal()
}

// Terminal says whether a job in s is over. One move leads out of a terminal state: SUCCEEDED to
// OUTPUT_QUARANTINED, when a scan of the output disagrees after the fact.
func (s State) Terminal() bool {
	switch s {
	case Succeeded, Failed, Timeout, Cancelled, Denied, OutputQuarantined:
		return true
	}
	return false
}

// InFlight says whether a worker may hold the job, so that a redelivered request must not dispatch
// it again (Dispatch ordering, redelivery gate).
func (s State) InFlight() bool { return s == Dispatched || s == Running }
