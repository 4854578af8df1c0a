package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// ClientConfig is what a client is made of. Redis and JetStream are required.
type ClientConfig struct {
	Redis     redis.UniversalClient // the schedulers' own
	JetStream jetstream.JetStream
	Clock     clockwork.Clock   // nil is the real clock
	Settings  settings.Settings // the zero Settings are Hardened()
}

// Config is what an engine is made of. ID, Redis, JetStream and NATS are required.
type Config struct {
	ID         string                   // the replica's name, in logs and lock tokens
	Settings   settings.Settings        // the zero Settings are Hardened()
	Routing    routing.Config           // the zero Config maps job.default to the pool default
	Streams    bus.StreamOptions        // how Run makes the streams; the zero value keeps them in files, once
	Redis      redis.UniversalClient    // one Redis, not a cluster: a state write spans keys in one MULTI
	JetStream  jetstream.JetStream      //
	NATS       Conn                     // for heartbeats
	Safety     grpc.ClientConnInterface // to the safety kernel; nil asks nobody, and every job is allowed
	Output     grpc.ClientConnInterface // to the output policy; nil asks nobody
	Triage     *dlq.Policy              // what becomes of dead letters, with Settings.Replay.Enabled; nil is the default of each class of reason codes
	Ledger     dlq.Ledger               // what executions act on, asked before a replay; nil asks Redis alone
	Clock      clockwork.Clock          // nil is the real clock
	Random     Random                   // nil is crypto/rand
	Logger     *slog.Logger             // nil discards
	Registerer prometheus.Registerer    // nil exposes no metrics
	Ready      func()                   // called whenever Run has all that it takes to start, and handles messages from now on; may be nil
	Pulled     func(of string, e error) // hears how each pull of a consumer ended, nil for well, from several goroutines; may be nil
	Workflows  bool                     // it runs workflow runs: their timers, their reconciler, and what follows from the ends of their jobs
}

// Conn is what the engine needs of a *nats.Conn.
type Conn interface {
	Subscribe(subject string, cb nats.MsgHandler) (*nats.Subscription, error)
}

// Random is where jitter and lock tokens come from. The context carries the job and the phase (see
// package phase) of the call that draws.
type Random interface {
	Uint64(ctx context.Context) uint64
}

// cryptoRandom is the documented source (Scheduler internals, section 5).
type cryptoRandom struct{}

func (cryptoRandom) Uint64(context.Context) uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:])
}

// complete fills what may be left out, and says everything that is wrong, and what would be right.
func (c *Config) complete() error {
	both := ClientConfig{Redis: c.Redis, JetStream: c.JetStream, Clock: c.Clock, Settings: c.Settings}
	errs := []error{both.complete()}
	c.Clock, c.Settings = both.Clock, both.Settings
	if c.Random == nil {
		c.Random = cryptoRandom{}
	}
	if c.Ready == nil {
		c.Ready = func() {}
	}
	if c.Pulled == nil {
		c.Pulled = func(string, error) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.ID == "" {
		errs = append(errs, errors.New("no ID: give each replica a name of its own, such as its host name"))
	}
	if c.NATS == nil {
		errs = append(errs, errors.New("no NATS: pass the *nats.Conn"))
	}
	if c.Settings.Output.Enabled && c.Output == nil {
		errs = append(errs, errors.New("output.enabled is set, but there is no Output: pass a connection to the output policy, or turn it off"))
	}
	if least := MaxAgeMin(&c.Settings); c.Streams.MaxAge > 0 && c.Streams.MaxAge < least {
		errs = append(errs, fmt.Errorf("Streams.MaxAge is %v, too short: a message has to stay in its stream for as long as it may be delivered or published again; make it at least %v, or 0 for ever", c.Streams.MaxAge, least))
	}
	return errors.Join(errs...)
}

// complete fills what may be left out, and says everything that is wrong.
func (c *ClientConfig) complete() error {
	if c.Settings == (settings.Settings{}) {
		c.Settings = settings.Hardened()
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	errs := []error{checkRedis(c.Redis), c.Settings.Validate()}
	if c.JetStream == nil {
		errs = append(errs, errors.New("no JetStream: make one with jetstream.New"))
	}
	return errors.Join(errs...)
}

// replicaOf is what is waited for; nil without wait_replica.
func replicaOf(client redis.UniversalClient, s *settings.Settings) *store.Replica {
	if !s.WaitReplica {
		return nil
	}
	return &store.Replica{Redis: client, Timeout: s.StoreOpTimeout}
}

func checkRedis(client redis.UniversalClient) error {
	switch client := client.(type) {
	case nil:
		return errors.New("no Redis client: make one with redis.NewClient")
	case *redis.ClusterClient, *redis.Ring:
		return fmt.Errorf("the Redis client is a %T, which keeps job:<id> and job:index:<STATE> in different slots, where no MULTI spans them: use one Redis, or a primary that Sentinels name, with redis.NewFailoverClient", client)
	case *redis.Client:
		switch o := client.Options(); {
		case o.MaxRetries > 0:
			return fmt.Errorf("the Redis client repeats by itself what it got no answer to, up to %d times, and takes its own lock for another's and its own write for a refused one: give it MaxRetries: -1, and the engine repeats what may be repeated", o.MaxRetries)
		case !o.ContextTimeoutEnabled:
			return errors.New("the Redis client does not honour a call's deadline, such as Settings.StoreOpTimeout: give it ContextTimeoutEnabled: true")
		}
	}
	return nil
}
