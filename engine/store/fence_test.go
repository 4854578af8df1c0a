package store_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/store"
)

func newFenced(t *testing.T) (*store.Store, *miniredis.Miniredis) {
	s, server, _ := newStore(t)
	s.Fence, s.Epochs = true, true
	create(t, s)
	return s, server
}

// locked runs fn under job-1's lock.
func locked(t *testing.T, s *store.Store, fn func(ctx context.Context)) {
	t.Helper()
	l := &lock.Locker{
		Redis: s.Redis, Clock: s.Clock, Token: func(context.Context) string { return "ours" },
		Timeout: time.Minute, MaxRenewalFailures: 3, Logger: slog.New(slog.DiscardHandler),
	}
	require.NoError(t, l.WithLock(t.Context(), lock.JobKey("job-1"), time.Minute, func(ctx context.Context) error {
		fn(ctx)
		return nil
	}))
}

func read(t *testing.T, s *store.Store) store.Record {
	t.Helper()
	rec, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	return rec
}

func TestAFencedWriteIsMadeOverWhatWasRead(t *testing.T) {
	s, _ := newFenced(t)
	locked(t, s, func(ctx context.Context) {
		rec := read(t, s)
		for _, to := range []job.State{job.Scheduled, job.Dispatched, job.Running, job.Succeeded} {
			w := rec.Move(to)
			out, err := s.Write(ctx, w)
			require.NoError(t, err, to)
			rec.Moved(&w, out)
			stored := read(t, s)
			rec.UpdatedAt = stored.UpdatedAt
			assert.Equal(t, stored, rec, "Moved knows what the write left")
		}
	})
	assert.EqualValues(t, 5, read(t, s).Version)
}

func TestTheFenceStopsAWriteOverAnotherRecord(t *testing.T) {
	for name, change := range map[string]func(*store.Write){
		"another state":   func(w *store.Write) { w.From = job.Scheduled },
		"another version": func(w *store.Write) { w.Version-- },
		"another epoch":   func(w *store.Write) { w.Epoch++ },
	} {
		s, server := newFenced(t)
		rec := read(t, s)
		w := rec.Move(job.Scheduled)
		change(&w)
		before := server.Dump()
		_, err := s.Write(t.Context(), w)
		assert.ErrorIs(t, err, store.ErrFenced, name)
		assert.Equal(t, before, server.Dump(), name)
	}
}

// A holder that overstayed its lock changes nothing, whether another took the lock or nobody did.
func TestTheFenceStopsAHolderThatOverstayed(t *testing.T) {
	for name, overstay := range map[string]func(*miniredis.Miniredis){
		"expired": func(server *miniredis.Miniredis) { server.Del("cordum:scheduler:job:job-1") },
		"another's": func(server *miniredis.Miniredis) {
			_ = server.Set("cordum:scheduler:job:job-1", "theirs")
		},
	} {
		s, server := newFenced(t)
		locked(t, s, func(ctx context.Context) {
			rec := read(t, s)
			overstay(server)
			before := server.Dump()
			_, err := s.Write(ctx, rec.Move(job.Scheduled))
			assert.ErrorIs(t, err, store.ErrFenced, name)
			assert.Equal(t, before, server.Dump(), name)
		})
	}
}

// It changes nothing either of what is no move: the entry, or the request that waits for an approval, is a later holder's.
func TestTheFenceStopsWhatIsNoMove(t *testing.T) {
	for name, change := range map[string]func(ctx context.Context, s *store.Store, rec *store.Record) error{
		"an entry is dropped": func(ctx context.Context, s *store.Store, rec *store.Record) error { return s.Drop(ctx, rec) },
		"another approval is asked for": func(ctx context.Context, s *store.Store, rec *store.Record) error {
			return s.AskAgain(ctx, rec.Move(rec.State), &job.Request{JobID: "job-1", Topic: "job.other"}, []byte(`{}`), "sha256:1")
		},
	} {
		for cause, meanwhile := range map[string]func(*miniredis.Miniredis){
			"no lock":        func(server *miniredis.Miniredis) { server.Del("cordum:scheduler:job:job-1") },
			"another's lock": func(server *miniredis.Miniredis) { _ = server.Set("cordum:scheduler:job:job-1", "theirs") },
			"another epoch":  func(server *miniredis.Miniredis) { server.HSet("job:job-1", "epoch", "9", "version", "9") },
		} {
			s, server := newFenced(t)
			locked(t, s, func(ctx context.Context) {
				server.HSet("job:job-1", "state", "APPROVAL_REQUIRED")
				server.HSet(store.OutboxKey, "job-1", "{}")
				rec := read(t, s)
				meanwhile(server)
				before := server.Dump()
				assert.ErrorIs(t, change(ctx, s, &rec), store.ErrFenced, "%s: %s", name, cause)
				assert.Equal(t, before, server.Dump(), "%s: %s", name, cause)
				rec = read(t, s)
				_ = server.Set("cordum:scheduler:job:job-1", "ours")
				assert.NoError(t, change(ctx, s, &rec), name)
				assert.NotEqual(t, before, server.Dump(), name)
			})
		}
	}
}

// What comes between the look and the EXEC is seen too.
func TestTheFenceStopsAWriteThatLosesARace(t *testing.T) {
	for name, meanwhile := range map[string]func(*miniredis.Miniredis){
		"the record": func(server *miniredis.Miniredis) { server.HSet("job:job-1", "version", "2") },
		"the lock":   func(server *miniredis.Miniredis) { _ = server.Set("cordum:scheduler:job:job-1", "theirs") },
	} {
		s, server := newFenced(t)
		locked(t, s, func(ctx context.Context) {
			rec := read(t, s)
			s.Redis.AddHook(&afterLook{do: func() { meanwhile(server) }})
			_, err := s.Write(ctx, rec.Move(job.Scheduled))
			assert.ErrorIs(t, err, store.ErrFenced, name)
			assert.Equal(t, job.Pending, read(t, s).State, name)
		})
	}
}

// afterLook runs once, after the first plain pipeline.
type afterLook struct{ do func() }

func (h *afterLook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *afterLook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *afterLook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if do := h.do; do != nil && cmds[0].Name() == "hmget" {
			h.do = nil
			do()
		}
		return err
	}
}

// Of a guessed state only the state is compared, and the rest is read with it.
func TestAGuessedWriteIsFencedByTheStateAlone(t *testing.T) {
	s, _ := newFenced(t)
	out, err := s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Pending, To: job.Scheduled, Guessed: true})
	require.NoError(t, err)
	assert.Equal(t, store.Written{Attempts: 1, Version: 2}, out)
	_, err = s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Pending, To: job.Scheduled, Guessed: true})
	assert.ErrorIs(t, err, store.ErrFenced)
}

func TestABlindWritePassesTheFence(t *testing.T) {
	s, server := newFenced(t)
	for _, w := range []store.Write{
		{From: job.Pending, Version: 1, To: job.Scheduled},
		{From: job.Scheduled, Version: 2, To: job.Dispatched, Worker: "worker-1"},
		{From: job.Dispatched, Version: 3, Epoch: 1, To: job.Running},
		{From: job.Dispatched, Version: 3, To: job.Timeout, Blind: true}, // by a list that is out of date
	} {
		w.JobID = "job-1"
		_, err := s.Write(t.Context(), w)
		require.NoError(t, err)
	}
	assert.Equal(t, job.Timeout, read(t, s).State)
	assert.False(t, server.Exists("job:index:RUNNING"), "it leaves whatever index it was in")
}

// Adopting a job whose record could not be read must not take it back.
func TestTheFenceKeepsARecordFromBeingAdopted(t *testing.T) {
	s, server := newFenced(t)
	before := server.Dump()
	_, err := s.Adopt(t.Context(), &job.Request{JobID: "job-1", Topic: "job.default"}, []byte(`{}`))
	assert.ErrorIs(t, err, store.ErrFenced)
	assert.Equal(t, before, server.Dump())
	out, err := s.Adopt(t.Context(), &job.Request{JobID: "job-2", Topic: "job.default"}, []byte(`{}`))
	require.NoError(t, err)
	assert.Equal(t, store.Written{Version: 1}, out)
}

func TestDispatchedMintsAnEpoch(t *testing.T) {
	s, server := newFenced(t)
	rec := read(t, s)
	assert.Zero(t, rec.Epoch)
	for epoch := int64(1); epoch <= 2; epoch++ { // the second after a rollback
		for _, to := range []job.State{job.Scheduled, job.Dispatched} {
			w := rec.Move(to)
			out, err := s.Write(t.Context(), w)
			require.NoError(t, err)
			rec.Moved(&w, out)
		}
		assert.Equal(t, epoch, rec.Epoch)
		assert.Equal(t, epoch, read(t, s).Epoch)
	}

	// A state that was guessed says nothing of the epoch: SCHEDULED reads it, without a fence too.
	s.Fence = false
	server.HSet("job:job-1", "state", "SCHEDULED")
	out, err := s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Scheduled, To: job.Scheduled, Guessed: true})
	require.NoError(t, err)
	assert.EqualValues(t, 2, out.Epoch)
}

func TestWithoutEpochsNoneIsMinted(t *testing.T) {
	s, server, _ := newStore(t)
	create(t, s)
	for _, w := range []store.Write{{From: job.Pending, To: job.Scheduled}, {From: job.Scheduled, To: job.Dispatched}} {
		w.JobID = "job-1"
		_, err := s.Write(t.Context(), w)
		require.NoError(t, err)
	}
	assert.Empty(t, server.HGet("job:job-1", "epoch"))
	assert.Equal(t, "3", server.HGet("job:job-1", "version"))
}

// What belongs to the move is written with it, or not at all.
func TestWhatBelongsToAMoveIsInItsMULTI(t *testing.T) {
	s, server := newFenced(t)
	also := func(ctx context.Context, p redis.Pipeliner) error { p.Set(ctx, "more", "1", 0); return nil }
	rec := read(t, s)
	w := rec.Move(job.Failed)
	w.Also, w.Version = also, 9
	_, err := s.Write(t.Context(), w)
	require.ErrorIs(t, err, store.ErrFenced)
	assert.False(t, server.Exists("more"))
	w.Version = rec.Version
	_, err = s.Write(t.Context(), w)
	require.NoError(t, err)
	assert.True(t, server.Exists("more"))
}
