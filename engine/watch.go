package engine

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/metrics"
)

// watchState takes in how a read or a write of a job's state went at Redis.
func (e *Engine) watchState(write bool, took time.Duration, failed bool) {
	if write {
		e.watchRedis(metrics.OperationWrite, took, failed)
	} else {
		e.watchRedis(metrics.OperationRead, took, failed)
	}
}

// watchRedis counts an operation on Redis, to be put beside the reads that fail closed (State-read errors, next step 3).
func (e *Engine) watchRedis(operation string, took time.Duration, failed bool) {
	e.metrics.RedisLatency.WithLabelValues(operation).Observe(took.Seconds())
	if failed {
		e.metrics.RedisErrors.WithLabelValues(operation).Inc()
	}
}
