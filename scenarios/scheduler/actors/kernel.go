package actors

import (
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/sim"
)

// KernelName is the node that decides whether jobs may run, and what becomes of their output.
const KernelName = "kernel"

// PolicyChange is when it goes over to another policy.
const PolicyChange = "policy"

// Kernel is the production's own safety kernel and output policy. What it goes by outlives a crash.
type Kernel struct {
	Server *kernel.Server
}

// Run is the kernel's main function.
func (k Kernel) Run(p *sim.Process) {
	p.Serve(k.Server.Register)
	<-p.Context().Done()
}
