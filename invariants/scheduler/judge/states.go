package judge

import "github.com/wavetank-sim/wavetank/invariants/scheduler/model"

// transition is one row of the documented state machine.
type transition struct {
	from, to model.State
	source   string
}

// documented is the state machine of Scheduler internals, section 1, with the rows that the other seeds add.
var documented = [...]transition{
	{model.Absent, model.Pending, "Scheduler internals: job submitted"},
	{model.Pending, model.Scheduled, "Scheduler internals: ALLOW"},
	{model.Pending, model.ApprovalRequired, "Scheduler internals: REQUIRE_APPROVAL"},
	{model.Pending, model.Denied, "Scheduler internals: DENY"},
	{model.ApprovalRequired, model.Pending, "Scheduler internals: approved, re-enters the dispatch flow"},
	{model.Scheduled, model.Scheduled, "Dispatch ordering: a replay schedules once more and counts one attempt"},
	{model.Scheduled, model.Dispatched, "Scheduler internals; Dispatch ordering: set before the publish"},
	{model.Dispatched, model.Scheduled, "Dispatch ordering: rollback of a failed publish"},
	{model.Dispatched, model.Running, "Scheduler internals"},
	{model.Running, model.Succeeded, "Scheduler internals"},
	{model.Running, model.Failed, "Scheduler internals"},
	{model.Running, model.TimedOut, "Scheduler internals: reconciler"},
	{model.Running, model.Cancelled, "Scheduler internals"},
	{model.Running, model.Quarantined, "Scheduler internals: sync output policy"},
	{model.Dispatched, model.Succeeded, "Scheduler internals: a result that arrives although RUNNING was not written"},
	{model.Dispatched, model.Failed, "Scheduler internals: likewise; and the ceiling reached by a failed publish"},
	{model.Dispatched, model.Cancelled, "Scheduler internals: likewise"},
	{model.Dispatched, model.Quarantined, "Scheduler internals: likewise"},
	{model.Dispatched, model.TimedOut, "Scheduler internals: reconciler, dispatchTimeout"},
	{model.Pending, model.Failed, "Scheduler internals: max scheduling retries, no pool mapping"},
	{model.Scheduled, model.Failed, "Scheduler internals: max scheduling retries, no pool mapping"},
	{model.Pending, model.TimedOut, "Scheduler internals: deadline expiration"},
	{model.ApprovalRequired, model.TimedOut, "Scheduler internals: deadline expiration"},
	{model.Scheduled, model.TimedOut, "Scheduler internals: deadline expiration"},
	{model.Pending, model.Cancelled, "Scheduler internals: cancelled by user request"},
	{model.ApprovalRequired, model.Cancelled, "Scheduler internals: cancelled by user request"},
	{model.Scheduled, model.Cancelled, "Scheduler internals: cancelled by user request"},
	{model.Succeeded, model.Quarantined, "Scheduler internals: async output policy"},
}

// Transition is a row of the state machine by which runs are judged.
type Transition struct {
	From   string // as in a record; empty for no record
	To     string
	Source string
}

// Transitions lists the state machine by which runs are judged. It is written from the documentation, not
// from the scheduler's table.
func Transitions() []Transition {
	list := make([]Transition, len(documented))
	for i, row := range documented {
		list[i] = Transition{To: row.to.String(), Source: row.source}
		if row.from != model.Absent {
			list[i].From = row.from.String()
		}
	}
	return list
}

var allowed = func() (t [model.Unknown + 1][model.Unknown + 1]bool) {
	for _, row := range documented {
		t[row.from][row.to] = true
	}
	return t
}()
