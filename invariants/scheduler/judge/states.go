package judge

import "github.com/wavetank-sim/wavetank/invariants/scheduler/observe"

// transition is one row of the documented state machine.
type transition struct {
	from, to observe.State
	source   string
}

// documented is the state machine of Scheduler internals, section 1, with the rows that the other seeds add.
var documented = [...]transition{
	{observe.Absent, observe.Pending, "Scheduler internals: job submitted"},
	{observe.Pending, observe.Scheduled, "Scheduler internals: ALLOW"},
	{observe.Pending, observe.ApprovalRequired, "Scheduler internals: REQUIRE_APPROVAL"},
	{observe.Pending, observe.Denied, "Scheduler internals: DENY"},
	{observe.ApprovalRequired, observe.Pending, "Scheduler internals: approved, re-enters the dispatch flow"},
	{observe.Scheduled, observe.Scheduled, "Dispatch ordering: a replay schedules once more and counts one attempt"},
	{observe.Scheduled, observe.Dispatched, "Scheduler internals; Dispatch ordering: set before the publish"},
	{observe.Dispatched, observe.Scheduled, "Dispatch ordering: rollback of a failed publish"},
	{observe.Dispatched, observe.Running, "Scheduler internals"},
	{observe.Running, observe.Succeeded, "Scheduler internals"},
	{observe.Running, observe.Failed, "Scheduler internals"},
	{observe.Running, observe.TimedOut, "Scheduler internals: reconciler"},
	{observe.Running, observe.Cancelled, "Scheduler internals"},
	{observe.Running, observe.Quarantined, "Scheduler internals: sync output policy"},
	{observe.Dispatched, observe.Succeeded, "Scheduler internals: a result that arrives although RUNNING was not written"},
	{observe.Dispatched, observe.Failed, "Scheduler internals: likewise; and the ceiling reached by a failed publish"},
	{observe.Dispatched, observe.Cancelled, "Scheduler internals: likewise"},
	{observe.Dispatched, observe.Quarantined, "Scheduler internals: likewise"},
	{observe.Dispatched, observe.TimedOut, "Scheduler internals: reconciler, dispatchTimeout"},
	{observe.Pending, observe.Failed, "Scheduler internals: max scheduling retries, no pool mapping"},
	{observe.Scheduled, observe.Failed, "Scheduler internals: max scheduling retries, no pool mapping"},
	{observe.Pending, observe.TimedOut, "Scheduler internals: deadline expiration"},
	{observe.ApprovalRequired, observe.TimedOut, "Scheduler internals: deadline expiration"},
	{observe.Scheduled, observe.TimedOut, "Scheduler internals: deadline expiration"},
	{observe.Pending, observe.Cancelled, "Scheduler internals: cancelled by user request"},
	{observe.ApprovalRequired, observe.Cancelled, "Scheduler internals: cancelled by user request"},
	{observe.Scheduled, observe.Cancelled, "Scheduler internals: cancelled by user request"},
	{observe.Succeeded, observe.Quarantined, "Scheduler internals: async output policy"},
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
		if row.from != observe.Absent {
			list[i].From = row.from.String()
		}
	}
	return list
}

var allowed = func() (t [observe.Unknown + 1][observe.Unknown + 1]bool) {
	for _, row := range documented {
		t[row.from][row.to] = true
	}
	return t
}()
