package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/safety"
)

// What any replica would meet is no fault of the one that ticks.
func TestWhatAnyReplicaWouldMeetEndsNoTick(t *testing.T) {
	for name, spoil := range map[string]func(l *letters){
		"entry":     func(l *letters) { _ = l.redis.Set("dlq:entry:job-1", "{") },
		"request":   func(l *letters) { l.redis.HSet("job:job-1", "request", "{") },
		"throttled": func(l *letters) { l.r.Check = throttles },
		"ledger":    func(l *letters) { l.r.Ledger = away{} },
		"kernel":    func(l *letters) { l.r.Check = unavailable },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLetters(t, "")
			l.dies("timeout")
			l.visited("job-1", 1)
			spoil(l)
			w := l.worker(true)
			for range 3 {
				require.NoError(t, w.tick(t.Context()))
			}
			due, err := l.r.Queue.Due(t.Context(), 0, 10)
			require.NoError(t, err)
			assert.Equal(t, []string{"job-1"}, due)
			l.faults.on(phase.DLQEntryRead, "before")
			require.NoError(t, w.tick(t.Context()), "once may be chance")
			l.faults.on(phase.DLQEntryRead, "before")
			assert.ErrorIs(t, w.tick(t.Context()), recovery.ErrUnable, "Redis that does not answer is the replica's")
		})
	}
}

// Two entries that fail end a tick, and come after all others in the next. What is put off comes no earlier for that.
func TestEntriesThatFailKeepNobodyOut(t *testing.T) {
	l := newLetters(t, "")
	for _, id := range []string{"job-1", "job-2", "job-3"} {
		l.runs(request(id))
		require.NoError(t, l.ends(id, job.StatusFailed, "timeout"))
		l.visited(id, 1)
	}
	record := l.r.Request
	l.r.Request = func(ctx context.Context, id string) (job.Request, error) {
		if id != "job-3" {
			return job.Request{}, errors.New("it cannot be")
		}
		return record(ctx, id)
	}
	w := l.worker(true)
	require.ErrorIs(t, w.tick(t.Context()), recovery.ErrUnable)
	assert.Equal(t, dlq.Scheduled, l.entry("job-3").ReplayStatus)
	l.clock.Advance(time.Second)
	require.ErrorIs(t, w.tick(t.Context()), recovery.ErrUnable)
	assert.Equal(t, dlq.Replayed, l.entry("job-3").ReplayStatus)
	assert.Equal(t, dlq.Scheduled, l.entry("job-1").ReplayStatus)

	later := float64(l.clock.Now().Add(time.Minute).UnixMilli())
	_, err := l.redis.ZAdd("dlq:replay:due", later, "job-1")
	require.NoError(t, err)
	stays, err := l.r.Visit(t.Context(), "job-1")
	require.Error(t, err)
	assert.False(t, stays)
	score, err := l.redis.ZScore("dlq:replay:due", "job-1")
	require.NoError(t, err)
	assert.InDelta(t, later, score, 0)
}

// A person may decide on what triage has left to them while the ledger does not answer. It is asked again at each visit.
func TestALedgerThatIsAwayKeepsNoPersonOut(t *testing.T) {
	l := newLetters(t, "")
	l.r.Ledger = away{}
	l.dies("unknown_commit_state")
	w := l.worker(true)
	for range 2 {
		require.NoError(t, w.tick(t.Context()))
		e := l.entry("job-1")
		assert.Equal(t, dlq.PendingReview, e.ReplayStatus)
		assert.Equal(t, dlq.ManualReview, e.Action)
		assert.Contains(t, e.ReplayReason, "whether it has been done is not known yet")
	}
	l.r.Ledger = nil
	require.NoError(t, w.tick(t.Context()))
	assert.NotContains(t, l.entry("job-1").ReplayReason, "not known yet")
	due, err := l.r.Queue.Due(t.Context(), 0, 10)
	require.NoError(t, err)
	assert.Empty(t, due)
	l.r.Ledger = away{}
	require.NoError(t, l.r.Deny(t.Context(), "job-1", dlq.Person{Name: "ana"}, ""))
	assert.Equal(t, dlq.Denied, l.entry("job-1").ReplayStatus)
}

// An outcome counts although the answer to its write is lost.
func TestALostAnswerLosesNoCount(t *testing.T) {
	l := newLetters(t, "")
	l.dies("timeout")
	l.visited("job-1", 1)
	l.r.Check = func(context.Context, *job.Request) (safety.Verdict, error) {
		l.faults.on(phase.DLQUpdate, "ok", "ok", "after") // WATCH, GET, MULTI
		return safety.Verdict{Decision: safety.Deny}, nil
	}
	var ended []string
	l.r.Ended = func(e *dlq.Entry) { ended = append(ended, e.ReplayStatus) }
	l.visited("job-1", 1)
	assert.Equal(t, []string{dlq.Denied}, ended)
}

// away is a ledger that does not answer.
type away struct{}

func (away) Had(context.Context, string, string) (bool, error) { return false, errors.New("no answer") }

func unavailable(context.Context, *job.Request) (safety.Verdict, error) {
	return safety.Verdict{}, safety.ErrUnavailable
}

func throttles(context.Context, *job.Request) (safety.Verdict, error) {
	return safety.Verdict{Decision: safety.Throttle}, nil
}
