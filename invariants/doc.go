// Package invariants judges a run: what must always hold, what must hold once the world has
// settled, and what a campaign must sometimes see.
//
// A [Judge] is given every event of a run in order, and a full read of the servers at the end. It
// works from ground truth only: what steps changed in Redis and in the streams, what workers
// executed, what was acknowledged. Counters are the one thing that the scheduler says of itself,
// and they are judged, not believed. The package shares no code with the scheduler: decoder and
// transition table are its own, written from engine/SPECIFICATION.md.
//
// Each [Invariant] names the faults that release its promise: it is checked whatever happens, and a
// violation is [Violation.Promised] only if none of them met the job before. Settings can withdraw
// releases: with fence, say, a handler that outlives its lock is no excuse any more. What the documented
// design promises it promises under every setting, so that a part taken away is missed; what only a
// hardening provides is promised where that is on. One violation can make others meaningless;
// [Invariant.Needs] says which, and the checks that depend on it stop.
//
// [Audit] judges real servers, which no world watched, by what they hold.
//
// How it is made: facts.go holds what is known of jobs, locks and nodes, observe.go and its neighbours
// bring it up to date once an event, promise.go says what the settings are worth, and each family of
// invariants has a file of checkers that hook into it.
package invariants
