package scheduler

import (
	"context"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// startRuns starts the client that starts runs, if there are any.
func (s *System) startRuns(w *sim.World) {
	work := s.plan.Workload
	if work.Runs == 0 {
		return
	}
	w.Node(actors.StarterName, func(p *sim.Process) {
		client := s.client(p)
		var errands []actors.Errand
		for n := 1; n <= work.Runs; n++ {
			errands = append(errands, actors.Errand{After: time.Duration(n) * work.Every, Do: func(ctx context.Context) error {
				_, err := client.StartRun(ctx, work.Run(n, w.Started()))
				return err
			}})
		}
		actors.RunErrands(p, actors.AtOnce, errands)
	}).Start()
}
