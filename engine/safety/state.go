package safety

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/wavetank-sim/wavetank/engine/phase"
)

// State is that of a circuit (Scheduler internals, section 6).
type State string

// sight is what a replica saw last of the shared counter. The breaker's mutex guards it.
type sight struct {
	alone bool      // it cannot be read: the replica goes by failures of its own
	ends  time.Time // when the failures that fill the budget are forgotten
}

// saw notes what is left of failures that fill the budget: 0 is a closed circuit, in which no probes are out.
func (b *Breaker) saw(left time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left == 0 {
		b.window = window{}
	}
	b.last = sight{ends: b.Clock.Now().Add(left)}
}

func (b *Breaker) sawNothing() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = sight{alone: true}
}

func (b *Breaker) refuse(why string) error { return fmt.Errorf("%s %w%s", b.Name, ErrOpen, why) }

func (b *Breaker) warn(ctx context.Context, words string, err error) {
	b.Logger.LogAttrs(ctx, slog.LevelWarn, words, slog.String("circuit", b.Name),
		slog.String("job_id", phase.From(ctx).Job), slog.Any("error", err))
}

// The states of Scheduler internals.
const (
	Closed   State = "closed"    // calls go out; failures are counted, and a success forgets them
	Open     State = "open"      // none goes out
	HalfOpen State = "half-open" // a few go out as probes: a failure opens the circuit again, enough successes close it
)
