package safety

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
)

// ErrOpen says that a call was not made, since the circuit is open, or half-open with its probes used up.
var ErrOpen = errors.New("circuit open")

// The prefixes of the keys of Scheduler internals, section 6.
const (
	SafetyPrefix = "cordum:cb:safety"
	OutputPrefix = "cordum:cb:safety:output"
)

// Breaker keeps calls from a service that fails (Scheduler internals, section 6). All replicas share a counter of
// failures in Redis, <prefix>:failures, which every call reads first: its value and what is left of its
// TTL are the circuit's state. The TTL is OpenFor and a month more, so that a circuit with less than the month left is
// half-open. While Redis is away each replica goes by failures of its own. All fields but Redis are required. It is safe for concurrent use.
type Breaker struct {
	Name         string                // of what is called, in errors and logs
	Redis        redis.UniversalClient // nil: the replica counts alone
	Prefix       string                // of the keys
	Clock        clockwork.Clock
	Timeout      time.Duration // of one Redis operation: storeOpTimeout of Scheduler internals
	FailBudget   int           // failures that open the circuit
	OpenFor      time.Duration
	HalfOpenMax  int  // probes in one half-open window: of all replicas with SharedProbes, else of each
	CloseAfter   int  // successes among them that close the circuit: likewise
	SharedProbes bool // counts them in Redis, in <prefix>:probes and <prefix>:successes
	Logger       *slog.Logger

	mu     sync.Mutex // never held across a call
	own    alone
	last   sight
	window window
}

// pass is leave to make one call.
type pass struct {
	seen       // of the shared counter: Closed or HalfOpen
	alone bool // that could not be read
}

// Do makes a call unless the circuit is open, which is ErrOpen, and counts how it ended. ctx carries the
// job and the phase of the call. A call that its caller gave up, or whose error is AboutRequest, counts for
// nothing.
func (b *Breaker) Do(ctx context.Context, call func(ctx context.Context) error) error {
	p, err := b.enter(ctx)
	if err != nil {
		return err
	}
	err = call(ctx)
	switch {
	case ctx.Err() != nil, AboutRequest(err):
		b.giveBack(p)
	case err != nil:
		b.failed(ctx, p)
	default:
		b.succeeded(ctx, p)
	}
	return err
}

// enter gives leave to make a call, or says that the circuit is open.
func (b *Breaker) enter(ctx context.Context) (pass, error) {
	if b.Redis == nil {
		return b.enterAlone()
	}
	seen, err := b.look(ctx)
	if err != nil {
		b.warn(ctx, "circuit state unknown, going by this replica's own failures", err)
		b.sawNothing()
		return b.enterAlone()
	}
	b.saw(seen.left())
	p := pass{seen: seen}
	switch {
	case seen.state == Open:
		return p, b.refuse("")
	case seen.state == HalfOpen && b.SharedProbes:
		return p, b.claim(ctx, seen)
	case seen.state == HalfOpen && !b.probe(seen):
		return p, b.refuse(": half-open, and this replica's probes are used up")
	}
	return p, nil
}

// State is the circuit's, as a call would find it now. It asks Redis.
func (b *Breaker) State(ctx context.Context) State {
	if b.Redis != nil {
		if seen, err := b.look(ctx); err == nil {
			return seen.state
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.own.state(b)
}

// Last is the circuit's state by what this replica saw last, and by the time since. It does no I/O.
func (b *Breaker) Last() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Redis == nil || b.last.alone {
		return b.own.state(b)
	}
	switch left := b.last.ends.Sub(b.Clock.Now()); {
	case left <= 0:
		return Closed
	case left > kept:
		return Open
	}
	return HalfOpen
}

func (b *Breaker) failed(ctx context.Context, p pass) {
	b.mu.Lock()
	b.own.fail(b)
	b.mu.Unlock()
	if b.Redis == nil || p.alone {
		return
	}
	if err := b.countFailure(ctx); err != nil {
		b.giveBack(p)
		b.warn(ctx, "failure not counted for the other replicas", err)
	}
}

func (b *Breaker) succeeded(ctx context.Context, p pass) {
	b.mu.Lock()
	b.own.succeed(b, p)
	b.mu.Unlock()
	if b.Redis == nil || p.alone {
		return
	}
	var err error
	switch {
	case p.state == HalfOpen && b.SharedProbes:
		err = b.countSuccess(ctx, p)
	case p.state == HalfOpen && b.enough():
		err = b.forget(ctx, p.unchanged)
	case p.state == Closed && p.count > 0:
		err = b.forget(ctx, func(n int64) bool { return n < int64(b.FailBudget) })
	}
	if err != nil {
		b.giveBack(p)
		b.warn(ctx, "success not counted for the other replicas", err)
	}
}
