// Package metrics declares what the scheduler counts, for Prometheus, under the seeds' names
// (seed 003, section 10; the next steps of seeds 000, 001 and 002). Durations are in seconds.
package metrics
