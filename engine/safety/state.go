package safety

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/phase"
)

// State is that of a circuit (Scheduler internals, section 6).
type State string

func (b *Breaker) refuse(why string) error { return fmt.Errorf("%s %w%s", b.Name, ErrOpen, why) }

func (b *Breaker) saw(s State) {
	if b.Changed != nil {
		b.Changed(s)
	}
}

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
