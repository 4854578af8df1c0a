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
	log, stale := logTo(t, l)
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

// logTo writes what a scheduler process would at that time.
func logTo(t *testing.T, l *stalePicks) (log func(at time.Duration, message, id string, attempt int), stale func(at time.Duration, id string, attempt int)) {
	begin := time.Unix(0, 0)
	log = func(at time.Duration, message, id string, attempt int) {
		rec := slog.NewRecord(begin.Add(at), slog.LevelInfo, message, 0)
		rec.AddAttrs(slog.String("job_id", id), slog.Int("dispatch_attempt", attempt))
		require.NoError(t, l.Handle(context.Background(), rec))
	}
	return log, func(at time.Duration, id string, attempt int) {
		log(at, "stale worker detected, retrying dispatch", id, attempt)
	}
}

func TestACrashEndsAHandling(t *testing.T) {
	l := newStalePicks(3)
	_, stale := logTo(t, l.process())
	stale(1*time.Second, "job-1", 0)
	stale(2*time.Second, "job-1", 1)
	stale(2*time.Second, "job-2", 0)
	// The process dies, and another one's redeliveries meet no stale worker, or meet one again.
	log, stale := logTo(t, l.process())
	log(60*time.Second, "job dispatched", "job-1", 0)
	stale(60*time.Second, "job-2", 0)
	log(61*time.Second, "job dispatched", "job-2", 0)
	assert.Equal(t, map[string]int{"job-1": 2, "job-2": 2}, l.byJob)
	assert.Equal(t, map[string]time.Duration{"job-1": time.Second, "job-2": time.Second}, l.held, "the outage between is nobody's handling")
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
