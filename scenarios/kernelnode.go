package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// startKernel starts the kernel, if there is to be one, and sees to it that its policy changes in time.
func (c *crew) startKernel(w *sim.World) {
	k := &c.plan.Kernel
	if !k.On() {
		return
	}
	policy := k.Policy()
	server, err := kernel.NewServer(policy)
	if err != nil {
		panic(fmt.Sprintf("kernel: %v", err)) // the plan is valid
	}
	w.Node(world.KernelName, world.Kernel{Server: server}.Run).Start()
	changes := slices.Clone(k.Then)
	slices.SortStableFunc(changes, func(a, b plans.KernelChange) int { return cmp.Compare(a.At, b.At) })
	for _, t := range changes {
		policy = t.After(policy)
		next := policy
		w.At(t.At, "policy", world.KernelName, func() { _ = server.Set(next) })
	}
}

// throttles says whether the safety kernel has told its caller to ask again later.
func throttles(e *sim.Event) bool {
	var said struct {
		Decision safetypb.Decision `json:"decision"`
	}
	return e.Outcome == sim.OutcomeOK && e.Fault == "" && json.Unmarshal([]byte(e.Data), &said) == nil && said.Decision == safetypb.Decision_THROTTLE
}

// breakers are what each replica's circuit breakers did.
func (r *run) breakers() (list []BreakerChange) {
	for _, c := range r.judge.Breakers() {
		list = append(list, BreakerChange(c))
	}
	return list
}
