// Package judge judges a run of the scheduler.
//
// A [Judge] is given every event of a run in order, and a full read of the servers at the end. Counters are the one thing
// that the scheduler says of itself, and they are judged, not believed. [Audit] judges real servers, which no world
// watched, by what they hold.
//
// Each family of invariants has a file, or a package where it is large (policies, workflows, replay). Its checkers hook into the
// observer (package observe) and read its model.
//
// Its files, each of which calls only those after it:
//
//	audit.go, audittypes.go              servers that no world watched
//	judge.go, rules.go                   the judge, and the invariants in their order
//	crosscheck.go                        the model against the servers
//	dates.go, lasting.go                 times that records have, and for how long keys last
//	states.go, transitions.go            the states of a job, and its moves
//	attempts.go, intents.go              attempts, and dispatches that are noted before they are published
//	routing.go, picks.go                 whose a dispatch is
//	heartbeats.go                        what workers say of themselves
//	execution.go, results.go             executions and results
//	submitted.go                         jobs and runs that clients store
//	settled.go, overdue.go               jobs that end, and in time
//	wantofattempts.go, cancellations.go  jobs that end for want of attempts, or are cancelled
//	locks.go, ticks.go                   locks of jobs and of loops
//	acks.go, guard.go                    messages
//	counters.go                          metrics
//	dispatch.go                          stored dispatches
//	situations.go                        what a campaign must sometimes see
//	stored.go                            what an audit finds in the servers
//	timeouts.go                          timeouts
//	rescued.go, decided.go               jobs that were rescued, and what was decided of them
//	derived.go                           jobs that schedulers submit: replays, compensations, steps
package judge
