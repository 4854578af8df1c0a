package scenarios

import (
	"context"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// startRuns starts who starts runs, if there are any.
func (c *crew) startRuns(w *sim.World) {
	work := c.plan.Workload
	if work.Runs == 0 {
		return
	}
	w.Node(world.StarterName, func(p *sim.Process) {
		client := c.client(p)
		var errands []world.Errand
		for n := 1; n <= work.Runs; n++ {
			errands = append(errands, world.Errand{After: time.Duration(n) * work.Every, Do: func(ctx context.Context) error {
				_, err := client.StartRun(ctx, work.Run(n))
				return err
			}})
		}
		world.RunErrands(p, world.AtOnce, errands)
	}).Start()
}
