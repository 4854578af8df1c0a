package bus_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
)

// message records how it was acknowledged.
type message struct {
	jetstream.Msg
	id        string
	delivered uint64
	said      chan string
	err       error
	stream    string
	seq       uint64
	at        time.Time
	nowhere   bool // it has no metadata
	subject   string
	acking    func()
}

func (m *message) say(s string) error { m.said <- m.id + " " + s; return m.err }

func (m *message) Subject() string      { return cmp.Or(m.subject, "test.messages") }
func (m *message) Headers() nats.Header { return nats.Header{"Job-Id": {m.id}} }
func (m *message) Metadata() (*jetstream.MsgMetadata, error) {
	if m.nowhere {
		return nil, errors.New("not a JetStream message")
	}
	return &jetstream.MsgMetadata{NumDelivered: m.delivered, Stream: m.stream, Sequence: jetstream.SequencePair{Stream: m.seq}, Timestamp: m.at}, nil
}
func (m *message) Ack() error {
	if m.acking != nil {
		m.acking()
	}
	return m.say("ack")
}
func (m *message) Nak() error                         { return m.say("nak") }
func (m *message) NakWithDelay(d time.Duration) error { return m.say("nak " + d.String()) }
func (m *message) Term() error                        { return m.say("term") }

// source is a pull consumer that serves what the test puts into it.
type source struct {
	jetstream.Consumer
	batches chan *batch
	asked   chan int
}

type batch struct {
	messages chan jetstream.Msg
	err      error
}

func (b *batch) Messages() <-chan jetstream.Msg { return b.messages }
func (b *batch) Error() error                   { return b.err }

func (s *source) Fetch(n int, _ ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	s.asked <- n
	b := <-s.batches
	if b == nil {
		return nil, errors.New("not connected")
	}
	return b, nil
}

type harness struct {
	bus.Consumer
	source *source
	said   chan string
	clock  *clockwork.FakeClock
	cancel context.CancelFunc
	ended  chan struct{}
}

func newHarness(t *testing.T, handlers int) *harness {
	h := &harness{
		source: &source{batches: make(chan *batch, 10), asked: make(chan int, 10)},
		said:   make(chan string, 100), clock: clockwork.NewFakeClock(), ended: make(chan struct{}),
	}
	h.Consumer = bus.Consumer{
		Name: "test", Subject: "test.messages", Pull: h.source, Handlers: handlers, FetchWait: time.Second, RetryDelay: time.Second, MaxDeliver: 100,
		Clock: h.clock, Logger: slog.New(slog.DiscardHandler),
		Reopen:     func(context.Context) (jetstream.Consumer, error) { return h.source, nil },
		Handle:     func(context.Context, jetstream.Msg) error { return nil },
		Terminate:  func(context.Context, jetstream.Msg, *bus.Poison) error { return nil },
		Unrecorded: func(context.Context) time.Duration { return 5 * time.Second },
	}
	return h
}

func (h *harness) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h.cancel = cancel
	go func() { defer close(h.ended); h.Run(ctx) }()
}

// stop ends a consumer that waits in a batch or for a slot.
func (h *harness) stop() {
	h.cancel()
	<-h.ended
}

// serve hands out one batch, which stays open unless it is ended.
func (h *harness) serve(ids ...string) *batch {
	b := &batch{messages: make(chan jetstream.Msg, 100)}
	for _, id := range ids {
		b.messages <- &message{id: id, said: h.said}
	}
	h.source.batches <- b
	return b
}

type later time.Duration

func (l later) Error() string             { return "later" }
func (l later) RetryDelay() time.Duration { return time.Duration(l) }

func TestOutcomes(t *testing.T) {
	poison := &bus.Poison{ReasonCode: "parse_error", Err: errors.New("not JSON")}
	for name, c := range map[string]struct {
		handle    error
		terminate error
		want      []string
	}{
		"done":                           {nil, nil, []string{"job-1 ack"}},
		"retry after a delay":            {later(30 * time.Second), nil, []string{"job-1 nak 30s"}},
		"retry after a delay, wrapped":   {fmt.Errorf("x: %w", later(2*time.Second)), nil, []string{"job-1 nak 2s"}},
		"an error that names no delay":   {errors.New("odd"), nil, []string{"job-1 nak 1s"}},
		"poison is recorded, then ended": {poison, nil, []string{"job-1 recorded parse_error", "job-1 term"}},
		"poison that cannot be recorded": {poison, errors.New("no Redis"), []string{"job-1 recorded parse_error", "job-1 nak 5s"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, 1)
			h.Handle = func(context.Context, jetstream.Msg) error { return c.handle }
			h.Terminate = func(_ context.Context, m jetstream.Msg, p *bus.Poison) error {
				h.said <- m.Headers().Get("Job-Id") + " recorded " + p.ReasonCode
				return c.terminate
			}
			h.serve("job-1")
			h.run(t)
			for _, want := range c.want {
				assert.Equal(t, want, <-h.said)
			}
			h.stop()
			assert.Empty(t, h.said)
		})
	}
}

func TestTermFirstLosesWhatItCannotRecord(t *testing.T) {
	poison := &bus.Poison{ReasonCode: "parse_error", Err: errors.New("not JSON")}
	for _, failure := range []error{nil, errors.New("no Redis")} {
		h := newHarness(t, 1)
		var log bytes.Buffer
		h.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h.TermFirst = true
		h.Handle = func(context.Context, jetstream.Msg) error { return poison }
		h.Terminate = func(_ context.Context, m jetstream.Msg, p *bus.Poison) error {
			h.said <- m.Headers().Get("Job-Id") + " recorded " + p.ReasonCode
			return failure
		}
		h.serve("job-1")
		h.run(t)
		assert.Equal(t, "job-1 term", <-h.said)
		assert.Equal(t, "job-1 recorded parse_error", <-h.said)
		h.stop()
		assert.Empty(t, h.said)
		assert.Equal(t, failure != nil, strings.Contains(log.String(), "terminated message lost"))
	}
}

// What nats-server hands out in a lost message's place is not handled as if it were that one.
func TestAMessageOfAnotherConsumerIsPassedOver(t *testing.T) {
	h := newHarness(t, 1)
	var log bytes.Buffer
	h.Logger = slog.New(slog.NewTextHandler(&log, nil))
	h.Handle = func(context.Context, jetstream.Msg) error { return later(time.Second) }
	b := h.serve()
	b.messages <- &message{id: "job-1", said: h.said, subject: "test.others"}
	b.messages <- &message{id: "job-2", said: h.said}
	h.run(t)
	assert.Equal(t, "job-1 ack", <-h.said)
	assert.Equal(t, "job-2 nak 1s", <-h.said)
	h.stop()
	assert.Contains(t, log.String(), "message of another consumer passed over")
}

func TestAHandlerKnowsHowOftenItsMessageWasDelivered(t *testing.T) {
	h := newHarness(t, 1)
	h.Handle = func(ctx context.Context, _ jetstream.Msg) error { return later(bus.Deliveries(ctx)) }
	h.serve().messages <- &message{id: "job-1", said: h.said, delivered: 7}
	h.run(t)
	assert.Equal(t, "job-1 nak 7ns", <-h.said)
	h.stop()
	assert.Zero(t, bus.Deliveries(t.Context()))
}

func TestPoisonIsItsCause(t *testing.T) {
	cause := errors.New("not JSON")
	p := &bus.Poison{ReasonCode: "parse_error", Err: cause}
	assert.ErrorIs(t, p, cause)
	assert.EqualError(t, p, "parse_error: not JSON")
}

func TestAFailedAckIsNotFatal(t *testing.T) {
	h := newHarness(t, 1)
	b := h.serve()
	b.messages <- &message{id: "job-1", said: h.said, err: errors.New("disconnected")}
	b.messages <- &message{id: "job-2", said: h.said}
	h.run(t)
	assert.Equal(t, "job-1 ack", <-h.said)
	assert.Equal(t, "job-2 ack", <-h.said)
	h.stop()
}

func TestTheLastDeliveryIsTold(t *testing.T) {
	for delivered, logged := range map[uint64]bool{99: false, 100: true} {
		h := newHarness(t, 1)
		var log bytes.Buffer
		h.Logger = slog.New(slog.NewTextHandler(&log, nil))
		var givenUp atomic.Bool
		h.GivenUp = func() { givenUp.Store(true) }
		h.Handle = func(context.Context, jetstream.Msg) error { return later(time.Second) }
		h.serve().messages <- &message{id: "job-1", said: h.said, delivered: delivered}
		h.run(t)
		assert.Equal(t, "job-1 nak 1s", <-h.said)
		h.stop()
		assert.Equal(t, logged, strings.Contains(log.String(), "message given up after its last delivery"))
		assert.Equal(t, logged, givenUp.Load())
	}
}

func TestHandlersAreBounded(t *testing.T) {
	h := newHarness(t, 3)
	var active, most atomic.Int32
	begun, release := make(chan struct{}, 10), make(chan struct{})
	h.Handle = func(context.Context, jetstream.Msg) error {
		n := active.Add(1)
		defer active.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		begun <- struct{}{}
		<-release
		return nil
	}
	b := h.serve("1", "2", "3", "4", "5", "6", "7")
	h.run(t)
	assert.Equal(t, 3, <-h.source.asked, "a pull asks for as many as there are handlers")
	for range 3 {
		<-begun
	}
	assert.Len(t, b.messages, 4, "the rest waits in the batch")
	close(release)
	for range 7 {
		<-h.said
	}
	h.stop()
	assert.EqualValues(t, 3, most.Load())
}

func TestStopWaitsForHandlersAndHandsBackTheRest(t *testing.T) {
	h := newHarness(t, 1)
	begun, release := make(chan struct{}), make(chan struct{})
	h.Handle = func(ctx context.Context, _ jetstream.Msg) error {
		close(begun)
		<-release
		return ctx.Err() // handlers do not see the end
	}
	open := h.serve("job-1", "job-2", "job-3")
	h.run(t)
	<-begun
	h.cancel()
	assert.Equal(t, "job-2 nak 500ms", <-h.said)
	assert.Equal(t, "job-3 nak 500ms", <-h.said)
	open.messages <- &message{id: "job-4", said: h.said}
	assert.Equal(t, "job-4 nak 500ms", <-h.said, "the server has the pull open still")
	select {
	case <-h.ended:
		t.Error("stopped before its handler")
	default:
	}
	close(release)
	assert.Equal(t, "job-1 ack", <-h.said)
	h.stop()
}

// A consumer that stops may wait for its handlers for long, and the server gives messages to its open pull all the while.
func TestWhatComesLateToAStoppedConsumerIsHandedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, 1)
		begun, release := make(chan struct{}), make(chan struct{})
		h.Handle = func(context.Context, jetstream.Msg) error {
			close(begun)
			<-release
			return nil
		}
		open := h.serve("job-1")
		h.run(t)
		<-begun
		h.cancel()
		time.Sleep(10 * time.Second)
		open.messages <- &message{id: "job-2", said: h.said}
		time.Sleep(10 * time.Second)
		open.messages <- &message{id: "job-3", said: h.said}
		synctest.Wait()
		require.Len(t, h.said, 2)
		assert.Equal(t, "job-2 nak 500ms", <-h.said)
		assert.Equal(t, "job-3 nak 500ms", <-h.said)
		close(release)
		assert.Equal(t, "job-1 ack", <-h.said)
		h.stop()
		close(open.messages) // the pull has expired
	})
}

func TestAnEndedBatchIsFollowedByAnother(t *testing.T) {
	h := newHarness(t, 2)
	close(h.serve().messages)
	close(h.serve("job-1").messages)
	h.serve("job-2")
	h.run(t)
	got := []string{<-h.said, <-h.said}
	assert.ElementsMatch(t, []string{"job-1 ack", "job-2 ack"}, got)
	h.stop()
}

func TestAFailedPullIsRetriedOnAReopenedConsumer(t *testing.T) {
	for name, fail := range map[string]func(h *harness){
		"the pull":  func(h *harness) { h.source.batches <- nil },
		"the batch": func(h *harness) { b := h.serve(); b.err = jetstream.ErrConsumerDeleted; close(b.messages) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, 1)
			again := &source{batches: make(chan *batch, 1), asked: make(chan int, 1)}
			reopens := 0
			h.Reopen = func(context.Context) (jetstream.Consumer, error) {
				if reopens++; reopens == 1 {
					return nil, errors.New("still away")
				}
				return again, nil
			}
			fail(h)
			h.run(t)
			require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1))
			fail(h) // the reopening fails: the old consumer is asked again
			h.clock.Advance(time.Second)
			<-h.source.asked
			<-h.source.asked
			require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1))
			again.batches <- func() *batch {
				b := &batch{messages: make(chan jetstream.Msg, 1)}
				b.messages <- &message{id: "job-1", said: h.said}
				return b
			}()
			h.clock.Advance(time.Second)
			assert.Equal(t, "job-1 ack", <-h.said)
			h.stop()
		})
	}
}

func TestStopWhileWaitingToReopen(t *testing.T) {
	h := newHarness(t, 1)
	h.source.batches <- nil
	h.run(t)
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1))
	h.stop()
}
