package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
)

// unconfirmed is a message of which nobody confirms the ack.
type unconfirmed struct {
	jetstream.Msg
	err      error
	progress int
}

func (m *unconfirmed) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{}, nil
}

func (m *unconfirmed) DoubleAck(context.Context) error { return m.err }

func (m *unconfirmed) InProgress() error {
	m.progress++
	return nil
}

// streams are one, which holds the message, unless that is lost.
type streams struct {
	jetstream.JetStream
	of *holder
}

func (s streams) Stream(context.Context, string) (jetstream.Stream, error) { return s.of, nil }

type holder struct {
	jetstream.Stream
	lost bool
}

func (s *holder) GetMsg(context.Context, uint64, ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	if s.lost {
		return nil, jetstream.ErrMsgNotFound
	}
	return &jetstream.RawStreamMsg{}, nil
}

// An ack that nobody answers has nothing left to acknowledge, and nor has one of a lost message; while NATS is away it may have.
func TestAnAckThatNobodyAnswersIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		lost    bool
		givenUp bool
	}{
		"nobody answers":      {err: nats.ErrNoResponders, givenUp: true},
		"no answer in time":   {err: context.DeadlineExceeded, givenUp: true},
		"not connected":       {err: nats.ErrConnectionReconnecting},
		"the message is lost": {err: nats.ErrConnectionReconnecting, lost: true, givenUp: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				w := New(Config{ConfirmAcks: true, AckWait: time.Minute, JetStream: streams{of: &holder{lost: c.lost}}})
				w.ack(ctx, nil, w.task(&unconfirmed{err: c.err}))
				assert.Equal(t, c.givenUp, ctx.Err() == nil)
			})
		})
	}
}

// A worker of a pool shares its consumer: a dispatch that it does not keep goes to another, which executes the job again.
func TestADispatchIsKeptWhileItsOutputCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		w := New(Config{AckWait: time.Minute})
		msg := &unconfirmed{}
		stored := w.insist(ctx, nil, "output", w.task(msg), func(context.Context) error { return errors.New("Redis is away") })
		assert.False(t, stored)
		assert.InDelta(t, 40, msg.progress, 3, "four times in an AckWait")
	})
}
