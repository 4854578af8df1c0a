package store_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

var hasty = &job.Request{JobID: "job-1", Topic: "job.default", Budget: &job.Budget{DeadlineMS: 90_000}}

// deadline asserts what the record and the sorted set say of job-1's deadline.
func deadline(t *testing.T, s *store.Store, server *miniredis.Miniredis, want time.Time) {
	t.Helper()
	assert.Equal(t, want, read(t, s).DeadlineAt)
	score, err := server.ZScore(store.DeadlinesKey, "job-1")
	require.NoError(t, err)
	assert.Equal(t, float64(want.UnixMilli()), score)
}

func TestADeadlineCountsFromTheSubmission(t *testing.T) {
	s, server, clock := newStore(t)
	_, err := s.Create(t.Context(), hasty, []byte(`{}`))
	require.NoError(t, err)
	deadline(t, s, server, start.Add(90*time.Second))

	clock.Advance(time.Second)
	_, err = s.Adopt(t.Context(), hasty, []byte(`{}`)) // fail-open: the record could not be read
	require.NoError(t, err)
	deadline(t, s, server, start.Add(90*time.Second))

	for _, w := range []store.Write{{From: job.Pending, To: job.Scheduled}, {From: job.Scheduled, To: job.Cancelled}} {
		deadline(t, s, server, start.Add(90*time.Second))
		w.JobID = "job-1"
		_, err := s.Write(t.Context(), w)
		require.NoError(t, err)
	}
	assert.False(t, server.Exists(store.DeadlinesKey), "a job that is over has none left")
}

func TestAJobThatIsTakenInHasItsDeadlineToo(t *testing.T) {
	s, server, _ := newStore(t)
	_, err := s.Adopt(t.Context(), hasty, []byte(`{}`))
	require.NoError(t, err)
	deadline(t, s, server, start.Add(90*time.Second))
}

func TestAJobWithoutABudgetHasNoDeadline(t *testing.T) {
	for _, budget := range []*job.Budget{nil, {}} {
		s, server, _ := newStore(t)
		_, err := s.Create(t.Context(), &job.Request{JobID: "job-1", Topic: "job.default", Budget: budget}, []byte(`{}`))
		require.NoError(t, err)
		assert.True(t, read(t, s).DeadlineAt.IsZero())
		assert.False(t, server.Exists(store.DeadlinesKey))
		assert.Empty(t, server.HGet("job:job-1", "deadline_at"))
	}
}
