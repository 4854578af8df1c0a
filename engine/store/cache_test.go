package store_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

func TestTheCacheKnowsWhatWasLastReadOrWritten(t *testing.T) {
	s, server, clock := newStore(t)
	create(t, s)
	s.Cache = store.NewCache(clock, 10, time.Minute)
	known := func(state job.State, attempts int) {
		t.Helper()
		k, ok := s.Cache.Recall("job-1")
		require.True(t, ok)
		assert.Equal(t, store.Known{State: state, Attempts: attempts}, k)
	}
	_, ok := s.Cache.Recall("job-1")
	require.False(t, ok, "a submission is not this replica's")

	_, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	known(job.Pending, 0)
	for _, w := range []store.Write{
		{From: job.Pending, To: job.Scheduled},
		{From: job.Scheduled, To: job.Scheduled},
		{From: job.Scheduled, To: job.Dispatched},
	} {
		w.JobID = "job-1"
		_, err := s.Write(t.Context(), w)
		require.NoError(t, err)
	}
	known(job.Dispatched, 2)

	server.HSet("job:job-1", "state", "RUNNING") // by another replica
	known(job.Dispatched, 2)
	_, err = s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	known(job.Running, 2)
}

func TestTheCacheForgetsWhatHasBecomeUnknown(t *testing.T) {
	for name, unknown := range map[string]func(*store.Store) error{
		"a write that failed, applied or not": func(s *store.Store) error {
			_, err := s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Pending, To: job.Scheduled})
			return err
		},
		"a record that is gone": func(s *store.Store) error {
			s.Redis.Del(t.Context(), "job:job-1")
			_, err := s.Read(t.Context(), "job-1")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, server, clock := newStore(t)
			create(t, s)
			s.Cache = store.NewCache(clock, 10, time.Minute)
			_, err := s.Read(t.Context(), "job-1")
			require.NoError(t, err)
			if name != "a record that is gone" {
				server.SetError("LOADING")
			}
			require.Error(t, unknown(s))
			_, ok := s.Cache.Recall("job-1")
			assert.False(t, ok)
		})
	}
}

func TestAReadThatFailsLeavesTheCacheAlone(t *testing.T) {
	s, server, clock := newStore(t)
	create(t, s)
	s.Cache = store.NewCache(clock, 10, time.Minute)
	_, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	server.SetError("LOADING")
	_, err = s.Read(t.Context(), "job-1")
	require.Error(t, err)
	k, ok := s.Cache.Recall("job-1")
	assert.True(t, ok)
	assert.Equal(t, job.Pending, k.State)
}

func TestTheCacheIsBounded(t *testing.T) {
	s, _, clock := newStore(t)
	s.Cache = store.NewCache(clock, 3, time.Minute)
	write := func(n int) {
		t.Helper()
		id := "job-" + strconv.Itoa(n)
		_, err := s.Adopt(t.Context(), &job.Request{JobID: id, Topic: "job.default"}, []byte("{}"))
		require.NoError(t, err)
	}
	has := func(n int) bool { _, ok := s.Cache.Recall("job-" + strconv.Itoa(n)); return ok }
	for n := 1; n <= 3; n++ {
		write(n)
		clock.Advance(10 * time.Second)
	}
	write(1) // the newest again
	write(4)
	assert.True(t, has(1))
	assert.False(t, has(2), "the oldest made room")
	assert.True(t, has(3))
	assert.True(t, has(4))

	clock.Advance(50 * time.Second) // 3 is a minute old
	assert.True(t, has(3))
	clock.Advance(1)
	assert.False(t, has(3))
	k, ok := s.Cache.Recall("job-4")
	require.True(t, ok)
	assert.Equal(t, 50*time.Second+1, k.Age)
}

// A state that was not read may be wrong: the record leaves whatever index it is in.
func TestAGuessedWriteLeavesNoIndexEntryBehind(t *testing.T) {
	s, server, _ := newStore(t)
	create(t, s)
	for _, w := range []store.Write{
		{From: job.Pending, To: job.Scheduled},
		{From: job.Scheduled, To: job.Dispatched},
		{From: job.Dispatched, To: job.Running},
		{From: job.Scheduled, To: job.Scheduled, Guessed: true},
	} {
		w.JobID = "job-1"
		_, err := s.Write(t.Context(), w)
		require.NoError(t, err)
	}
	members, err := server.ZMembers("job:index:SCHEDULED")
	require.NoError(t, err)
	assert.Equal(t, []string{"job-1"}, members)
	assert.False(t, server.Exists("job:index:RUNNING"))
}
