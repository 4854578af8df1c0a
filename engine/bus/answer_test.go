package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
)

var errAway = errors.New("not connected")

// failing is a message whose first answers fail.
type failing struct {
	*message
	errs []error
}

func (f *failing) next() (err error) {
	if len(f.errs) > 0 {
		err, f.errs = f.errs[0], f.errs[1:]
	}
	return err
}

func (f *failing) DoubleAck(context.Context) error {
	_ = f.say("confirmed ack")
	return f.next()
}

func (f *failing) NakWithDelay(d time.Duration) error {
	_ = f.say("nak " + d.String())
	return f.next()
}

// holder is a stream that has one message, stored at a time.
type holder struct {
	jetstream.Stream
	at  time.Time
	err error
}

func (s *holder) GetMsg(context.Context, uint64, ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return &jetstream.RawStreamMsg{Time: s.at}, s.err
}

// confirming is a harness whose consumer confirms its answers, and the stream that it asks.
func confirming(t *testing.T) (*harness, *holder) {
	h, s := newHarness(t, 1), &holder{}
	h.Confirm = bus.Confirm{
		Timeout: time.Minute, AckWait: 10 * time.Second,
		Stream: func(context.Context) (jetstream.Stream, error) { return s, nil },
	}
	return h, s
}

// retry lets RetryDelay pass once somebody waits for it.
func (h *harness) retry(t *testing.T) {
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1))
	h.clock.Advance(h.RetryDelay)
}

func TestAnAnswerIsSentUntilItArrives(t *testing.T) {
	for name, c := range map[string]struct {
		handle error
		says   string
	}{"an ack": {nil, "job-1 confirmed ack"}, "a nak": {later(5 * time.Second), "job-1 nak 5s"}} {
		t.Run(name, func(t *testing.T) {
			h, _ := confirming(t)
			h.Handle = func(context.Context, jetstream.Msg) error { return c.handle }
			h.serve().messages <- &failing{&message{id: "job-1", said: h.said}, []error{errAway, errAway}}
			h.run(t)
			assert.Equal(t, c.says, <-h.said)
			for range 2 {
				h.retry(t)
				assert.Equal(t, c.says, <-h.said)
			}
			h.stop()
			assert.Empty(t, h.said)
		})
	}
}

func TestAHandlerIsFreeWhileItsAnswerIsSentAgain(t *testing.T) {
	h, _ := confirming(t)
	b := h.serve()
	b.messages <- &failing{&message{id: "job-1", said: h.said}, []error{errAway}}
	b.messages <- &failing{message: &message{id: "job-2", said: h.said}}
	h.run(t)
	assert.Equal(t, "job-1 confirmed ack", <-h.said)
	assert.Equal(t, "job-2 confirmed ack", <-h.said)
	h.retry(t)
	assert.Equal(t, "job-1 confirmed ack", <-h.said)
	h.stop()
}

// By then the message has come again.
func TestAnAnswerIsGivenUpAfterAckWait(t *testing.T) {
	h, _ := confirming(t)
	h.serve().messages <- &failing{&message{id: "job-1", said: h.said}, []error{errAway, errAway, errAway}}
	h.run(t)
	assert.Equal(t, "job-1 confirmed ack", <-h.said)
	h.retry(t)
	assert.Equal(t, "job-1 confirmed ack", <-h.said)
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1))
	h.clock.Advance(h.Confirm.AckWait)
	h.stop()
	assert.Empty(t, h.said)
}

func TestAStopDoesNotWaitForAnAnswerToArrive(t *testing.T) {
	h, _ := confirming(t)
	h.serve().messages <- &failing{&message{id: "job-1", said: h.said}, []error{errAway, errAway}}
	h.run(t)
	assert.Equal(t, "job-1 confirmed ack", <-h.said)
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1))
	h.stop()
	assert.Empty(t, h.said)
}

func TestWhatIsAcknowledgedAlreadyIsSo(t *testing.T) {
	h, _ := confirming(t)
	h.serve().messages <- &failing{&message{id: "job-1", said: h.said}, []error{jetstream.ErrMsgAlreadyAckd}}
	h.run(t)
	assert.Equal(t, "job-1 confirmed ack", <-h.said)
	h.stop()
	assert.Empty(t, h.said)
}

// The place of a message that a server has lost is another's by then.
func TestAnAnswerToALostMessageIsNotSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		at   time.Time
		err  error
		sent bool
	}{
		"it is there":                {sent: true},
		"another is in its place":    {at: time.Unix(1, 0)},
		"nothing is in its place":    {err: jetstream.ErrMsgNotFound},
		"the stream does not answer": {err: errAway, sent: true},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := confirming(t)
			s.at, s.err = c.at, c.err
			h.serve().messages <- &failing{&message{id: "job-1", said: h.said}, []error{errAway}}
			h.run(t)
			assert.Equal(t, "job-1 confirmed ack", <-h.said)
			h.retry(t)
			if c.sent {
				if s.err != nil {
					require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1))
					s.err = nil
					h.clock.Advance(h.RetryDelay)
				}
				assert.Equal(t, "job-1 confirmed ack", <-h.said)
			}
			h.stop()
			assert.Empty(t, h.said)
		})
	}
}
