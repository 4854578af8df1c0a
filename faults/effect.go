package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/sim"
)

// applies says whether the effect strikes after the operation was applied.
func (e Effect) applies() bool { return e == FailAfter || e == Duplicate }

// byItself says why an effect that strikes after an operation was applied did not strike.
const byItself = "the operation failed by itself"

// failed says whether an operation was not applied. redis.Nil is an answer, not a failure.
func failed(err error) bool { return err != nil && !errors.Is(err, redis.Nil) }

// replied says whether the server answered an operation, even with a refusal: the keys of a transaction had
// changed, a publish came after another one, or the effect had been applied before.
func replied(op *sim.Op, err error) bool {
	var byRedis redis.Error
	var byJetStream *jetstream.APIError
	return err == nil || op.Refused() || errors.As(err, &byRedis) || errors.As(err, &byJetStream)
}

// strike returns what the caller of op sees. op has been applied if the effect needs that.
func strike(ctx context.Context, do Effect, op *sim.Op) error {
	switch do {
	case FailBefore:
		return injected(op, true)
	case FailAfter:
		return injected(op, false)
	case Hang:
		<-ctx.Done()
		return op.Return(ctx.Err())
	case Duplicate:
		return op.Redeliver()
	case Lose:
		if op.Name == sim.NameDoubleAck {
			return wait(ctx, op, apiTimeout, context.DeadlineExceeded)
		}
		return nil
	}
	return fmt.Errorf("faults: %q is no effect on an operation", do)
}

// How long the client library waits for NATS if its caller sets no limit.
const (
	apiTimeout = 5 * time.Second  // for the answer to a call
	pullSilent = 10 * time.Second // for a sign of life of a pull: two heartbeats
)

// wait lets op's caller wait until its own deadline, or until limit if it has none.
func wait(ctx context.Context, op *sim.Op, limit time.Duration, err error) error {
	if _, has := ctx.Deadline(); !has {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, err)
		defer stop()
	}
	<-ctx.Done()
	return op.Return(context.Cause(ctx))
}

// injected is the client library's error for a connection that cannot be made (before), or that is lost while
// the caller waits for the answer (after).
func injected(op *sim.Op, before bool) error {
	switch {
	case op.Kind == sim.KindRedis && before:
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case op.Kind == sim.KindRedis:
		return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	case before:
		return nats.ErrConnectionClosed
	}
	return nats.ErrTimeout
}
