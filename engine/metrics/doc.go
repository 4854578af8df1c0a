// Package metrics declares what the scheduler counts, for Prometheus, under the specification's names (Scheduler
// internals, section 10; the next steps of Dispatch ordering, State-read errors and Stale workers). Durations are in
// seconds.
package metrics
