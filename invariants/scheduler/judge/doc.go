// Package judge judges a run of the scheduler.
//
// A [Judge] is given every event of a run in order, and a full read of the servers at the end. Counters are the one thing
// that the scheduler says of itself, and they are judged, not believed. [Audit] judges real servers, which no world
// watched, by what they hold.
//
// judge.go is the judge. rules.go lists the invariants in their order; each family of them has a file, whose checkers hook
// into the observer (package observe) and read its model. situations.go has what a campaign must sometimes see,
// crosscheck.go holds the model against the servers, and audit.go makes a model of servers alone.
package judge
