package scenarios

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func TestImmediateRetriesHoldNothing(t *testing.T) {
	p, err := plans.Load("stale-worker")
	require.NoError(t, err)
	held := func() (picks int, held time.Duration) {
		res, err := Run(context.Background(), p, RunOptions{Modified: true})
		require.NoError(t, err)
		for _, j := range res.Jobs {
			picks, held = picks+j.StalePicks, held+j.StaleHeld
		}
		return picks, held
	}
	picks, time := held()
	assert.Positive(t, picks)
	assert.Zero(t, time)
	require.NoError(t, p.Set("engine.stale_worker=jittered-retries"))
	_, time = held()
	assert.Positive(t, time)
}

// constant is a log whose every sentence is the same.
type constant struct{ slog.Handler }

func (c constant) Handle(ctx context.Context, rec slog.Record) error {
	rec.Message = "a sentence"
	return c.Handler.Handle(ctx, rec)
}

func (c constant) WithAttrs(attrs []slog.Attr) slog.Handler {
	return constant{c.Handler.WithAttrs(attrs)}
}

// What the engine logs changes nothing of a result.
func TestNoLogIsRead(t *testing.T) {
	for _, name := range plans.Names() {
		p, err := plans.Load(name)
		require.NoError(t, err)
		p, expects := under(t, name, p.Preset)
		mute := func(_ string, cfg *engine.Config) { cfg.Logger = slog.New(constant{cfg.Logger.Handler()}) }
		want, err := json.MarshalIndent(played(t, name, p.Preset), "", "  ")
		require.NoError(t, err)
		got, err := json.MarshalIndent(runOnce(t, p, RunOptions{Source: name, Modified: !expects, Variant: mute}), "", "  ")
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}
