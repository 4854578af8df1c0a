package judge

// state is a state of a job as its record spells it.
type state uint8

const (
	absent state = iota // no record
	pending
	approvalRequired
	scheduled
	dispatched
	running
	succeeded
	failed
	timedOut
	cancelled
	denied
	quarantined
	unknown // a word that the documentation does not have
)

var stateNames = [...]string{
	"no record", "PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING",
	"SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED", "DENIED", "OUTPUT_QUARANTINED", "an unknown state",
}

func (s state) String() string { return stateNames[s] }

func parseState(word string) state {
	for s := pending; s < unknown; s++ {
		if stateNames[s] == word {
			return s
		}
	}
	return unknown
}

// terminal says whether s is in the documentation's table of terminal states (Scheduler internals, section 1).
func (s state) terminal() bool { return s >= succeeded && s < unknown }

// buried says whether a job that is over in s belongs in the dead-letter queue.
func (s state) buried() bool { return s == failed || s == denied || s == quarantined }

// inFlight says whether a redelivered request for a job in s is a no-op (Dispatch ordering).
func (s state) inFlight() bool { return s == dispatched || s == running }
