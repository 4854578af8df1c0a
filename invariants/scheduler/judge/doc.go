// Package judge judges a run of the scheduler.
//
// A [Judge] receives every event of a run in order, and a full read of the servers at the end. Counters are
// the only thing that the scheduler says of itself. They are judged, not believed. [Audit] judges real
// servers by what they hold, without events.
//
// Each family of invariants has a file, or a package if it is large (policies, workflows, replay). Its
// checkers hook into the observer (package observe), and read the observer's model.
//
// Its files, each of which calls only those after it:
//
//	audit.go, audittypes.go              the audit of servers without events
//	judge.go, rules.go                   the judge, and the invariants in their order
//	crosscheck.go                        the model, compared with the servers
//	states.go, transitions.go            the states of a job, and its moves
//	attempts.go, intents.go              attempts, and dispatches that are recorded before they are published
//	routing.go, picks.go                 which worker a dispatch goes to
//	heartbeats.go                        what workers report of themselves
//	execution.go, results.go             executions and results
//	submitted.go                         jobs and runs that clients store
//	settled.go, overdue.go               jobs that end, and end in time
//	wantofattempts.go, cancellations.go  jobs that use up their attempts, or are cancelled
//	locks.go, ticks.go                   locks of jobs and of loops
//	acks.go, guard.go                    messages
//	counters.go                          metrics
//	dispatch.go                          stored dispatches
//	letters.go, trail.go                 dead letters, and the audit trail
//	situations.go                        what a campaign must sometimes see
//	stored.go                            what an audit finds in the servers
//	timeouts.go, hanging.go              timeouts of jobs, and of operations
//	rescued.go, decided.go               jobs that were rescued, and what was decided on them
//	derived.go                           jobs that schedulers submit: replays, compensations, steps
package judge
