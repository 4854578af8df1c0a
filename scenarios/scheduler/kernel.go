package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// startKernel starts the kernel, if there is to be one, and sees to it that its policy changes in time.
func (s *System) startKernel(w *sim.World) {
	k := &s.plan.Kernel
	if !k.On() {
		return
	}
	policy := k.Policy()
	server, err := kernel.NewServer(policy)
	if err != nil {
		panic(fmt.Sprintf("kernel: %v", err)) // the plan is valid
	}
	w.Node(actors.KernelName, actors.Kernel{Server: server}.Run).Start()
	changes := slices.Clone(k.Then)
	slices.SortStableFunc(changes, func(a, b plans.KernelChange) int { return cmp.Compare(a.At, b.At) })
	for _, t := range changes {
		policy = t.After(policy)
		next := policy
		w.At(t.At, "policy", actors.KernelName, func() { _ = server.Set(next) })
	}
}
