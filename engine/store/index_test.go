package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

func TestListAnswersByTime(t *testing.T) {
	s, server, clock := newStore(t)
	for _, id := range []string{"c", "a", "b"} {
		_, err := s.Create(t.Context(), &job.Request{JobID: id, Topic: "job.default"}, []byte("{}"))
		require.NoError(t, err)
		clock.Advance(time.Second)
	}
	_, err := server.ZAdd(store.DeadlinesKey, float64(clock.Now().UnixMilli()), "a")
	require.NoError(t, err)
	list := func(limit, skip int, ago time.Duration) [][]string {
		ids, err := s.List(t.Context(), limit,
			store.Query{Key: store.IndexKey(job.Pending), Until: clock.Now().Add(-ago), Skip: skip},
			store.Query{Key: store.IndexKey(job.Running), Until: clock.Now()},
			store.Query{Key: store.DeadlinesKey, Until: clock.Now()})
		require.NoError(t, err)
		return ids
	}
	assert.Equal(t, [][]string{{"c", "a", "b"}, {}, {"a"}}, list(10, 0, 0), "the oldest first")
	assert.Equal(t, [][]string{{"c", "a"}, {}, {"a"}}, list(10, 0, 2*time.Second), "at the time, not after it")
	assert.Equal(t, [][]string{{"c", "a"}, {}, {"a"}}, list(2, 0, 0))
	assert.Equal(t, [][]string{{"b"}, {}, {"a"}}, list(2, 2, 0))

	server.SetError("LOADING")
	_, err = s.List(t.Context(), 1, store.Query{Key: "job:index:PENDING"})
	assert.ErrorContains(t, err, "LOADING")
}

func TestReadAllLeavesOutWhatItCannotBelieve(t *testing.T) {
	s, server, _ := newStore(t)
	none, odd, err := s.ReadAll(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.Empty(t, odd)

	create(t, s)
	server.HSet("job:odd", "state", "ODD")
	records, odd, err := s.ReadAll(t.Context(), []string{"odd", "job-1", "none"})
	require.NoError(t, err)
	require.Len(t, odd, 1, "a job without a record is none that cannot be read")
	assert.EqualError(t, odd[0], `job:odd holds the unknown state "ODD"`)
	want, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	assert.Equal(t, []store.Record{want}, records)

	server.SetError("LOADING")
	_, _, err = s.ReadAll(t.Context(), []string{"job-1"})
	assert.ErrorContains(t, err, "LOADING")
}
