package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

var start = time.UnixMilli(1_700_000_000_000)

func newStore(t *testing.T) (*store.Store, *miniredis.Miniredis, *clockwork.FakeClock) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	clock := clockwork.NewFakeClockAt(start)
	return &store.Store{Redis: client, Clock: clock, Timeout: time.Minute}, server, clock
}

func create(t *testing.T, s *store.Store) {
	t.Helper()
	created, err := s.Create(t.Context(), &job.Request{JobID: "job-1", Topic: "job.default", Tenant: "acme"}, []byte(`{"job_id":"job-1"}`))
	require.NoError(t, err)
	require.True(t, created)
}

func TestReadOfAnAbsentJobIsNotFound(t *testing.T) {
	s, _, _ := newStore(t)
	_, err := s.Read(t.Context(), "job-1")
	assert.ErrorIs(t, err, store.ErrNotFound)
	assert.ErrorIs(t, err, redis.Nil)
}

func TestReadErrorIsNotNotFound(t *testing.T) {
	s, server, _ := newStore(t)
	server.SetError("LOADING")
	_, err := s.Read(t.Context(), "job-1")
	require.Error(t, err)
	assert.NotErrorIs(t, err, redis.Nil)
}

func TestReadOfARecordThatCannotBeBelieved(t *testing.T) {
	for field, value := range map[string]string{"state": "DONE", "attempts": "many", "created_at": "", "updated_at": "x", "epoch": "one", "version": "-", "deadline_at": "soon", "approved_at": "then", "constraints": "{"} {
		s, server, _ := newStore(t)
		create(t, s)
		server.HSet("job:job-1", field, value)
		_, err := s.Read(t.Context(), "job-1")
		assert.ErrorContains(t, err, "job:job-1", field)
		assert.NotErrorIs(t, err, redis.Nil, field)
	}
	s, server, _ := newStore(t)
	create(t, s)
	server.HDel("job:job-1", "state")
	_, err := s.Read(t.Context(), "job-1")
	assert.ErrorContains(t, err, "job:job-1", "of a job without a state there is more than nothing")
	assert.NotErrorIs(t, err, redis.Nil)
}

// A cancellation that is kept ahead while a submission looks for a record is none: the job is created with it.
func TestCreateIsRepeatedWhenACancellationComesBetween(t *testing.T) {
	s, server, _ := newStore(t)
	s.Redis.AddHook(&afterExists{do: func() { server.HSet("job:job-1", "cancel", "changed my mind") }})
	create(t, s)
	rec, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	assert.Equal(t, job.Pending, rec.State)
	assert.Equal(t, "changed my mind", rec.Kept.Reason)

	server.Del("job:job-1")
	s.Redis.AddHook(&afterExists{do: func() { server.HSet("job:job-1", "state", "PENDING") }})
	created, err := s.Create(t.Context(), &job.Request{JobID: "job-1", Topic: "job.default"}, nil)
	require.NoError(t, err)
	assert.False(t, created, "another submission has come between")
}

// afterExists runs once, after a look for a record.
type afterExists struct{ do func() }

func (h *afterExists) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *afterExists) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if do := h.do; do != nil && cmd.Name() == "hexists" {
			h.do = nil
			do()
		}
		return err
	}
}

func (h *afterExists) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestCreateWritesRecordAndIndex(t *testing.T) {
	s, server, _ := newStore(t)
	create(t, s)
	rec, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	assert.Equal(t, store.Record{
		JobID: "job-1", State: job.Pending, Topic: "job.default", Tenant: "acme", Version: 1,
		CreatedAt: start, UpdatedAt: start, Packet: []byte(`{"job_id":"job-1"}`),
	}, rec)
	req, err := rec.Request()
	require.NoError(t, err)
	assert.Equal(t, "job-1", req.JobID)
	score, err := server.ZScore("job:index:PENDING", "job-1")
	require.NoError(t, err)
	assert.Equal(t, float64(1_700_000_000_000), score)
}

func TestCreateLeavesAnExistingRecordAlone(t *testing.T) {
	s, server, clock := newStore(t)
	create(t, s)
	_, err := s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Pending, To: job.Scheduled})
	require.NoError(t, err)
	before := server.Dump()
	clock.Advance(time.Second)
	created, err := s.Create(t.Context(), &job.Request{JobID: "job-1", Topic: "other"}, nil)
	require.NoError(t, err)
	assert.False(t, created)
	assert.Equal(t, before, server.Dump())
}

// A cancellation that was kept ahead is in the job's hash, and is no record.
func TestCreateKeepsACancellationThatCameBefore(t *testing.T) {
	s, _, _ := newStore(t)
	require.NoError(t, s.KeepCancelAhead(t.Context(), &job.Cancel{JobID: "job-1", Reason: "changed my mind"}))
	records, unreadable, err := s.ReadAll(t.Context(), []string{"job-1"})
	require.NoError(t, err)
	assert.Empty(t, records)
	assert.Empty(t, unreadable)
	create(t, s)
	rec, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	assert.Equal(t, job.Pending, rec.State)
	assert.Equal(t, "changed my mind", rec.Kept.Reason)
}

// interleave runs once, after the first HEXISTS.
type interleave struct{ do func() }

func (h *interleave) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *interleave) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if do := h.do; cmd.Name() == "hexists" && do != nil {
			h.do = nil
			do()
		}
		return err
	}
}

func (h *interleave) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestCreateLosesARaceQuietly(t *testing.T) {
	s, server, _ := newStore(t)
	var before string
	s.Redis.AddHook(&interleave{do: func() {
		create(t, s)
		_, err := s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Pending, To: job.Scheduled})
		require.NoError(t, err)
		before = server.Dump()
	}})
	created, err := s.Create(t.Context(), &job.Request{JobID: "job-1", Topic: "other"}, nil)
	require.NoError(t, err)
	assert.False(t, created)
	assert.Equal(t, before, server.Dump())
}

func TestWriteMovesRecordAndIndexTogether(t *testing.T) {
	s, server, clock := newStore(t)
	create(t, s)
	for i, step := range []struct {
		write    store.Write
		attempts int
		want     store.Record
	}{
		{store.Write{From: job.Pending, To: job.Scheduled}, 1, store.Record{Attempts: 1}},
		{store.Write{From: job.Scheduled, To: job.Dispatched, Worker: "worker-1"}, 0, store.Record{Attempts: 1, Worker: "worker-1"}},
		{store.Write{From: job.Dispatched, To: job.Scheduled}, 2, store.Record{Attempts: 2}},
		{store.Write{From: job.Scheduled, To: job.Scheduled}, 3, store.Record{Attempts: 3}},
		{store.Write{From: job.Scheduled, To: job.Dispatched, Worker: "worker-2"}, 0, store.Record{Attempts: 3, Worker: "worker-2"}},
		{store.Write{From: job.Dispatched, To: job.Running}, 0, store.Record{Attempts: 3, Worker: "worker-2"}},
		{store.Write{From: job.Running, To: job.Failed, Reason: "no luck", ReasonCode: "dispatch_failed"}, 0,
			store.Record{Attempts: 3, Worker: "worker-2", Reason: "no luck", ReasonCode: "dispatch_failed"}},
	} {
		clock.Advance(time.Second)
		step.write.JobID = "job-1"
		out, err := s.Write(t.Context(), step.write)
		require.NoError(t, err)
		assert.Equal(t, store.Written{Attempts: step.attempts, Version: int64(i + 2)}, out)

		rec, err := s.Read(t.Context(), "job-1")
		require.NoError(t, err)
		want := step.want
		want.JobID, want.State, want.Topic, want.Tenant = "job-1", step.write.To, "job.default", "acme"
		want.Version = int64(i + 2)
		want.CreatedAt, want.UpdatedAt, want.Packet = start, time.UnixMilli(clock.Now().UnixMilli()), []byte(`{"job_id":"job-1"}`)
		assert.Equal(t, want, rec)
		for _, state := range job.States {
			score, err := server.ZScore("job:index:"+string(state), "job-1")
			if state == step.write.To {
				require.NoError(t, err, state)
				assert.Equal(t, float64(clock.Now().UnixMilli()), score)
			} else {
				assert.Error(t, err, "job-1 is still in the index of %s", state)
			}
		}
	}
}

func TestWriteRefusesWhatIsNotDocumented(t *testing.T) {
	s, server, _ := newStore(t)
	create(t, s)
	before := server.Dump()
	_, err := s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Pending, To: job.Running})
	assert.ErrorIs(t, err, store.ErrTransition)
	assert.Equal(t, before, server.Dump())
}

func TestWriteErrorSurfaces(t *testing.T) {
	s, server, _ := newStore(t)
	server.SetError("LOADING")
	_, err := s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Pending, To: job.Scheduled})
	assert.ErrorContains(t, err, "LOADING")
}

func TestAdoptOfAJobWithoutARecord(t *testing.T) {
	s, _, _ := newStore(t)
	_, err := s.Adopt(t.Context(), &job.Request{JobID: "job-1", Topic: "job.default"}, []byte(`{}`))
	require.NoError(t, err)
	rec, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	assert.Equal(t, job.Pending, rec.State)
	assert.Zero(t, rec.Attempts)
	assert.Equal(t, start, rec.CreatedAt)
}

func TestAdoptOfAJobWhoseRecordCouldNotBeRead(t *testing.T) {
	s, server, clock := newStore(t)
	create(t, s)
	for _, w := range []store.Write{
		{JobID: "job-1", From: job.Pending, To: job.Scheduled},
		{JobID: "job-1", From: job.Scheduled, To: job.Dispatched, Worker: "worker-1"},
	} {
		_, err := s.Write(t.Context(), w)
		require.NoError(t, err)
	}
	clock.Advance(time.Second)
	_, err := s.Adopt(t.Context(), &job.Request{JobID: "job-1", Topic: "job.default"}, []byte(`{}`))
	require.NoError(t, err)
	rec, err := s.Read(t.Context(), "job-1")
	require.NoError(t, err)
	assert.Equal(t, job.Pending, rec.State)
	assert.Equal(t, 1, rec.Attempts, "attempts survive")
	assert.Equal(t, start, rec.CreatedAt, "so does the time of creation")
	_, err = server.ZScore("job:index:DISPATCHED", "job-1")
	assert.Error(t, err, "no entry is left behind")
}

func TestOperationsHaveADeadline(t *testing.T) {
	s, _, _ := newStore(t)
	var deadlines int
	s.Redis.AddHook(deadlineHook{&deadlines})
	s.Timeout = time.Minute
	create(t, s)
	_, _ = s.Read(t.Context(), "job-1")
	_, _ = s.Write(t.Context(), store.Write{JobID: "job-1", From: job.Pending, To: job.Scheduled})
	_, _ = s.List(t.Context(), 10, store.Query{Key: store.IndexKey(job.Scheduled), Until: s.Clock.Now()})
	_, _, _ = s.ReadAll(t.Context(), []string{"job-1"})
	assert.Equal(t, 7, deadlines) // WATCH, HEXISTS, MULTI; HGETALL; MULTI; MULTI; MULTI
}

type deadlineHook struct{ n *int }

func (h deadlineHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h deadlineHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch cmd.Name() {
		case "watch", "hexists", "hgetall":
			if at, ok := ctx.Deadline(); !ok || time.Until(at) > time.Minute {
				return errors.New("no deadline, or another than the store's")
			}
			*h.n++
		}
		return next(ctx, cmd)
	}
}

func (h deadlineHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if at, ok := ctx.Deadline(); ok && time.Until(at) <= time.Minute && cmds[0].Name() == "multi" {
			*h.n++
		}
		return next(ctx, cmds)
	}
}
