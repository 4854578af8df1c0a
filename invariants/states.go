package invariants

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

// terminal says whether s is in the documentation's table of terminal states (seed 003, section 1).
func (s state) terminal() bool { return s >= succeeded && s < unknown }

// buried says whether a job that is over in s belongs in the dead-letter queue.
func (s state) buried() bool { return s == failed || s == denied || s == quarantined }

// inFlight says whether a redelivered request for a job in s is a no-op (seed 000).
func (s state) inFlight() bool { return s == dispatched || s == running }

// transition is one row of the documented state machine.
type transition struct {
	from, to state
	source   string
}

// documented is the state machine of seed 003, section 1, with the rows that the other seeds add.
var documented = [...]transition{
	{absent, pending, "seed 003: job submitted"},
	{pending, scheduled, "seed 003: ALLOW"},
	{pending, approvalRequired, "seed 003: REQUIRE_APPROVAL"},
	{pending, denied, "seed 003: DENY"},
	{approvalRequired, pending, "seed 003: approved, re-enters the dispatch flow"},
	{scheduled, scheduled, "seed 000: a replay schedules once more and counts one attempt"},
	{scheduled, dispatched, "seed 003; seed 000: set before the publish"},
	{dispatched, scheduled, "seed 000: rollback of a failed publish"},
	{dispatched, running, "seed 003"},
	{running, succeeded, "seed 003"},
	{running, failed, "seed 003"},
	{running, timedOut, "seed 003: reconciler"},
	{running, cancelled, "seed 003"},
	{running, quarantined, "seed 003: sync output policy"},
	{dispatched, succeeded, "seed 003: a result that arrives although RUNNING was not written"},
	{dispatched, failed, "seed 003: likewise; and the ceiling reached by a failed publish"},
	{dispatched, cancelled, "seed 003: likewise"},
	{dispatched, quarantined, "seed 003: likewise"},
	{dispatched, timedOut, "seed 003: reconciler, dispatchTimeout"},
	{pending, failed, "seed 003: max scheduling retries, no pool mapping"},
	{scheduled, failed, "seed 003: max scheduling retries, no pool mapping"},
	{pending, timedOut, "seed 003: deadline expiration"},
	{approvalRequired, timedOut, "seed 003: deadline expiration"},
	{scheduled, timedOut, "seed 003: deadline expiration"},
	{pending, cancelled, "seed 003: cancelled by user request"},
	{approvalRequired, cancelled, "seed 003: cancelled by user request"},
	{scheduled, cancelled, "seed 003: cancelled by user request"},
	{succeeded, quarantined, "seed 003: async output policy"},
}

// Transition is one row of the state machine by which runs are judged.
type Transition struct {
	From   string // as a record spells it; empty for no record
	To     string
	Source string
}

// Transitions lists the state machine by which runs are judged. It is written from the documentation, and
// not from the scheduler's table.
func Transitions() []Transition {
	list := make([]Transition, len(documented))
	for i, row := range documented {
		list[i] = Transition{To: row.to.String(), Source: row.source}
		if row.from != absent {
			list[i].From = row.from.String()
		}
	}
	return list
}

var allowed = func() (t [unknown + 1][unknown + 1]bool) {
	for _, row := range documented {
		t[row.from][row.to] = true
	}
	return t
}()
