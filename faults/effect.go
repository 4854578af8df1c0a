package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/wavetank-sim/wavetank/sim"
)

func strike(ctx context.Context, do Effect, op *sim.Op, apply func() error) error {
	switch do {
	case FailBefore:
		return injected(op, true)
	case FailAfter:
		if err := apply(); err != nil {
			return err
		}
		return injected(op, false)
	case Hang:
		<-ctx.Done()
		return op.Return(ctx.Err())
	case Duplicate:
		if err := apply(); err != nil {
			return err
		}
		return op.Redeliver()
	case Lose:
		if op.Name == sim.NameDoubleAck {
			return wait(ctx, op, apiTimeout, context.DeadlineExceeded)
		}
		return nil
	}
	return fmt.Errorf("faults: %q is no effect on an operation", do)
}

// How long the client library waits for NATS where its caller sets no limit.
const (
	apiTimeout = 5 * time.Second  // for the answer to a call
	pullSilent = 10 * time.Second // for a sign of life of a pull: two heartbeats
)

// wait lets the caller of op wait until its own deadline, or until limit if it has none.
func wait(ctx context.Context, op *sim.Op, limit time.Duration, err error) error {
	if _, has := ctx.Deadline(); !has {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, err)
		defer stop()
	}
	<-ctx.Done()
	return op.Return(injectedError{context.Cause(ctx)})
}

// late holds op up. What reads changes nothing by being late.
func (in *Injector) late(op *sim.Op, a *armed, fired int, apply func() error) error {
	in.under++
	a.away++
	done := func() {
		in.under--
		a.away--
		in.fired[fired].Until = op.World().Now()
	}
	if !op.Late(a.For, apply, done) {
		done()
	}
	return injectedError{context.DeadlineExceeded}
}

// errInjected marks the errors that faults make. Their text is what the client library's would be.
var errInjected = errors.New("injected")

type injectedError struct{ error }

func (injectedError) Is(target error) bool { return target == errInjected }

func (e injectedError) Unwrap() error { return e.error }

// Injected says whether err was made by a fault.
func Injected(err error) bool { return errors.Is(err, errInjected) }

// injected is what the client library returns when a connection cannot be made (before) or is lost
// while the answer is awaited (after).
func injected(op *sim.Op, before bool) error {
	switch {
	case op.Kind == sim.KindRedis && before:
		return injectedError{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
	case op.Kind == sim.KindRedis:
		return injectedError{&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}
	case before:
		return injectedError{nats.ErrConnectionClosed}
	}
	return injectedError{nats.ErrTimeout}
}
