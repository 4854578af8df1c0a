package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// enter puts a job's dispatch into the outbox, with DISPATCHED.
func enter(t *testing.T, s *store.Store, jobID string, after time.Duration) {
	t.Helper()
	_, err := s.Write(t.Context(), store.Write{
		JobID: jobID, From: job.Scheduled, To: job.Dispatched, Worker: "worker-1",
		Enter: &store.Entry{Subject: "worker.worker-1.jobs", Topic: "job.default", Attempts: 2, Started: 7, Body: []byte(`{"n":1}`), DueAfter: after},
	})
	require.NoError(t, err)
}

func due(t *testing.T, s *store.Store, limit int) []string {
	t.Helper()
	ids, err := s.Due(t.Context(), limit)
	require.NoError(t, err)
	return ids
}

func TestAnEntryComesAndGoesWithTheState(t *testing.T) {
	s, server, _ := newStore(t)
	enter(t, s, "job-1", 0)
	entry, rec, err := s.Claim(t.Context(), "job-1", time.Second)
	require.NoError(t, err)
	assert.Equal(t, job.Dispatched, rec.State)
	assert.Equal(t, &store.Entry{Subject: "worker.worker-1.jobs", Topic: "job.default", Attempts: 2, Started: 7, Body: []byte(`{"n":1}`)}, entry)

	_, err = s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Dispatched, To: job.Running, Leave: true})
	require.NoError(t, err)
	assert.False(t, server.Exists(store.OutboxKey))
	assert.False(t, server.Exists(store.OutboxDueKey))
	entry, rec, err = s.Claim(t.Context(), "job-1", time.Second)
	require.NoError(t, err)
	assert.Nil(t, entry)
	assert.Equal(t, job.Running, rec.State)
	assert.False(t, server.Exists(store.OutboxDueKey), "a claim brings nothing back")
}

func TestAnEntryIsDueAfterItsTime(t *testing.T) {
	s, _, clock := newStore(t)
	enter(t, s, "job-1", time.Second)
	enter(t, s, "job-2", 500*time.Millisecond)
	enter(t, s, "job-3", 2*time.Second)
	assert.Empty(t, due(t, s, 10))
	clock.Advance(time.Second)
	assert.Equal(t, []string{"job-2", "job-1"}, due(t, s, 10))
	assert.Equal(t, []string{"job-2"}, due(t, s, 1))
}

// What could not be published makes way for what waits behind it.
func TestAClaimPutsOffTheNextTry(t *testing.T) {
	s, _, clock := newStore(t)
	enter(t, s, "job-1", 0)
	enter(t, s, "job-2", 0)
	_, _, err := s.Claim(t.Context(), "job-1", time.Second)
	require.NoError(t, err)
	assert.Equal(t, []string{"job-2"}, due(t, s, 10))
	clock.Advance(time.Second)
	assert.Equal(t, []string{"job-2", "job-1"}, due(t, s, 10))
}

func TestDropTakesAnEntryOut(t *testing.T) {
	s, server, _ := newStore(t)
	enter(t, s, "job-1", 0)
	for range 2 { // again is harmless
		require.NoError(t, s.Drop(t.Context(), &store.Record{JobID: "job-1"}))
		assert.False(t, server.Exists(store.OutboxKey))
		assert.False(t, server.Exists(store.OutboxDueKey))
	}
	_, rec, err := s.Claim(t.Context(), "job-1", time.Second)
	require.NoError(t, err)
	assert.Equal(t, job.Dispatched, rec.State, "the record is not its business")
}

func TestAnEntryThatCannotBeBelieved(t *testing.T) {
	s, server, _ := newStore(t)
	server.HSet(store.OutboxKey, "job-1", "{")
	_, _, err := s.Claim(t.Context(), "job-1", time.Second)
	assert.ErrorContains(t, err, "cordum:scheduler:outbox of job-1")
}

func TestTheOutboxOfAServerThatFails(t *testing.T) {
	s, server, _ := newStore(t)
	server.SetError("LOADING")
	_, err := s.Due(t.Context(), 1)
	assert.ErrorContains(t, err, "cordum:scheduler:outbox:due")
	_, _, err = s.Claim(t.Context(), "job-1", time.Second)
	assert.ErrorContains(t, err, "claim job-1")
	assert.ErrorContains(t, s.Drop(t.Context(), &store.Record{JobID: "job-1"}), "drop job-1")
}
