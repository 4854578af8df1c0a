package model

// State is a job's state, as its record spells it.
type State uint8

const (
	Absent State = iota // no record
	Pending
	ApprovalRequired
	Scheduled
	Dispatched
	Running
	Succeeded
	Failed
	TimedOut
	Cancelled
	Denied
	Quarantined
	Unknown // a word that is not in the documentation
)

var stateNames = [...]string{
	"no record", "PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING",
	"SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED", "DENIED", "OUTPUT_QUARANTINED", "an unknown state",
}

func (s State) String() string { return stateNames[s] }

// Record describes what the job's record had.
func (s State) Record() string {
	if s == Absent {
		return "there was no record"
	}
	return "the record said " + s.String()
}

func ParseState(word string) State {
	for s := Pending; s < Unknown; s++ {
		if stateNames[s] == word {
			return s
		}
	}
	return Unknown
}

// Terminal says whether s is in the documentation's table of terminal states (Scheduler internals, section
// 1).
func (s State) Terminal() bool { return s >= Succeeded && s < Unknown }

// Buried says whether a job that is over in s belongs in the dead-letter queue.
func (s State) Buried() bool { return s == Failed || s == Denied || s == Quarantined }

// InFlight says whether a redelivered request for a job in s is a no-op (Dispatch ordering).
func (s State) InFlight() bool { return s == Dispatched || s == Running }
