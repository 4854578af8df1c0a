package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// probe warns of a kernel that cannot be asked when the scheduler starts. It has a connection of its own: a
// failure would have the scheduler's wait before it tries again.
func (f *safetyFlags) probe(ctx context.Context, mode settings.FailMode, log *slog.Logger) {
	conn, how, err := servers.DialKernel(f.kernel)
	if err != nil {
		return // it has been dialled before
	}
	defer func() { _ = conn.Close() }()
	within, cancel := context.WithTimeout(ctx, servers.AnswerWithin)
	defer cancel()
	why := servers.ProbeKernel(within, conn)
	if why == "" || ctx.Err() != nil {
		return
	}
	until := "jobs wait until it can"
	if mode == settings.FailModeOpen {
		until = "jobs go on unchecked until it can"
	}
	log.Warn("the safety kernel cannot be asked; "+until, slog.String("kernel", f.kernel), slog.String("transport", how), slog.String("error", why))
}

// kernelWithin bounds the question of /healthz to the kernel. It is well below a second, which is how long
// Kubernetes waits for /healthz.
const kernelWithin = 300 * time.Millisecond

// kernelState is what /healthz says of the kernel.
func kernelState(ctx context.Context, conn grpc.ClientConnInterface, e *engine.Engine) string {
	var state safety.State
	var circuit sync.WaitGroup
	circuit.Go(func() { state = e.SafetyCircuit(ctx) })
	within, cancel := context.WithTimeout(ctx, kernelWithin)
	defer cancel()
	text := servers.ProbeKernel(within, conn)
	if text == "" {
		text = well
	}
	if circuit.Wait(); state != safety.Closed {
		text += "; the circuit is " + string(state)
	}
	return text
}
