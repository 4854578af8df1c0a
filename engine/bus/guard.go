package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

// processedKey is the key that says that a message has been handled, by its place in its stream. Its
// value is when the stream stored the message, in unix ns: a stream that begins anew gives the place to
// another message, of another time.
func processedKey(stream string, seq uint64) string {
	return fmt.Sprintf("cordum:bus:processed:%s:%d", stream, seq)
}

// inflightKey is the key that says that a message is being handled. Nobody decides by it: it is there
// to be looked at.
func inflightKey(stream string, seq uint64) string {
	return fmt.Sprintf("cordum:bus:inflight:%s:%d", stream, seq)
}

// Guard remembers in Redis which messages have been handled, for the time between a handling's end and
// the stream's knowledge of it: a message that was handled and not acknowledged, since its replica
// crashed, is not handled again (Scheduler internals, section 9, idempotency guard). All fields are required. It
// is safe for concurrent use.
type Guard struct {
	Redis        redis.UniversalClient
	ProcessedTTL time.Duration // AckWait
	InflightTTL  time.Duration
	Timeout      time.Duration // of one operation: storeOpTimeout of Scheduler internals
	Logger       *slog.Logger
}

// guarded is one delivery under the guard. The zero guarded, of a message that has no place in a
// stream or of a consumer without a guard, remembers nothing.
type guarded struct {
	*Guard
	jobID               string
	processed, inflight string
	stored              string // the message's value at processed
	failed              bool   // Redis has failed it, and that was logged
}

func (g *Guard) watch(msg jetstream.Msg) *guarded {
	if g == nil {
		return &guarded{}
	}
	md, err := msg.Metadata()
	if err != nil {
		return &guarded{}
	}
	stream, seq := md.Stream, md.Sequence.Stream
	return &guarded{
		Guard: g, jobID: msg.Headers().Get(job.Header), processed: processedKey(stream, seq), inflight: inflightKey(stream, seq),
		stored: strconv.FormatInt(md.Timestamp.UnixNano(), 10),
	}
}

// done says whether the message has been handled before. If not, it is in flight from now on.
func (g *guarded) done(ctx context.Context) (handled bool) {
	g.call(ctx, phase.ProcessedRead, func(ctx context.Context) error {
		stored, err := g.Redis.Get(ctx, g.processed).Result()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		handled = err == nil && stored == g.stored
		return err
	})
	if !handled {
		g.call(ctx, phase.InflightWrite, func(ctx context.Context) error {
			return g.Redis.Set(ctx, g.inflight, 1, g.InflightTTL).Err()
		})
	}
	return handled
}

// finish notes that the message has been handled.
func (g *guarded) finish(ctx context.Context) {
	g.call(ctx, phase.ProcessedWrite, func(ctx context.Context) error {
		_, err := g.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, g.processed, g.stored, g.ProcessedTTL)
			p.Del(ctx, g.inflight)
			return nil
		})
		return err
	})
}

// leave notes that the message is not being handled any more, and is not handled either.
func (g *guarded) leave(ctx context.Context) {
	g.call(ctx, phase.InflightWrite, func(ctx context.Context) error { return g.Redis.Del(ctx, g.inflight).Err() })
}

// call never fails: without Redis there remains JetStream's own at least once (graceful degradation).
func (g *guarded) call(ctx context.Context, p phase.Phase, do func(ctx context.Context) error) {
	if g.Guard == nil {
		return
	}
	ctx, cancel := context.WithTimeout(phase.With(ctx, g.jobID, p), g.Timeout)
	defer cancel()
	if err := do(ctx); err != nil && !g.failed {
		g.failed = true
		g.Logger.LogAttrs(ctx, slog.LevelWarn, "message handled without its guard",
			slog.String("job_id", g.jobID), slog.String("key", g.processed), slog.Any("error", err))
	}
}
