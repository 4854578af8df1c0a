package actors

import (
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/sim"
)

// KernelName is the node that decides whether jobs may run, and what happens to their outputs.
const KernelName = "kernel"

// PolicyChange is the trace's word for a change of its policy.
const PolicyChange = "policy"

// Kernel is the production safety kernel and output policy. Its policy survives a crash.
type Kernel struct {
	Server *kernel.Server
}

// Run is the kernel's main function.
func (k Kernel) Run(p *sim.Process) {
	p.Serve(k.Server.Register)
	<-p.Context().Done()
}
