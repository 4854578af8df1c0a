package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
)

type unconfirmed struct {
	jetstream.Msg
	err error
}

func (m *unconfirmed) DoubleAck(context.Context) error { return m.err }

// An ack that nobody answers has nothing left to acknowledge; while NATS is away it may have.
func TestAnAckThatNobodyAnswersIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		givenUp bool
	}{"nobody answers": {nats.ErrNoResponders, true}, "no answer in time": {context.DeadlineExceeded, true}, "not connected": {nats.ErrConnectionReconnecting, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				w := New(Config{ConfirmAcks: true, AckWait: time.Minute})
				w.ack(ctx, nil, &Task{w: w, msg: &unconfirmed{err: c.err}})
				assert.Equal(t, c.givenUp, ctx.Err() == nil)
			})
		})
	}
}
