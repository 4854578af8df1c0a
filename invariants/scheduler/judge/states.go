package judge

// transition is one row of the documented state machine.
type transition struct {
	from, to state
	source   string
}

// documented is the state machine of Scheduler internals, section 1, with the rows that the other seeds add.
var documented = [...]transition{
	{absent, pending, "Scheduler internals: job submitted"},
	{pending, scheduled, "Scheduler internals: ALLOW"},
	{pending, approvalRequired, "Scheduler internals: REQUIRE_APPROVAL"},
	{pending, denied, "Scheduler internals: DENY"},
	{approvalRequired, pending, "Scheduler internals: approved, re-enters the dispatch flow"},
	{scheduled, scheduled, "Dispatch ordering: a replay schedules once more and counts one attempt"},
	{scheduled, dispatched, "Scheduler internals; Dispatch ordering: set before the publish"},
	{dispatched, scheduled, "Dispatch ordering: rollback of a failed publish"},
	{dispatched, running, "Scheduler internals"},
	{running, succeeded, "Scheduler internals"},
	{running, failed, "Scheduler internals"},
	{running, timedOut, "Scheduler internals: reconciler"},
	{running, cancelled, "Scheduler internals"},
	{running, quarantined, "Scheduler internals: sync output policy"},
	{dispatched, succeeded, "Scheduler internals: a result that arrives although RUNNING was not written"},
	{dispatched, failed, "Scheduler internals: likewise; and the ceiling reached by a failed publish"},
	{dispatched, cancelled, "Scheduler internals: likewise"},
	{dispatched, quarantined, "Scheduler internals: likewise"},
	{dispatched, timedOut, "Scheduler internals: reconciler, dispatchTimeout"},
	{pending, failed, "Scheduler internals: max scheduling retries, no pool mapping"},
	{scheduled, failed, "Scheduler internals: max scheduling retries, no pool mapping"},
	{pending, timedOut, "Scheduler internals: deadline expiration"},
	{approvalRequired, timedOut, "Scheduler internals: deadline expiration"},
	{scheduled, timedOut, "Scheduler internals: deadline expiration"},
	{pending, cancelled, "Scheduler internals: cancelled by user request"},
	{approvalRequired, cancelled, "Scheduler internals: cancelled by user request"},
	{scheduled, cancelled, "Scheduler internals: cancelled by user request"},
	{succeeded, quarantined, "Scheduler internals: async output policy"},
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
