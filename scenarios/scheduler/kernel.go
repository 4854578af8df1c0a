package scheduler

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// startKernel starts the kernel, if the plan has one, and changes its policy in time.
func (s *System) startKernel(w *sim.World) {
	k := &s.plan.Kernel
	if !k.On() {
		return
	}
	policies := k.Policies()
	server, err := kernel.NewServer(policies[0])
	if err != nil {
		panic(fmt.Sprintf("kernel: %v", err)) // the plan is valid
	}
	w.Node(actors.KernelName, actors.Kernel{Server: server}.Run).Start()
	for i, t := range k.Changes() {
		w.At(t.At, actors.PolicyChange, actors.KernelName, func() { _ = server.Set(policies[i+1]) })
	}
}
