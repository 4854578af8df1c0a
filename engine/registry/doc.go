// Package registry remembers which workers there are, from their heartbeats (Stale workers).
//
// A registry is eventually fresh: a worker counts as alive until its TTL has passed since its last
// heartbeat, and it stays in snapshots until the next sweep after that. Between the two a pick can
// meet a stale worker, which is what the scheduler's inner retries are for.
package registry
