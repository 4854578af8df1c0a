// Package recovery brings jobs home after something went wrong (Scheduler internals, section 3): loops that
// every replica runs, and of which one replica at a time does a tick.
//
// [Reconciler] ends the jobs that are past a timeout or their deadline. [Replayer] takes up those that
// wait although nobody is at them: their message is lost, or away for longer than they should wait.
// Neither knows how a job is handled: the engine gives them a function that takes the job's lock,
// looks again and acts.
//
// With Timeouts.Silence a job that is RUNNING on a dead worker is past its timeout early. That costs a read
// of every job that is RUNNING for longer than it could have been DISPATCHED, at each tick; and a worker
// that lives, and of which nothing is heard for so long, loses its jobs. A replica that hears of no worker
// at all takes none for dead.
//
// Its files, each of which calls only those after it:
//
//	reconciler.go  jobs past their time
//	replayer.go    jobs that wait with nobody at them
//	timeouts.go    what is past its time
//	tick.go        one tick of a loop
package recovery
