// Package model holds what is known of the scheduler's jobs, locks, nodes, runs and sagas at an instant of a
// run.
//
// It is built only from ground truth: what steps changed in Redis and in the streams, what workers executed,
// and what was acknowledged. Package observe updates it, and the invariants of package judge read it.
//
// Its files, each of which calls only those after it:
//
//	lives.go                            processes start and crash
//	likeness.go                         what a fault finds at a moment
//	facts.go                            everything that is known
//	orphans.go, open.go, due.go         jobs that nobody handles, jobs that have not ended, and jobs past their time
//	left.go, unconfirmed.go             messages that nobody has answered, and answers that failed
//	wantofattempts.go                   jobs that use up their attempts
//	away.go                             how long a request that is sent back stays away
//	hanging.go                          operations that nobody answers
//	tails.go                            messages that a stream lost
//	dispatch.go                         dispatches
//	reach.go                            which jobs a strike has reached
//	guards.go, ticks.go                 the idempotency guard, and the loops
//	workers.go, beats.go                what replicas know of workers, and what workers report of themselves
//	output.go                           outputs
//	policy.go, circuits.go, consent.go  the safety kernel, its circuits, and approvals
//	record.go                           records
//	wish.go                             what a job requires of a worker
//	unsent.go                           what clients could not publish
//	trail.go                            the audit trail
//	saga.go, messages.go                sagas and messages
//	growth.go                           how the queue of dead letters grows
//	effect.go, replay.go, turns.go      effects of executions, and dead letters
//	tries.go                            what people try with dead letters
//	filing.go                           the entries of the dead-letter queue
//	job.go, tenants.go                  a job, and its tenant
//	finality.go                         whether a worker reported a failure as final
//	answers.go, inhand.go               what workers have reported, and deliveries that were not answered
//	rescue.go, workflow.go              rescues and runs
//	lock.go, handling.go                a job's lock, and what its holder does
//	nodes.go                            processes
//	window.go                           how long a strike has consequences
//	hooks.go                            what invariants hook into
//	counts.go                           the values that counters should have
//	state.go, moment.go, step.go        a job's states, what a campaign must meet, and an event seen from one job
package model
