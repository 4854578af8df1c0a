package safety

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/phase"
)

func (b *Breaker) failuresKey() string  { return b.Prefix + ":failures" }
func (b *Breaker) probesKey() string    { return b.Prefix + ":probes" }
func (b *Breaker) successesKey() string { return b.Prefix + ":successes" }

// kept is how long the shared counter outlives the time open. Failures in a row have no age, and half-open ends with
// an answer; this only keeps a circuit that nobody asks any more from lying about for ever.
const kept = 30 * 24 * time.Hour

// seen is what the shared counter says.
type seen struct {
	state State
	count int64
	ttl   time.Duration // what is left of it
}

// unchanged says whether the counter is still what it was.
func (s *seen) unchanged(n int64) bool { return n == s.count }

// left is what is left of the failures that fill the budget.
func (s *seen) left() time.Duration {
	if s.state == Closed {
		return 0
	}
	return s.ttl
}

// bounded is the context of one Redis operation.
func (b *Breaker) bounded(ctx context.Context, p phase.Phase) (context.Context, context.CancelFunc) {
	return context.WithTimeout(phase.With(ctx, phase.From(ctx).Job, p), b.Timeout)
}

// look reads the shared counter.
func (b *Breaker) look(ctx context.Context) (seen, error) {
	ctx, cancel := b.bounded(ctx, phase.BreakerRead)
	defer cancel()
	var failures *redis.StringCmd
	var ttl *redis.DurationCmd
	_, err := b.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		failures, ttl = p.Get(ctx, b.failuresKey()), p.PTTL(ctx, b.failuresKey())
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return seen{}, err
	}
	n, err := count(failures)
	if err != nil {
		return seen{}, err
	}
	s := seen{state: Closed, count: n, ttl: ttl.Val()}
	switch {
	case n < int64(b.FailBudget):
	case s.ttl < 0: // somebody else's write: it would never end
		if err := b.forget(ctx, s.unchanged); err != nil {
			b.warn(ctx, "counter of failures without a TTL not deleted", err)
		}
	case s.ttl > kept:
		s.state = Open
	default:
		s.state = HalfOpen
	}
	return s, nil
}

// claim counts a probe before it goes out, in the window that was seen. A probe that cannot be counted does
// not go out. Probes that nobody hears of any more are forgotten OpenFor after the last of them.
func (b *Breaker) claim(ctx context.Context, was seen) error {
	ctx, cancel := b.bounded(ctx, phase.BreakerProbe)
	defer cancel()
	var nth int64
	err := b.within(ctx, was.unchanged, b.probesKey(), func(tx *redis.Tx, probes int64) error {
		if nth = probes + 1; nth > int64(b.HalfOpenMax) {
			return nil
		}
		var n *redis.IntCmd
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			n = p.Incr(ctx, b.probesKey())
			p.PExpire(ctx, b.probesKey(), b.OpenFor)
			return nil
		})
		nth = n.Val()
		return err
	})
	switch {
	case moved(err):
		return b.refuse(": its state has just changed")
	case err != nil:
		b.warn(ctx, "probe not counted, and not sent", err)
		return b.refuse(": half-open, and its probes cannot be counted")
	case nth > int64(b.HalfOpenMax):
		return b.refuse(": half-open, and its probes are used up")
	}
	return nil
}

// errMoved says that the shared counter is no longer what it was when the call got its leave.
var errMoved = errors.New("the circuit's state has changed")

// moved says whether an error is that the counters have changed, before they were looked at or between that and the write.
func moved(err error) bool { return errors.Is(err, errMoved) || errors.Is(err, redis.TxFailedErr) }

// within calls fn with another counter's value in a WATCH of the shared one, if that is as it has to be. A half-open
// window is one value of it.
func (b *Breaker) within(ctx context.Context, fits func(n int64) bool, other string, fn func(tx *redis.Tx, n int64) error, alsoWatched ...string) error {
	return b.Redis.Watch(ctx, func(tx *redis.Tx) error {
		var failures, counted *redis.StringCmd
		_, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
			failures, counted = p.Get(ctx, b.failuresKey()), p.Get(ctx, other)
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		now, err := count(failures)
		if err != nil {
			return err
		}
		n, err := count(counted)
		if err != nil {
			return err
		}
		if !fits(now) {
			return errMoved
		}
		return fn(tx, n)
	}, append(alsoWatched, b.failuresKey())...)
}

// persistently makes a try anew while somebody else's write comes between, which is seldom and soon over.
func persistently(times int, try func() error) error {
	err := try()
	for ; times > 0 && errors.Is(err, redis.TxFailedErr); times-- {
		err = try()
	}
	return err
}

// count reads a counter; one that is not there is 0.
func count(get *redis.StringCmd) (int64, error) {
	text, err := get.Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// countFailure counts a failure for all replicas. The one that fills the budget opens the circuit, as does
// any in half-open; in both the time runs anew, and the probes are counted anew.
func (b *Breaker) countFailure(ctx context.Context) error {
	ctx, cancel := b.bounded(ctx, phase.BreakerWrite)
	defer cancel()
	var n *redis.IntCmd
	_, err := b.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		n = p.Incr(ctx, b.failuresKey())
		p.PExpire(ctx, b.failuresKey(), b.OpenFor+kept)
		if b.SharedProbes {
			p.Del(ctx, b.probesKey(), b.successesKey())
		}
		return nil
	})
	if err == nil && n.Val() >= int64(b.FailBudget) {
		b.saw(b.OpenFor + kept)
	}
	return err
}

// forget ends a row of failures, if their counter is as it has to be still: it closes the circuit, or leaves it closed.
func (b *Breaker) forget(ctx context.Context, fits func(n int64) bool) error {
	ctx, cancel := b.bounded(ctx, phase.BreakerWrite)
	defer cancel()
	err := persistently(b.FailBudget, func() error {
		return b.within(ctx, fits, b.successesKey(), func(tx *redis.Tx, _ int64) error {
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				b.clear(ctx, p)
				return nil
			})
			return err
		})
	})
	if err == nil {
		b.saw(0)
	}
	return ignoreMoved(err)
}

func (b *Breaker) clear(ctx context.Context, p redis.Pipeliner) {
	p.Del(ctx, b.failuresKey())
	if b.SharedProbes {
		p.Del(ctx, b.probesKey(), b.successesKey())
	}
}

// countSuccess counts a probe's success for all replicas, and closes the circuit if that is enough.
func (b *Breaker) countSuccess(ctx context.Context, won pass) error {
	ctx, cancel := b.bounded(ctx, phase.BreakerWrite)
	defer cancel()
	closes := false
	err := persistently(b.HalfOpenMax, func() error { // another probe's success may come between
		return b.within(ctx, won.unchanged, b.successesKey(), func(tx *redis.Tx, n int64) error {
			closes = n+1 >= int64(b.CloseAfter)
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				if closes {
					b.clear(ctx, p)
					return nil
				}
				p.Incr(ctx, b.successesKey())
				p.PExpire(ctx, b.successesKey(), won.ttl)
				return nil
			})
			return err
		}, b.successesKey())
	})
	if err == nil && closes {
		b.saw(0)
	}
	return ignoreMoved(err)
}

// ignoreMoved takes it for no error that there was nothing left to count in.
func ignoreMoved(err error) error {
	if moved(err) {
		return nil
	}
	return err
}
