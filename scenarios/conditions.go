package scenarios

import (
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// lag is how long a heartbeat is under way.
func (r *run) lag(op *sim.Op) time.Duration {
	most := r.plan.World.HeartbeatLag
	if most == 0 || op.Phase != "heartbeat" {
		return 0
	}
	return time.Duration(r.world.Draw("lag", op.Job, strconv.Itoa(op.Occurrence)) % uint64(most))
}
