package job

// Transition is one documented move of the state machine.
type Transition struct {
	From   State
	To     State
	Why    string // what makes the job move
	Source string // where SPECIFICATION.md has it
}

// Transitions is the whole documented table. It is data: the store refuses what is not in it, and
// reports draw it. It must not be modified.
var Transitions = []Transition{
	{Absent, Pending, "submitted, or requested without a record", "Scheduler internals, section 1; State-read errors, missing-key handling"},

	{Pending, Scheduled, "allowed; counts an attempt", "Scheduler internals, section 1"},
	{Pending, ApprovalRequired, "the safety kernel requires an approval", "Scheduler internals, section 1"},
	{Pending, Denied, "denied by the safety kernel", "Scheduler internals, section 1"},
	{ApprovalRequired, Pending, "approved", "Scheduler internals, section 1, approval flow"},

	{Scheduled, Scheduled, "replayed; counts an attempt", "Dispatch ordering, attempt accounting"},
	{Scheduled, Dispatched, "about to be published to a worker, or published in publish-first order", "Dispatch ordering"},
	{Dispatched, Scheduled, "rolled back after a failed publish, or taken from a dead worker before it; counts an attempt", "Dispatch ordering, publish failure recovery"},
	{Dispatched, Running, "published", "Scheduler internals, section 1"},

	{Running, Succeeded, "the worker succeeded", "Scheduler internals, section 1"},
	{Running, Failed, "the worker failed", "Scheduler internals, section 1"},
	{Running, OutputQuarantined, "the output policy blocked the result", "Scheduler internals, section 2"},
	{Succeeded, OutputQuarantined, "the content scan blocked the result afterwards", "Scheduler internals, section 2, phase 2"},

	// A result is accepted when the RUNNING write failed or has not been seen.
	{Dispatched, Succeeded, "the worker succeeded before RUNNING was written", "Scheduler internals, section 2"},
	{Dispatched, Failed, "the worker failed before RUNNING was written, or a publish failed at the retry ceiling", "Scheduler internals, sections 1 and 2"},
	{Dispatched, OutputQuarantined, "the output policy blocked a result that came before RUNNING was written", "Scheduler internals, section 2"},

	{Pending, Failed, "the retry ceiling", "Scheduler internals, section 1, max scheduling retries"},
	{Scheduled, Failed, "the retry ceiling, or no pool for the topic", "Scheduler internals, section 1, max scheduling retries; Scheduler internals, section 5, reason codes"},

	{Dispatched, Timeout, "no progress within the dispatch timeout", "Scheduler internals, section 3"},
	{Running, Timeout, "no result within the running timeout", "Scheduler internals, section 3"},
	{Pending, Timeout, "its deadline passed", "Scheduler internals, section 3, deadline expiration"},
	{ApprovalRequired, Timeout, "its deadline passed", "Scheduler internals, section 3, deadline expiration"},
	{Scheduled, Timeout, "its deadline passed", "Scheduler internals, section 3, deadline expiration"},

	{Pending, Cancelled, "cancelled by its user", "Scheduler internals, section 1, terminal states"},
	{ApprovalRequired, Cancelled, "cancelled by its user", "Scheduler internals, section 1, terminal states"},
	{Scheduled, Cancelled, "cancelled by its user", "Scheduler internals, section 1, terminal states"},
	{Dispatched, Cancelled, "cancelled by its user", "Scheduler internals, section 1, terminal states"},
	{Running, Cancelled, "cancelled by its user", "Scheduler internals, section 1, terminal states"},
}

var allowed = func() map[[2]State]bool {
	m := make(map[[2]State]bool, len(Transitions))
	for _, t := range Transitions {
		m[[2]State{t.From, t.To}] = true
	}
	return m
}()

// CanMove says whether the table leads from one state to the other.
func CanMove(from, to State) bool { return allowed[[2]State{from, to}] }
