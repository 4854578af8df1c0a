package bus

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Confirm says how an answer to a message is seen to arrive. An ack waits for the server's word that it has it. The client library
// offers no such wait for a nak or a term, which are taken to have arrived once they are sent.
type Confirm struct {
	Timeout time.Duration                                       // of the wait for the server's word; zero confirms nothing
	AckWait time.Duration                                       // of the messages: by then a message that was not answered has come again
	Stream  func(ctx context.Context) (jetstream.Stream, error) // of the messages
}

// delivery is one delivery of a message, which is to be answered.
type delivery struct {
	jetstream.Msg
	at time.Time // when its handling began
}

// ack acknowledges a message.
func (c *Consumer) ack(running context.Context, d *delivery) {
	if c.Confirm.Timeout == 0 {
		c.answer(running, d, "ack", d.Ack)
		return
	}
	c.answer(running, d, "ack", func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(running), c.Confirm.Timeout)
		defer cancel()
		err := d.DoubleAck(ctx)
		if errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return nil
		}
		return err
	})
}

// answer sends the answer to a message. With Confirm, one that fails is sent again until it arrives or running ends, or
// AckWait is over. The handler is free meanwhile.
func (c *Consumer) answer(running context.Context, d *delivery, verb string, send func() error) {
	err := send()
	if err == nil {
		return
	}
	about := []slog.Attr{slog.String("consumer", c.Name), slog.String("verb", verb), slog.String("job_id", d.Headers().Get(job.Header))}
	c.Logger.LogAttrs(running, slog.LevelWarn, "acknowledgement failed", append(about, slog.Any("error", err))...)
	if c.Confirm.Timeout == 0 {
		return
	}
	c.unanswered.Go(func() {
		place := Place{Open: c.Confirm.Stream, Msg: d.Msg}
		for c.wait(running) && c.Clock.Since(d.at) < c.Confirm.AckWait {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(running), c.Confirm.Timeout)
			err = place.Holds(ctx)
			cancel()
			if err == nil {
				err = send()
			}
			if err == nil {
				c.Logger.LogAttrs(running, slog.LevelInfo, "acknowledged after all", about...)
				return
			}
			if errors.Is(err, ErrGone) {
				break
			}
		}
		c.Logger.LogAttrs(running, slog.LevelWarn, "acknowledgement given up", append(about, slog.Any("error", err))...)
	})
}

// ErrGone is the error of a message that its stream does not hold any more.
var ErrGone = errors.New("the stream does not hold the message any more")

// Place is where a message is in its stream. A server that has lost messages with its power gives their places to others,
// and goes by the place alone when a message is answered (2.15.2, consumer.go: processAckMsgLocked). So whoever sends an
// answer again has a look first.
type Place struct {
	Open func(ctx context.Context) (jetstream.Stream, error) // its stream, once
	Msg  jetstream.Msg

	stream jetstream.Stream
}

// Holds fails if the stream cannot be asked, or, with ErrGone, if it does not hold the message there.
func (p *Place) Holds(ctx context.Context) error {
	md, err := p.Msg.Metadata()
	if err != nil {
		return err
	}
	if p.stream == nil {
		if p.stream, err = p.Open(ctx); err != nil {
			return err
		}
	}
	there, err := p.stream.GetMsg(ctx, md.Sequence.Stream)
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && !there.Time.Equal(md.Timestamp) {
		return ErrGone
	}
	return err
}

// wait lets RetryDelay pass. It says false if running has ended.
func (c *Consumer) wait(running context.Context) bool {
	timer := c.Clock.NewTimer(c.RetryDelay)
	defer timer.Stop()
	select {
	case <-running.Done():
		return false
	case <-timer.Chan():
		return true
	}
}
