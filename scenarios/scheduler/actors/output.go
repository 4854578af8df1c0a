package actors

import (
	"context"
	"fmt"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/worker"
)

// redacted is the suffix of the key of an output without its secrets.
const redacted = ":redacted"

// outputKey is the key of an execution's output. Each dispatch with an epoch has its own.
func outputKey(d job.Dispatch) string {
	if d.Epoch == 0 {
		return "res:" + d.JobID
	}
	return fmt.Sprintf("res:%s:%d", d.JobID, d.Epoch)
}

// putOut stores an execution's output, and a copy without its secrets.
func (r *running) putOut(ctx context.Context, t *worker.Task, _ worker.Outcome) (string, error) {
	key := outputKey(t.Dispatch)
	return key, r.p.Redis().MSet(ctx, key, "output of "+t.JobID+", secrets and all", key+redacted, "output of "+t.JobID).Err()
}
