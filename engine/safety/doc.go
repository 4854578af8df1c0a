// Package safety asks the safety kernel whether a job may run, through a circuit breaker that all replicas
// share over Redis (Scheduler internals, sections 1 and 6).
package safety
