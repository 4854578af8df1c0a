package lock

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
)

// WithLock runs fn while it holds the lock and returns fn's error, or TryAcquire's when fn did not
// run. Renewal, unless the locker is Unrenewed, is cancelled and drained before the release, so that
// none races with it. A failed release is logged: the TTL does the rest.
func (l *Locker) WithLock(ctx context.Context, key string, ttl time.Duration, fn func(ctx context.Context) error) error {
	k, err := l.TryAcquire(ctx, key, ttl)
	if err != nil {
		return err
	}
	defer func() {
		if err := k.Release(context.WithoutCancel(ctx)); err != nil {
			l.Logger.LogAttrs(ctx, slog.LevelWarn, "lock release failed", slog.String("key", key), slog.Any("error", err))
		}
	}()
	if !l.Unrenewed {
		defer k.keep(ctx)()
	}
	return fn(context.WithValue(ctx, heldKey{}, k))
}

type heldKey struct{}

// Held returns the lock under which WithLock called the function that was given ctx, or nil. What is
// written under it can be fenced by it: see [Watch].
func Held(ctx context.Context) *Lock {
	k, _ := ctx.Value(heldKey{}).(*Lock)
	return k
}

// Key is where the lock lives.
func (k *Lock) Key() string { return k.key }

// Watch calls fn in a WATCH of the keys and of what held is, if it is not nil. An EXEC that found one of them changed is
// ErrNotOwner. fn has a look at the lock by [Lock.Mine].
func Watch(ctx context.Context, client redis.UniversalClient, held *Lock, keys []string, fn func(tx *redis.Tx) error) error {
	if held != nil {
		keys = append(keys[:len(keys):len(keys)], held.key)
	}
	err := client.Watch(ctx, fn, keys...)
	if errors.Is(err, redis.TxFailedErr) {
		err = ErrNotOwner
	}
	return err
}

// Mine asks whose the lock is, alone or in a pipeline. The function that it returns is called once there is an answer, and fails with
// ErrNotOwner if another has the lock, or nobody. No lock is nobody else's.
func (k *Lock) Mine(ctx context.Context, c redis.Cmdable) (check func() error) {
	if k == nil {
		return func() error { return nil }
	}
	owner := c.Get(ctx, k.key)
	return func() error {
		if err := owner.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if owner.Val() != k.token {
			return ErrNotOwner
		}
		return nil
	}
}

// keep renews the lock in the background until the returned function has been called.
func (k *Lock) keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ticker := k.locker.Clock.NewTicker(k.ttl / 3)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		k.renewUntil(ctx, ticker)
	}()
	return func() {
		cancel()
		<-drained
		ticker.Stop()
	}
}

func (k *Lock) renewUntil(ctx context.Context, ticker clockwork.Ticker) {
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.Chan():
		}
		err := k.Renew(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		l := k.locker
		l.Logger.LogAttrs(ctx, slog.LevelWarn, "lock renewal failed",
			slog.String("key", k.key), slog.Int("failures", failures), slog.Any("error", err))
		if failures < l.MaxRenewalFailures {
			continue
		}
		l.Logger.LogAttrs(ctx, slog.LevelError, "lock renewal abandoned", slog.String("key", k.key), slog.Int("failures", failures))
		if l.Abandoned != nil {
			l.Abandoned()
		}
		return
	}
}
