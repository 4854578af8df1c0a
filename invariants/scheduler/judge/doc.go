// Package judge judges a run of the scheduler.
//
// A [Judge] is given every event of a run in order, and a full read of the servers at the end. Counters are the one thing
// that the scheduler says of itself, and they are judged, not believed. [Audit] judges real servers, which no world
// watched, by what they hold.
//
// Each family of invariants has a file, whose checkers hook into the observer (package observe) and read its model.
//
// Its files, each of which calls only those after it:
//
//	audit.go, audittypes.go              servers that no world watched
//	judge.go, rules.go                   the judge, and the invariants in their order
//	crosscheck.go                        the model against the servers
//	states.go, transitions.go            the states of a job, and its moves
//	attempts.go, intents.go              attempts, and dispatches that are noted before they are published
//	routing.go, picks.go                 whose a dispatch is
//	execution.go, effects.go, results.go executions, their effects and results
//	settled.go, overdue.go               jobs that end, and in time
//	wantofattempts.go, cancellations.go  jobs that end for want of attempts, or are cancelled
//	locks.go, ticks.go                   locks of jobs and of loops
//	acks.go, guard.go                    messages
//	counters.go                          metrics
//	policy.go, policy_decision.go,
//	policy_breaker.go                    the safety kernel: that it is asked, its decisions, and its circuit
//	dispatch.go, outputchecks.go         stored dispatches, and outputs
//	tenants.go, saga.go, replay.go       tenants, sagas and dead letters
//	situations.go                        what a campaign must sometimes see
//	approvals.go                         approvals
//	stored.go                            what an audit finds in the servers
//	timeouts.go                          timeouts
//	rescued.go, decided.go               jobs that were rescued, and what was decided of them
//	workflow.go                          runs
//	tally.go                             an invariant with its checker, and what that found
package judge
