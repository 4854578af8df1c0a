// Package model holds what is known of the scheduler's jobs, locks, nodes, runs and sagas at an instant of a run.
//
// It works from ground truth only: what steps changed in Redis and in the streams, what workers executed, what was
// acknowledged. Package observe keeps it up to date, and the invariants of package judge read it.
//
// Its files, each of which calls only those after it:
//
//	lives.go                            processes start and crash
//	likeness.go                         what a fault finds at a moment
//	facts.go                            all that is known
//	hanging.go                          operations that nobody answers
//	orphans.go, open.go, due.go         jobs with nobody at them, jobs still to come to an end, and jobs past their time
//	left.go                             messages that nobody answers
//	wantofattempts.go                   jobs that end for want of attempts
//	away.go                             for how long a handling sends its request back
//	tails.go                            messages that a stream lost
//	dispatch.go                         dispatches
//	reach.go                            which jobs a strike has reached
//	guards.go, ticks.go                 the idempotency guard, and the loops
//	workers.go, beats.go                what replicas know of workers, and what these say of themselves
//	output.go                           outputs
//	policy.go, circuits.go, consent.go  the safety kernel, its circuits, and approvals
//	record.go                           records
//	wish.go                             what a job asks for of a worker
//	unsent.go                           what clients could not publish
//	trail.go                            the audit trail
//	saga.go, messages.go                sagas and messages
//	growth.go                           how the queue of dead letters grows
//	effect.go, replay.go, turns.go      what was done on the outside, and dead letters
//	tries.go                            what people try about those
//	filing.go                           the entries of the dead-letter queue
//	job.go, tenants.go                  a job, and whose it is
//	finality.go                         whether a worker called a failure final
//	answers.go, inhand.go               what workers have answered, and deliveries that were not answered
//	rescue.go, workflow.go              rescues and runs
//	lock.go, handling.go                a job's lock, and what its holder does
//	nodes.go                            processes
//	window.go                           for how long a strike reaches more
//	hooks.go                            what invariants hook into
//	counts.go                           what counters should say
//	state.go, moment.go, step.go        a job's states, what a campaign must meet, and one event as it concerns a job
package model
