package lock

import (
	"context"
	"errors"
	"time"

	"github.com/faultline-sim/faultline/engine/phase"
)

// Keep says what becomes of a tick's lock once the tick is over. The zero Keep leaves it to its TTL.
type Keep int

// What becomes of a tick's lock. All but Released make one owner do every tick within a TTL (seed 003,
// section 8, lock-hold pattern).
const (
	UntilExpiry Keep = iota // it stays until it expires, against its own holder's next tick too
	Renewed                 // it stays, and the holder's next tick renews it
	Released                // it is given back: whoever ticks next may have it
)

// Tick is the lock of what one replica at a time does every now and then. Its calls are tagged with
// its own phases, and no job; no Waited hears of them. It serves one goroutine.
type Tick struct {
	Locker  *Locker
	Key     string
	TTL     time.Duration
	Keep    Keep
	Acquire phase.Phase // of taking the lock, and of renewing it
	Release phase.Phase // of giving it back

	held *Lock // by what the last tick knows
}

// Begin takes the lock for one tick, or returns an error that is ErrBusy if another tick has it.
// After any other error it may have been taken; it then goes with its TTL, or serves the next Begin
// if it is one that is renewed.
func (t *Tick) Begin(ctx context.Context) error {
	if t.Keep == Renewed && t.held != nil {
		err := t.held.renew(ctx, t.Acquire)
		if !errors.Is(err, ErrNotOwner) {
			return err
		}
	}
	k, err := t.Locker.take(ctx, t.Acquire, t.Key, t.TTL)
	t.held = k
	if errors.Is(err, ErrBusy) {
		t.held = nil
	}
	return err
}

// End does with the lock what Keep says. It is called after a Begin that returned nil.
func (t *Tick) End(ctx context.Context) error {
	if t.Keep != Released {
		return nil
	}
	return t.held.release(ctx, t.Release)
}
