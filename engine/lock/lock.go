package lock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/phase"
)

// ErrBusy says that another owner holds the lock.
var ErrBusy = errors.New("lock is held by another owner")

// ErrNotOwner says that the lock expired, or has passed to another owner.
var ErrNotOwner = errors.New("lock is no longer ours")

// JobKey is the key of the lock of a job's state (Scheduler internals, section 8).
func JobKey(jobID string) string { return "cordum:scheduler:job:" + jobID }

// renewScript is the documented one: if GET key == token then PEXPIRE key ttl.
var renewScript = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)

// Locker takes locks. Unrenewed, Unchecked, Phases, Waited and Abandoned may be left out; everything else is
// required. It is safe for concurrent use.
type Locker struct {
	Redis              redis.UniversalClient
	Clock              clockwork.Clock
	Token              func(ctx context.Context) string // a value that no other owner has
	Timeout            time.Duration                    // of one operation: storeOpTimeout of Scheduler internals
	MaxRenewalFailures int                              // in a row, before renewal stops (Scheduler internals)
	Unrenewed          bool                             // WithLock renews nothing: a lock has its first TTL only
	Unchecked          bool                             // Release deletes the lock, whoever has it by now
	Phases             Phases                           // of its calls; the zero Phases are those of a job's lock
	Logger             *slog.Logger
	Waited             func(took time.Duration, failed bool) // hears how long an acquisition took, successful or not, and whether Redis failed it
	Abandoned          func()                                // hears that a renewal was given up
}

// Phases are what the calls of a locker are tagged with.
type Phases struct{ Acquire, Renew, Release phase.Phase }

func (l *Locker) phases() Phases {
	if l.Phases == (Phases{}) {
		return Phases{Acquire: phase.LockAcquire, Renew: phase.LockRenew, Release: phase.LockRelease}
	}
	return l.Phases
}

// Lock is a lock that was taken.
type Lock struct {
	locker *Locker
	key    string
	token  string
	ttl    time.Duration
	until  atomic.Pointer[time.Time] // when it expires, by the locker's clock
}

// TryAcquire takes the lock, or returns ErrBusy at once. After any other error the lock may have
// been taken; it then goes with its TTL. The calls of a lock are tagged with the job of ctx.
func (l *Locker) TryAcquire(ctx context.Context, key string, ttl time.Duration) (*Lock, error) {
	start := l.Clock.Now()
	k, err := l.take(ctx, l.phases().Acquire, key, ttl)
	if l.Waited != nil {
		l.Waited(l.Clock.Since(start), err != nil && !errors.Is(err, ErrBusy))
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

// take returns a lock after an error, too: the lock that may have been taken.
func (l *Locker) take(ctx context.Context, p phase.Phase, key string, ttl time.Duration) (*Lock, error) {
	ctx, cancel := l.op(ctx, p)
	defer cancel()
	k := &Lock{locker: l, key: key, token: l.Token(ctx), ttl: ttl}
	k.keepUntil(l.Clock.Now().Add(ttl))
	ok, err := l.Redis.SetNX(ctx, key, k.token, ttl).Result()
	if err == nil && !ok {
		err = ErrBusy
	}
	if err != nil {
		return k, fmt.Errorf("acquire lock %s: %w", key, err)
	}
	return k, nil
}

// Renew gives the lock its whole TTL again, or returns ErrNotOwner.
func (k *Lock) Renew(ctx context.Context) error { return k.renew(ctx, k.locker.phases().Renew, k.ttl) }

func (k *Lock) renew(ctx context.Context, p phase.Phase, ttl time.Duration) error {
	ctx, cancel := k.locker.op(ctx, p)
	defer cancel()
	until := k.locker.Clock.Now().Add(ttl)
	n, err := renewScript.Run(ctx, k.locker.Redis, []string{k.key}, k.token, ttl.Milliseconds()).Int()
	if err == nil && n == 0 {
		err = ErrNotOwner
		k.keepUntil(time.Unix(0, 0))
	}
	if err != nil {
		return fmt.Errorf("renew lock %s: %w", k.key, err)
	}
	k.keepUntil(until)
	return nil
}

func (k *Lock) keepUntil(t time.Time) { k.until.Store(&t) }

// Expired says whether the lock is its holder's no more, without asking Redis: its TTL has passed by the
// locker's clock, counted from before the call that took or last renewed it, or a renewal found it
// in other hands.
func (k *Lock) Expired() bool { return !k.locker.Clock.Now().Before(*k.until.Load()) }

// Release gives the lock up, or returns ErrNotOwner and leaves it to whoever has it now; if the
// locker is Unchecked, it does not look.
func (k *Lock) Release(ctx context.Context) error {
	if k.locker.Unchecked {
		return k.deleteAnyway(ctx)
	}
	return k.release(ctx, k.locker.phases().Release)
}

func (k *Lock) release(ctx context.Context, p phase.Phase) error {
	ctx, cancel := k.locker.op(ctx, p)
	defer cancel()
	err := Watch(ctx, k.locker.Redis, k, nil, func(tx *redis.Tx) error {
		if err := k.Mine(ctx, tx)(); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, k.key)
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("release lock %s: %w", k.key, err)
	}
	return nil
}

func (k *Lock) deleteAnyway(ctx context.Context) error {
	ctx, cancel := k.locker.op(ctx, k.locker.phases().Release)
	defer cancel()
	if err := k.locker.Redis.Del(ctx, k.key).Err(); err != nil {
		return fmt.Errorf("release lock %s: %w", k.key, err)
	}
	return nil
}

func (l *Locker) op(ctx context.Context, p phase.Phase) (context.Context, context.CancelFunc) {
	return context.WithTimeout(phase.With(ctx, phase.From(ctx).Job, p), l.Timeout)
}
