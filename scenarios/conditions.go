package scenarios

import (
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// lag is how long a heartbeat is under way.
func (r *run) lag(op *sim.Op) time.Duration {
	if r.lagAt == nil || op.Phase != "heartbeat" {
		return 0
	}
	return r.lagAt(r.world.Draw("lag", op.Job, strconv.Itoa(op.Occurrence)))
}
