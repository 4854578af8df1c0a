package phase

// The phases of workflows (Scheduler internals, section 8). All are about a run, and so about no single job; the jobs
// of its steps are submitted in SubmitWrite and SubmitPublish.
const (
	RunCreate Phase = "run_create" // a client stores a run, with its place in the index and the timer that starts it
	RunLock   Phase = "run_lock"   // cordum:wf:run:lock:<runID>, SET NX PX
	RunRenew  Phase = "run_renew"  // every ttl/3
	RunUnlock Phase = "run_unlock" // owner-checked delete
	RunRead   Phase = "run_read"   // cordum:wf:run:<runID>
	StepRead  Phase = "step_read"  // the records of the jobs of the run's steps
	RunWrite  Phase = "run_write"  // the run, before what follows from it

	TimerWrite  Phase = "timer_write"  // ZADD to cordum:wf:delay:timers
	TimerRemove Phase = "timer_remove" // ZREM, when the timer in memory fires
	TimerPop    Phase = "timer_pop"    // those past due, at start and by the poller: a script that lists and removes them
	TimerRead   Phase = "timer_read"   // those to come, at start
	TimerClean  Phase = "timer_clean"  // those that nobody has taken up for an hour

	PollLock Phase = "poll_lock" // cordum:wf:delay:poller
	RunsLock Phase = "runs_lock" // cordum:workflow-engine:reconciler:default
	RunsRead Phase = "runs_read" // which runs are not over
	RunsDrop Phase = "runs_drop" // a run without a record leaves the index
)
