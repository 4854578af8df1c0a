package main

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// probeKernel asks the safety kernel nothing, and returns why it cannot be asked; "" if it can. Any answer will
// do, if only that it does not know the question.
func probeKernel(ctx context.Context, conn grpc.ClientConnInterface) string {
	_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		return "no answer in time"
	case codes.Unavailable, codes.Canceled:
		return grpcReason(status.Convert(err).Message())
	}
	return ""
}

// grpcReason is the innermost of what gRPC says of a connection, which it quotes.
func grpcReason(text string) string {
	const quotes = ` desc = "`
	if i := strings.LastIndex(text, quotes); i >= 0 {
		if inner, err := strconv.Unquote(text[i+len(quotes)-1:]); err == nil {
			text = inner
		}
	}
	text = strings.TrimPrefix(text, "transport: ")
	switch {
	case strings.HasPrefix(text, "error reading server preface"):
		text += " (does it speak TLS? then leave " + envKernelInsecure + " out)"
	case strings.Contains(text, "does not look like a TLS handshake"):
		text += " (does it speak plaintext? then set " + envKernelInsecure + "=true)"
	}
	return text
}

// probe warns of a kernel that cannot be asked when the scheduler starts. It has a connection of its own: a
// failure would have the scheduler's wait before it tries again.
func (f *safetyFlags) probe(ctx context.Context, mode settings.FailMode, log *slog.Logger) {
	conn, how, err := f.dial()
	if err != nil {
		return // it has been dialled before
	}
	defer func() { _ = conn.Close() }()
	within, cancel := context.WithTimeout(ctx, servers.AnswerWithin)
	defer cancel()
	why := probeKernel(within, conn)
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
	text := probeKernel(within, conn)
	if text == "" {
		text = well
	}
	if circuit.Wait(); state != safety.Closed {
		text += "; the circuit is " + string(state)
	}
	return text
}
