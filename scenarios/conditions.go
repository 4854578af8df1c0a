package scenarios

import (
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// sync is how long a server syncs its files before it acknowledges the operation.
func (r *run) sync(op *sim.Op) time.Duration {
	w := &r.plan.World
	if op.Kind == sim.KindRedis && op.Write && w.RedisDisk == sim.DiskAlways || op.Kind == sim.KindPublish && w.SyncAlways {
		return w.SyncTime
	}
	return 0
}

// lag is how long a heartbeat is under way.
func (r *run) lag(op *sim.Op) time.Duration {
	if r.lagAt == nil || op.Phase != "heartbeat" {
		return 0
	}
	return r.lagAt(r.world.Draw("lag", op.Job, strconv.Itoa(op.Occurrence)))
}
