// Package output asks the output policy what becomes of a job's result: about its metadata before the job
// is SUCCEEDED, and about its content afterwards (Scheduler internals, section 2). It keeps what was found, and
// which outputs are still to be scanned.
package output
