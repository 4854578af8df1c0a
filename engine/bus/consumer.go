package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Poison is the error of a message that can never be handled.
type Poison struct {
	ReasonCode string
	Err        error
}

func (p *Poison) Error() string { return fmt.Sprintf("%s: %v", p.ReasonCode, p.Err) }

func (p *Poison) Unwrap() error { return p.Err }

// Consumer consumes one durable pull consumer. Safe, Guard, TermFirst, GivenUp, Pulled and Confirm may be left out; everything else
// is required.
type Consumer struct {
	Name       string
	Subject    string // of its messages
	Pull       jetstream.Consumer
	Reopen     func(ctx context.Context) (jetstream.Consumer, error) // after a failed pull, since the consumer may be gone
	Handlers   int                                                   // messages handled at once, and asked for in one pull
	FetchWait  time.Duration                                         // of one pull
	RetryDelay time.Duration                                         // after a failed pull, and for errors that name no delay
	MaxDeliver int                                                   // deliveries after which JetStream gives a message up
	Clock      clockwork.Clock
	Logger     *slog.Logger
	Handle     func(ctx context.Context, msg jetstream.Msg) error
	Terminate  func(ctx context.Context, msg jetstream.Msg, p *Poison) error // records a poison message before it goes
	Safe       Safe                                                          // nil is at once
	TermFirst  bool                                                          // it goes before it is recorded: what cannot be recorded then is lost
	Unrecorded func(ctx context.Context) time.Duration                       // the delay of a poison message that could not be recorded
	Guard      *Guard                                                        // of messages that were handled already; nil is none
	GivenUp    func()                                                        // hears of each message whose last delivery failed: it does not come again
	Pulled     func(err error)                                               // hears how each pull ended
	Confirm    Confirm                                                       // the zero value confirms nothing: an answer that fails is logged only

	unanswered sync.WaitGroup // messages whose answer failed, and is sent again
}

type deliveriesKey struct{}

// WithDeliveries is a context of the handling of a message that was delivered n times.
func WithDeliveries(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, deliveriesKey{}, n)
}

// Deliveries is how often the message was delivered whose handler was given ctx, this time included;
// 0 if it was none.
func Deliveries(ctx context.Context) int {
	n, _ := ctx.Value(deliveriesKey{}).(int)
	return n
}

// Run consumes until ctx ends, then hands back what it has not begun, waits for the handlers in
// flight and returns. Handlers do not see the end of ctx.
func (c *Consumer) Run(ctx context.Context) {
	slots := make(chan struct{}, c.Handlers)
	defer func() {
		for range c.Handlers { // all slots at once: no handler is left
			slots <- struct{}{}
		}
		c.unanswered.Wait()
	}()
	for ctx.Err() == nil {
		err := c.pull(ctx, slots)
		if c.Pulled != nil {
			c.Pulled(err)
		}
		if err != nil && ctx.Err() == nil {
			c.Logger.LogAttrs(ctx, slog.LevelWarn, "pull failed", slog.String("consumer", c.Name), slog.Any("error", err))
			c.recover(ctx)
		}
	}
}

// pull asks for one batch and starts a handler for each of its messages as they come.
func (c *Consumer) pull(ctx context.Context, slots chan struct{}) error {
	batch, err := c.Pull.Fetch(c.Handlers, jetstream.FetchMaxWait(c.FetchWait))
	if err != nil {
		return err
	}
	for {
		// A slot comes first: no message is taken that nobody is free to handle.
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			c.handBack(batch)
			return nil
		}
		select {
		case msg, ok := <-batch.Messages():
			if !ok {
				<-slots
				return batch.Error()
			}
			go func() {
				defer func() { <-slots }()
				c.settle(ctx, msg)
			}()
		case <-ctx.Done():
			<-slots
			c.handBack(batch)
			return nil
		}
	}
}

// quiet is for how long nothing must have come of a pull that is being given up before Run may end.
const quiet = 250 * time.Millisecond

// handBack returns messages that were pulled and not begun, so that another replica gets them soon and
// not after AckWait. The server has the pull open until it expires or the connection closes, and fills it meanwhile: what
// comes late is handed back in the background.
func (c *Consumer) handBack(batch jetstream.MessageBatch) {
	for {
		wait, cancel := context.WithTimeout(context.Background(), quiet)
		select {
		case msg, ok := <-batch.Messages():
			cancel()
			if !ok {
				return
			}
			giveBack(msg)
		case <-wait.Done():
			cancel()
			go func() {
				for msg := range batch.Messages() {
					giveBack(msg)
				}
			}()
			return
		}
	}
}

// giveBack waits a little, since the same pull might be given the message again. If it fails, AckWait brings it back.
func giveBack(msg jetstream.Msg) { _ = msg.NakWithDelay(2 * quiet) }

func (c *Consumer) recover(ctx context.Context) {
	if !c.wait(ctx) {
		return
	}
	pull, err := c.Reopen(ctx)
	if err != nil {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "consumer cannot be reopened", slog.String("consumer", c.Name), slog.Any("error", err))
		return
	}
	c.Pull = pull
}

// settle handles a message and answers it by the outcome. The handler does not see the end of running.
//
// After a power loss a stream may have lost messages that the file of a consumer still lists as pending. New messages
// take their sequences, and nats-server redelivers those to the consumer whatever their subject is (2.15.2, filestore.go:
// ForceUpdate). So a message of another subject is acknowledged and not handled: its own consumer delivers it, too.
func (c *Consumer) settle(running context.Context, msg jetstream.Msg) {
	d := &delivery{msg, c.Clock.Now()}
	if md, err := msg.Metadata(); err == nil {
		running = WithDeliveries(running, int(md.NumDelivered))
	}
	ctx := context.WithoutCancel(running)
	if !Covered(msg.Subject(), []string{c.Subject}) {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "message of another consumer passed over", slog.String("consumer", c.Name), slog.String("subject", msg.Subject()))
		c.ack(running, d)
		return
	}
	guard := c.Guard.watch(msg)
	if guard.done(ctx) {
		c.Logger.LogAttrs(ctx, slog.LevelInfo, "message was handled before",
			slog.String("consumer", c.Name), slog.String("job_id", msg.Headers().Get(job.Header)))
		c.ack(running, d)
		return
	}
	safe := c.since(ctx, msg)
	err := c.Handle(ctx, msg)
	poison, ends := errors.AsType[*Poison](err)
	if err == nil {
		err = safe(ctx)
	}
	switch {
	case err == nil:
		guard.finish(ctx)
		c.ack(running, d)
	case ends:
		guard.leave(ctx)
		c.terminate(running, d, poison, safe)
	default:
		guard.leave(ctx)
		c.nak(running, d, c.delay(err), err)
	}
}

// Safe begins the handling of a message. What was written for it is safe once confirm returns nil: then it may be acknowledged.
type Safe func(ctx context.Context, jobID string) (confirm func(context.Context) error)

func (c *Consumer) since(ctx context.Context, msg jetstream.Msg) func(context.Context) error {
	if c.Safe == nil {
		return func(context.Context) error { return nil }
	}
	return c.Safe(ctx, msg.Headers().Get(job.Header))
}

// terminate records the message, then ends it; the other order can lose it between the two.
func (c *Consumer) terminate(running context.Context, d *delivery, p *Poison, safe func(context.Context) error) {
	ctx := context.WithoutCancel(running)
	if c.TermFirst {
		c.answer(running, d, "term", d.Term)
		if err := c.Terminate(ctx, d.Msg, p); err != nil {
			c.Logger.LogAttrs(ctx, slog.LevelError, "terminated message lost",
				slog.String("consumer", c.Name), slog.String("job_id", d.Headers().Get(job.Header)), slog.Any("error", errors.Join(p, err)))
		}
		return
	}
	err := c.Terminate(ctx, d.Msg, p)
	if err == nil {
		err = safe(ctx)
	}
	if err != nil {
		c.nak(running, d, c.Unrecorded(ctx), errors.Join(p, err))
		return
	}
	c.Logger.LogAttrs(ctx, slog.LevelError, "message terminated",
		slog.String("consumer", c.Name), slog.String("job_id", d.Headers().Get(job.Header)), slog.Any("error", p))
	c.answer(running, d, "term", d.Term)
}

func (c *Consumer) nak(running context.Context, d *delivery, delay time.Duration, cause error) {
	if md, err := d.Metadata(); err == nil && md.NumDelivered >= uint64(c.MaxDeliver) {
		c.Logger.LogAttrs(running, slog.LevelError, "message given up after its last delivery",
			slog.String("consumer", c.Name), slog.String("job_id", d.Headers().Get(job.Header)),
			slog.Uint64("deliveries", md.NumDelivered), slog.Any("error", cause))
		if c.GivenUp != nil {
			c.GivenUp()
		}
	}
	c.answer(running, d, "nak", func() error { return d.NakWithDelay(delay) })
}

// delay is what the error itself asks for, if it does.
func (c *Consumer) delay(err error) time.Duration {
	var r interface{ RetryDelay() time.Duration }
	if errors.As(err, &r) {
		return r.RetryDelay()
	}
	return c.RetryDelay
}
