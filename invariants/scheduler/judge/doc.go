// Package invariants judges a run: what must always hold, what must hold once the world has
// settled, and what a campaign must sometimes see.
//
// A [Judge] is given every event of a run in order, and a full read of the servers at the end. It
// works from ground truth only: what steps changed in Redis and in the streams, what workers
// executed, what was acknowledged. Counters are the one thing that the scheduler says of itself,
// and they are judged, not believed. The package shares no code with the scheduler: decoder and
// transition table are its own, written from engine/SPECIFICATION.md.
//
// What an invariant is promised under is its row of the promise matrix (matrix.go): it is checked whatever
// happens, and a violation is [Violation.Promised] only if no [Strike] that releases it has reached the job.
// A strike comes from what the injector did (strikes.go), never from what the scheduler did in consequence,
// and reaches what it hit (reach.go). Settings can close a cell: with fence, say, a holder that was paused
// past its lock is no excuse any more. One violation can make others meaningless;
// [Invariant.Needs] says which, and the checks that depend on it stop.
//
// [Audit] judges real servers, which no world watched, by what they hold.
//
// [Facts] says what an event means in the terms of a scheduler, and [AnswerOf] what an operation's caller was told:
// stories, measures and pages read those, and decode nothing themselves.
//
// How it is made: facts.go holds what is known of jobs, locks and nodes, observe.go and its neighbours
// bring it up to date once an event, provisions.go has the settings that the matrix names, explain.go puts it into words, and each family of
// invariants has a file of checkers that hook into it.
package judge
