// Package job holds the vocabulary of the scheduler: the states of a job and the documented moves
// between them, the reason codes, and the packets that submitters, schedulers and workers exchange.
package job
