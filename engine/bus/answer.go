package bus

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Confirm says how an answer to a message is seen to arrive. An ack waits for the server's word that it has it. JetStream gives
// none for a nak or a term, and these have arrived once they are sent.
type Confirm struct {
	Timeout time.Duration // of the wait for the server's word; zero confirms nothing
	AckWait time.Duration // of the messages: an answer that has not arrived by then is not sent again, since the message comes again by itself
}

// ack acknowledges a message.
func (c *Consumer) ack(running context.Context, msg jetstream.Msg) {
	if c.Confirm.Timeout == 0 {
		c.answer(running, msg, "ack", msg.Ack)
		return
	}
	c.answer(running, msg, "ack", func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(running), c.Confirm.Timeout)
		defer cancel()
		err := msg.DoubleAck(ctx)
		if errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return nil
		}
		return err
	})
}

// answer sends the answer to a message. With Confirm, one that fails is sent again until it arrives or running ends, or
// AckWait is over; its handler is free meanwhile.
func (c *Consumer) answer(running context.Context, msg jetstream.Msg, verb string, send func() error) {
	err := send()
	if err == nil {
		return
	}
	about := []slog.Attr{slog.String("consumer", c.Name), slog.String("verb", verb), slog.String("job_id", msg.Headers().Get(job.Header))}
	c.Logger.LogAttrs(running, slog.LevelWarn, "acknowledgement failed", append(about, slog.Any("error", err))...)
	if c.Confirm.Timeout == 0 {
		return
	}
	giveUp := c.Clock.Now().Add(c.Confirm.AckWait)
	c.unanswered.Go(func() {
		for c.wait(running) && c.Clock.Now().Before(giveUp) {
			if err = send(); err == nil {
				c.Logger.LogAttrs(running, slog.LevelInfo, "acknowledged after all", about...)
				return
			}
		}
		c.Logger.LogAttrs(running, slog.LevelWarn, "acknowledgement given up; the message comes again", append(about, slog.Any("error", err))...)
	})
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
