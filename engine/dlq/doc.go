// Package dlq keeps what could not be done, for triage (Dead letters): an entry dlq:entry:<jobID> with
// a TTL, and the index dlq:index, whose scores are the times of the entries in unix milliseconds.
package dlq
