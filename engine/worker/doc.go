// Package worker executes what a scheduler dispatches. It pulls dispatches, says that it lives and how busy it is, stops
// what is cancelled, reports results and acknowledges. What an execution does is the caller's: [Config.Execute].
//
// It executes at least once: a dispatch is acknowledged when its result is published, so a worker that dies in between
// executes the job again. A delivery of a dispatch that is in execution here begins no second one.
//
// A cancel notice ends the execution that it is about, which then has no result: the job's record says CANCELLED
// already. A dispatch of that epoch, or an older one, that comes after the notice is not executed.
//
// Its files, each of which calls only those after it:
//
//	worker.go   a worker's life
//	pull.go     dispatches are taken
//	take.go     one is executed
//	notices.go  what is cancelled
//	beat.go     the worker says that it lives
//	outage.go   what it says while NATS is away
package worker
