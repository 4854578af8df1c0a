package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/bus"
)

// Clients are connections to servers that run.
type Clients struct {
	Redis  *redis.Client
	nats   *nats.Conn // nil until it is made
	JS     jetstream.JetStream
	Client *engine.Client
}

// ErrNoStream is what an error of connect is where no scheduler has made its streams.
var ErrNoStream = errors.New("no stream")

// Reach connects a command to both servers, until stop. The context that it returns ends with Ctrl-C, too.
func (f *Flags) Reach(ctx context.Context, name string) (_ context.Context, c *Clients, stop func(), err error) {
	f.OrEmbedded()
	if err := f.CheckURLs(); err != nil {
		return nil, nil, nil, err
	}
	ctx, end := cli.Interruptible(ctx, func() {})
	if c, err = f.Connect(ctx, name, Writes); err != nil {
		end()
		return nil, nil, nil, err
	}
	return ctx, c, func() { c.Close(); end() }, nil
}

// ReachRedis connects a command that only reads to Redis, until stop. The context that it returns ends with
// Ctrl-C, too.
func (f *Flags) ReachRedis(ctx context.Context) (_ context.Context, client *redis.Client, stop func(), err error) {
	f.OrEmbedded()
	ctx, end := cli.Interruptible(ctx, func() {})
	if client, err = f.OpenRedis(ctx, slog.New(slog.DiscardHandler), Reads); err != nil {
		defer end()
		return nil, nil, nil, orInterrupted(ctx, err)
	}
	return ctx, client, func() { _ = client.Close(); end() }, nil
}

// Connect reaches both servers, and makes sure that a scheduler has made its streams.
func (f *Flags) Connect(ctx context.Context, name string, to access) (*Clients, error) {
	log := slog.New(slog.DiscardHandler) // what goes wrong, calls say
	redis, err := f.OpenRedis(ctx, log, to)
	if err != nil {
		return nil, orInterrupted(ctx, err)
	}
	c := &Clients{Redis: redis}
	if c.nats, c.JS, err = f.openNATS(ctx, name, log); err == nil {
		err = f.findStreams(ctx, c.JS)
	}
	if err == nil {
		c.Client, err = engine.NewClient(engine.ClientConfig{Redis: c.Redis, JetStream: c.JS})
	}
	if err != nil {
		c.Close()
		return nil, orInterrupted(ctx, err)
	}
	return c, nil
}

// orInterrupted is why a command could not connect.
func orInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	return err
}

func (f *Flags) findStreams(ctx context.Context, js jetstream.JetStream) error {
	for _, name := range []string{bus.StreamSys, bus.StreamJobs} {
		_, err := js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			text := fmt.Sprintf("NATS at %s has no stream %s, which a scheduler makes; run `scheduler serve` against it first", Public(f.NATSURL), name)
			return &cli.Error{Code: cli.ExitUsage, Text: text, Cause: ErrNoStream}
		case err != nil:
			return NoJetStream(f.NATSURL, err)
		}
	}
	return nil
}

// Close ends both connections.
func (c *Clients) Close() {
	if c.nats != nil {
		c.nats.Close()
	}
	_ = c.Redis.Close()
}

// CheckURLs refuses what cannot be URLs of the two servers, and what cannot be said of them, before anything is
// done with either. A URL that is not given is none of theirs.
func (f *Flags) CheckURLs() error {
	if f.RedisURL != "" {
		if _, err := f.RedisOptions(); err != nil {
			return err
		}
	}
	if f.NATSURL != "" {
		if err := checkNATS(f.NATSURL); err != nil {
			return err
		}
	}
	switch {
	case f.NATSCreds != "" && f.NATSURL == "":
		return cli.Fail(cli.ExitUsage, "--nats-creds is for a NATS that is given, but none is; give one with --nats, or leave --nats-creds out")
	case f.TLSCA != "" && !overTLS.MatchString(f.RedisURL) && !overTLS.MatchString(f.NATSURL):
		return cli.Fail(cli.ExitUsage, "--tls-ca is for TLS, but neither URL asks for TLS; write rediss:// with --redis or tls:// with --nats, or leave --tls-ca out")
	}
	if _, err := f.authority(); err != nil {
		return err
	}
	return f.checkCreds()
}
