package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/engine/phase"
)

// ErrRests says that the lock is not asked for, so that others have it.
var ErrRests = errors.New("after a tick that did not go well it is left to others")

// Keep says what becomes of a tick's lock once the tick is over. The zero Keep leaves it to its TTL.
type Keep int

// What becomes of a tick's lock. All but Released make one owner do every tick within a TTL (Scheduler internals,
// section 8, lock-hold pattern).
const (
	UntilExpiry Keep = iota // it stays until it expires, against its own holder's next tick too
	Renewed                 // likewise, and it is renewed: by its holder's next tick, if this one went well, and by one that goes on for long
	Released                // it is given back: whoever ticks next may have it
)

// Tick is the lock of what one replica at a time does every now and then. Its calls are tagged with
// its own phases, and no job; no Waited hears of them. It serves one goroutine.
type Tick struct {
	Locker  *Locker
	Key     string
	TTL     time.Duration // twice the time between two ticks (a poll), if it is Renewed
	Keep    Keep
	Acquire phase.Phase // of taking the lock, and of renewing it
	Release phase.Phase // of giving it back

	held  *Lock     // by what the last tick knows
	since time.Time // when it was last asked for, or renewed
	rests time.Time // until when it does not ask, after a tick that did not go well
}

// Begin takes the lock for one tick, or returns an error that is ErrBusy if another tick has it.
// After any other error it may have been taken; it then goes with its TTL, or serves the next Begin
// if it is one that is renewed. After a tick that did not go well it rests for a while (see End), and does
// not even ask: the error is ErrRests.
func (t *Tick) Begin(ctx context.Context) error {
	now := t.Locker.Clock.Now()
	if now.Before(t.rests) {
		return fmt.Errorf("%s: %w", t.Key, ErrRests)
	}
	if t.Keep == Renewed && t.held != nil {
		err := t.renew(ctx, now)
		if !errors.Is(err, ErrNotOwner) {
			return err
		}
	}
	t.since = now
	k, err := t.Locker.take(ctx, t.Acquire, t.Key, t.TTL)
	t.held = k
	if errors.Is(err, ErrBusy) {
		t.held = nil
	}
	return err
}

func (t *Tick) renew(ctx context.Context, now time.Time) error {
	err := t.held.renew(ctx, t.Acquire, t.TTL)
	if err == nil {
		t.since = now
	}
	return err
}

// Hold is called every now and then in a tick that goes on: it renews a lock that is Renewed once a third
// of its TTL has passed. After an error the lock may be another's, and the tick must end.
func (t *Tick) Hold(ctx context.Context) error {
	now := t.Locker.Clock.Now()
	if t.Keep != Renewed || now.Sub(t.since) < t.TTL/3 {
		return nil
	}
	return t.renew(ctx, now)
}

// Held returns the lock under which the tick goes on. It is called after a Begin that returned nil.
func (t *Tick) Held() *Lock { return t.held }

// End does with the lock what Keep says. It is called after a Begin that returned nil. A holder whose
// tick did not go well may be the only one that cannot do better, and a Renewed lock is not to keep the
// others from it: it goes one poll from now, so that no other begins within a poll, and its holder
// rests for one poll more. Whoever ticks once a poll has a beat in that one, and finds the lock free.
func (t *Tick) End(ctx context.Context, well bool) error {
	switch {
	case t.Keep == Released:
		return t.held.release(ctx, t.Release)
	case t.Keep == UntilExpiry || well:
		return nil
	}
	k := t.held
	t.held = nil
	err := k.renew(ctx, t.Acquire, t.TTL/2) // if it fails, the lock goes with its TTL
	t.rests = t.Locker.Clock.Now().Add(t.TTL)
	if errors.Is(err, ErrNotOwner) {
		return nil // it has gone already
	}
	return err
}
