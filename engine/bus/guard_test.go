package bus_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

// calls notes the phase, job and command of every call.
type calls struct {
	mu   sync.Mutex
	said []string
}

func (c *calls) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.note(ctx, cmd); return next(ctx, cmd) }
}

func (c *calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.note(ctx, cmds[0]); return next(ctx, cmds) }
}

func (c *calls) note(ctx context.Context, cmd redis.Cmder) {
	if cmd.Name() == "hello" || cmd.Name() == "client" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	tag := phase.From(ctx)
	c.said = append(c.said, string(tag.Phase)+" "+tag.Job+" "+cmd.Name())
}

// guarded returns a harness whose messages a guard watches, as message 42 of CORDUM_JOBS.
func guarded(t *testing.T) (*harness, *miniredis.Miniredis, *calls) {
	h := newHarness(t, 1)
	server, c := miniredis.RunT(t), &calls{}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(c)
	h.Guard = &bus.Guard{Redis: client, ProcessedTTL: 10 * time.Minute, InflightTTL: 2 * time.Minute, Timeout: time.Minute, Logger: h.Logger}
	return h, server, c
}

const (
	processed = "cordum:bus:processed:CORDUM_JOBS:42"
	inflight  = "cordum:bus:inflight:CORDUM_JOBS:42"
)

func (h *harness) deliver() {
	h.serve().messages <- &message{id: "job-1", said: h.said, stream: "CORDUM_JOBS", seq: 42}
}

// Scheduler internals, section 9, idempotency guard.
func TestAHandledMessageIsNotHandledAgain(t *testing.T) {
	h, server, c := guarded(t)
	handled := 0
	h.Handle = func(context.Context, jetstream.Msg) error {
		handled++
		assert.True(t, server.Exists(inflight))
		assert.Equal(t, 2*time.Minute, server.TTL(inflight))
		assert.False(t, server.Exists(processed))
		return nil
	}
	h.serve().messages <- &message{id: "job-1", said: h.said, stream: "CORDUM_JOBS", seq: 42, acking: func() {
		assert.True(t, server.Exists(processed), "the key comes before the ack")
	}}
	h.run(t)
	assert.Equal(t, "job-1 ack", <-h.said)
	h.stop()
	assert.False(t, server.Exists(inflight))
	assert.Equal(t, 10*time.Minute, server.TTL(processed))
	assert.Equal(t, []string{"processed_read job-1 get", "inflight_write job-1 set", "processed_write job-1 multi"}, c.said)

	c.said, h.ended = nil, make(chan struct{})
	h.deliver() // the ack was lost with its replica
	h.run(t)
	assert.Equal(t, "job-1 ack", <-h.said)
	h.stop()
	assert.Equal(t, 1, handled)
	assert.Equal(t, 10*time.Minute, server.TTL(processed), "for the next delivery, too")
	assert.Equal(t, []string{"processed_read job-1 get"}, c.said)
}

// A stream that was deleted, or whose storage was lost, counts from 1 again.
func TestAnotherMessageInTheSamePlaceIsHandled(t *testing.T) {
	h, server, _ := guarded(t)
	handled := 0
	h.Handle = func(context.Context, jetstream.Msg) error { handled++; return nil }
	for _, at := range []time.Time{time.Unix(0, 1_700_000_000_000_000_001), time.Unix(0, 1_700_000_000_000_000_002)} {
		h.ended = make(chan struct{})
		h.serve().messages <- &message{id: "job-1", said: h.said, stream: "CORDUM_JOBS", seq: 42, at: at}
		h.run(t)
		assert.Equal(t, "job-1 ack", <-h.said)
		h.stop()
	}
	assert.Equal(t, 2, handled)
	value, err := server.Get(processed)
	assert.NoError(t, err)
	assert.Equal(t, "1700000000000000002", value)
}

func TestAMessageThatComesBackIsNotProcessed(t *testing.T) {
	for name, err := range map[string]error{
		"retry":  later(time.Second),
		"poison": &bus.Poison{ReasonCode: "parse_error", Err: errors.New("not JSON")},
	} {
		h, server, c := guarded(t)
		h.Handle = func(context.Context, jetstream.Msg) error { return err }
		h.deliver()
		h.run(t)
		<-h.said
		h.stop()
		assert.False(t, server.Exists(processed), name)
		assert.False(t, server.Exists(inflight), "%s: it is not being handled", name)
		assert.Equal(t, []string{"processed_read job-1 get", "inflight_write job-1 set", "inflight_write job-1 del"}, c.said, name)
	}
}

// Scheduler internals, section 9, graceful degradation.
func TestWithoutRedisMessagesAreHandledAllTheSame(t *testing.T) {
	h, server, _ := guarded(t)
	var log bytes.Buffer
	h.Guard.Logger = slog.New(slog.NewTextHandler(&log, nil))
	server.SetError("LOADING")
	h.deliver()
	h.run(t)
	assert.Equal(t, "job-1 ack", <-h.said)
	h.stop()
	assert.Equal(t, 1, strings.Count(log.String(), "message handled without its guard"), "one warning a message")
}

func TestAMessageWithoutAPlaceIsNotGuarded(t *testing.T) {
	h, _, c := guarded(t)
	h.serve().messages <- &message{id: "job-1", said: h.said, nowhere: true}
	h.run(t)
	assert.Equal(t, "job-1 ack", <-h.said)
	h.stop()
	assert.Empty(t, c.said)
}
