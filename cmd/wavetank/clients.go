package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/bus"
)

// clients are connections to servers that run.
type clients struct {
	redis *redis.Client
	nats  *nats.Conn // nil until it is made
	js    jetstream.JetStream
}

// errNoStream is what an error of connect is where no scheduler has made its streams.
var errNoStream = errors.New("no stream")

// reach connects a command to both servers, until stop. The context that it returns ends with Ctrl-C, too.
func (f *serverFlags) reach(ctx context.Context, name string) (_ context.Context, c *clients, stop func(), err error) {
	f.orEmbedded()
	if err := f.checkURLs(); err != nil {
		return nil, nil, nil, err
	}
	ctx, end := interruptible(ctx, func() {})
	if c, err = f.connect(ctx, name, writes); err != nil {
		end()
		return nil, nil, nil, err
	}
	return ctx, c, func() { c.close(); end() }, nil
}

// reachRedis connects a command that only reads to Redis, until stop. The context that it returns ends with
// Ctrl-C, too.
func (f *serverFlags) reachRedis(ctx context.Context) (_ context.Context, client *redis.Client, stop func(), err error) {
	f.orEmbedded()
	ctx, end := interruptible(ctx, func() {})
	if client, err = f.openRedis(ctx, slog.New(slog.DiscardHandler), reads); err != nil {
		end()
		return nil, nil, nil, err
	}
	return ctx, client, func() { _ = client.Close(); end() }, nil
}

// whoever is the name by which a person's decision goes on record.
func whoever(by string) string {
	if by != "" {
		return by
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator"
}

// connect reaches both servers, and makes sure that a scheduler has made its streams.
func (f *serverFlags) connect(ctx context.Context, name string, to access) (*clients, error) {
	log := slog.New(slog.DiscardHandler) // what goes wrong, calls say
	redis, err := f.openRedis(ctx, log, to)
	if err != nil {
		return nil, err
	}
	c := &clients{redis: redis}
	if c.nats, c.js, err = f.openNATS(ctx, name, log); err == nil {
		err = f.findStreams(ctx, c.js)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (f *serverFlags) findStreams(ctx context.Context, js jetstream.JetStream) error {
	for _, name := range []string{bus.StreamSys, bus.StreamJobs} {
		_, err := js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			text := fmt.Sprintf("NATS at %s has no stream %s, which a scheduler makes; run `wavetank scheduler` against it first", public(f.natsURL), name)
			return &exitError{code: exitUsage, text: text, is: errNoStream}
		case err != nil:
			return noJetStream(f.natsURL, err)
		}
	}
	return nil
}

func (c *clients) close() {
	if c.nats != nil {
		c.nats.Close()
	}
	_ = c.redis.Close()
}
