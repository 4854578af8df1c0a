package scenarios

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStalePicksAreReadFromTheLog(t *testing.T) {
	l := newStalePicks(3)
	begin := time.Unix(0, 0)
	log := func(at time.Duration, message, id string, attempt int) {
		rec := slog.NewRecord(begin.Add(at), slog.LevelInfo, message, 0)
		rec.AddAttrs(slog.String("job_id", id), slog.Int("dispatch_attempt", attempt))
		require.NoError(t, l.Handle(context.Background(), rec))
	}
	stale := func(at time.Duration, id string, attempt int) {
		log(at, "stale worker detected, retrying dispatch", id, attempt)
	}
	stale(1*time.Second, "job-1", 0)
	stale(2*time.Second, "job-2", 0) // another replica's
	stale(3*time.Second, "job-1", 1)
	stale(5*time.Second, "job-1", 2)
	log(6*time.Second, "retrying later", "job-1", 0)
	stale(10*time.Second, "job-1", 0)
	log(10500*time.Millisecond, "job dispatched", "job-1", 0)
	log(11*time.Second, "job dispatched", "job-3", 0)
	assert.Equal(t, map[string]int{"job-1": 4, "job-2": 1}, l.byJob)
	assert.Equal(t, map[string]int{"job-1": 1}, l.exhausted, "only the first handling met three")
	assert.Equal(t, map[string]time.Duration{"job-1": 4500 * time.Millisecond}, l.held, "to the last stale pick, or to the dispatch")
}

func TestImmediateRetriesHoldNothing(t *testing.T) {
	p, err := Load("stale-worker")
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
