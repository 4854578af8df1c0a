package scenarios

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// deaths are the crashes of the dying workers: which of them die, and when, is the seed's.
func (p *Plan) deaths() []faults.Fault {
	names := nodeNames("worker", p.Topology.Workers)
	order := func(name string) uint64 { return sim.Draw(p.Seed, "dying", name) }
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	span := time.Duration(p.Workload.Jobs) * p.Workload.Every
	var list []faults.Fault
	for _, name := range names[:int(math.Round(p.World.Dying*float64(len(names))))] {
		after := time.Duration(sim.Draw(p.Seed, "dies at", name) % uint64(span))
		list = append(list, faults.Fault{At: 2*boot + after, Do: faults.Crash, Node: name})
	}
	return list
}

// lag is how long a heartbeat is under way.
func (r *run) lag(op *sim.Op) time.Duration {
	most := r.plan.World.HeartbeatLag
	if most == 0 || op.Phase != "heartbeat" {
		return 0
	}
	return time.Duration(r.world.Draw("lag", op.Job, strconv.Itoa(op.Occurrence)) % uint64(most))
}
