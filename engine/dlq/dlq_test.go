package dlq_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/dlq"
)

func newQueue(t *testing.T) (*dlq.Queue, *miniredis.Miniredis, *clockwork.FakeClock) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	clock := clockwork.NewFakeClockAt(time.UnixMilli(1_700_000_000_000))
	return &dlq.Queue{Redis: client, Clock: clock, TTL: 720 * time.Hour, Timeout: time.Minute}, server, clock
}

func TestAddWritesEntryAndIndex(t *testing.T) {
	q, server, _ := newQueue(t)
	require.NoError(t, q.Add(t.Context(), dlq.Entry{
		JobID: "job_74c2", Topic: "tool.github.pr.create", Status: "FAILED", ReasonCode: "max_scheduling_retries",
		Reason: "max scheduling retries exceeded (attempts=50)", Attempts: 50, IdempotencyKey: "run_2f91:step_3",
		PolicySnapshot: "sha256:ab91", ReplayStatus: dlq.PendingReview,
	}))
	body, err := server.Get("dlq:entry:job_74c2")
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"job_id": "job_74c2", "topic": "tool.github.pr.create", "status": "FAILED",
		"reason_code": "max_scheduling_retries", "reason": "max scheduling retries exceeded (attempts=50)", "attempts": 50,
		"idempotency_key": "run_2f91:step_3", "policy_snapshot": "sha256:ab91", "replay_status": "pending_review",
		"created_at": 1700000000000}`, body)
	assert.Equal(t, 720*time.Hour, server.TTL("dlq:entry:job_74c2"))
	score, err := server.ZScore("dlq:index", "job_74c2")
	require.NoError(t, err)
	assert.Equal(t, float64(1_700_000_000_000), score)

	e, err := q.Get(t.Context(), "job_74c2")
	require.NoError(t, err)
	assert.Equal(t, int64(1_700_000_000_000), e.CreatedAt)
	assert.Equal(t, 50, e.Attempts)
}

func TestGetOfNoEntry(t *testing.T) {
	q, _, _ := newQueue(t)
	_, err := q.Get(t.Context(), "job-1")
	assert.ErrorIs(t, err, redis.Nil)
}

func TestIndexIsTrimmedOfExpiredEntries(t *testing.T) {
	q, server, clock := newQueue(t)
	require.NoError(t, q.Add(t.Context(), dlq.Entry{JobID: "old"}))
	clock.Advance(q.TTL - time.Second)
	require.NoError(t, q.Add(t.Context(), dlq.Entry{JobID: "young"}))
	members, err := server.ZMembers("dlq:index")
	require.NoError(t, err)
	assert.Equal(t, []string{"old", "young"}, members)
	clock.Advance(time.Second)
	require.NoError(t, q.Add(t.Context(), dlq.Entry{JobID: "new"}))
	members, err = server.ZMembers("dlq:index")
	require.NoError(t, err)
	assert.Equal(t, []string{"young", "new"}, members)
}

// A message that JetStream sends again after its entry has expired has its place anew.
func TestAnEntryThatHasExpiredIsIndexedAnew(t *testing.T) {
	q, s, clock := newQueue(t)
	for range 2 {
		wrote, err := q.AddOnce(t.Context(), dlq.Entry{JobID: "CORDUM_SYS:3"})
		require.NoError(t, err)
		assert.True(t, wrote)
		score, err := s.ZScore(dlq.IndexKey, "CORDUM_SYS:3")
		require.NoError(t, err)
		assert.EqualValues(t, clock.Now().UnixMilli(), score)
		clock.Advance(q.TTL + time.Minute)
		s.FastForward(q.TTL + time.Minute)
	}
}

func TestAddErrorSurfaces(t *testing.T) {
	q, server, _ := newQueue(t)
	server.SetError("LOADING")
	assert.ErrorContains(t, q.Add(t.Context(), dlq.Entry{JobID: "job-1"}), "LOADING")
}
