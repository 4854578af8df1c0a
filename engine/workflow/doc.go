// Package workflow runs the steps of workflows as jobs, in their order and on time (Scheduler internals, section 8).
//
// A [Run] is a record in Redis: its steps, and how far each of them is. Whoever advances it holds the run's
// lock, takes in what has become of the steps' jobs by their records, writes the run, and only then submits
// the jobs of the steps that are due: a crash in between leaves a step that says SUBMITTED and has no job, which
// the next advance submits. A job's id is derived from run, step and attempt, so that to submit it again
// is the same job.
//
// A run is advanced when a job of it ends, when a delay of it is over, and by the workflow reconciler's tick,
// which needs neither of the two to have been noticed. A delay is a timer in memory and, from 10 s on, an entry in
// a sorted set, from which a replica that starts takes up those it finds, and of which a poller fires those
// that nobody did.
//
// Its files, each of which calls only those after it:
//
//	loops.go    a replica's part: the timers of others, and runs that nothing else advances
//	engine.go   one run is advanced, now and when its delay is over
//	runlock.go  by one at a time
//	timers.go   delays in memory
//	store.go    runs and delays in Redis
//	advance.go  what a run does next
//	run.go      a run
package workflow
