// Package safety asks the safety kernel whether a job may run, through a circuit breaker that all replicas
// share over Redis (Scheduler internals, sections 1 and 6).
//
// Its files, each of which calls only those after it:
//
//	client.go            the question
//	verdict.go           the answer
//	breaker.go           a call through the circuit
//	shared.go, alone.go  the circuit of all replicas, and that of one while Redis is away
//	state.go             a circuit's states, and what is said of them
//	about.go             errors that are about the question
package safety
