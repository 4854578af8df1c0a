// Package model holds what is known of the scheduler's jobs, locks, nodes, runs and sagas at an instant of a run.
//
// It works from ground truth only: what steps changed in Redis and in the streams, what workers executed, what was
// acknowledged. Package observe keeps it up to date, and the invariants of package judge read it.
//
// facts.go has all of it together. step.go and moment.go say what an event is to a job. job.go, state.go, record.go,
// dispatch.go, handling.go, lock.go, orphans.go, due.go and wantofattempts.go are about a job; nodes.go, workers.go, wish.go
// and tenants.go about who can do it; messages.go, tails.go, guards.go and ticks.go about streams, the idempotency guard and
// the loops; policy.go, circuits.go, consent.go, output.go, saga.go, replay.go, rescue.go and workflow.go about a feature
// each. reach.go says which jobs a strike has
// reached, window.go for how long and from where it reaches more.
package model
