package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/faultline-sim/faultline/engine/bus"
)

// clients are connections to servers that run.
type clients struct {
	redis *redis.Client
	nats  *nats.Conn // nil until it is made
	js    jetstream.JetStream
}

// connect reaches both servers, and makes sure that a scheduler has made its streams.
func (f *serverFlags) connect(ctx context.Context, name string) (*clients, error) {
	log := slog.New(slog.DiscardHandler) // what goes wrong, calls say
	redis, err := f.openRedis(ctx, log)
	if err != nil {
		return nil, err
	}
	c := &clients{redis: redis}
	if c.nats, c.js, err = f.openNATS(ctx, name, log); err == nil {
		_, err = c.js.Stream(ctx, bus.StreamSys)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			err = fail(exitUsage, "NATS at %s has no stream %s, which a scheduler makes; run `faultline scheduler` against it first", public(f.natsURL), bus.StreamSys)
		case err != nil:
			err = noJetStream(f.natsURL, err)
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *clients) close() {
	if c.nats != nil {
		c.nats.Close()
	}
	_ = c.redis.Close()
}
