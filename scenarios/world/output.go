package world

import (
	"context"
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// redacted is what the key of an output ends in that has lost its secrets.
const redacted = ":redacted"

// outputKey is where an execution's output is: each dispatch with an epoch has its own.
func outputKey(d job.Dispatch) string {
	if d.Epoch == 0 {
		return "res:" + d.JobID
	}
	return fmt.Sprintf("res:%s:%d", d.JobID, d.Epoch)
}

// putOut stores what an execution has put out and, next to it, what is left of that without its secrets.
func (r *running) putOut(ctx context.Context, d job.Dispatch) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	key := outputKey(d)
	return r.p.Redis().MSet(ctx, key, "output of "+d.JobID+", secrets and all", key+redacted, "output of "+d.JobID).Err()
}
