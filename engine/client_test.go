package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/faultline-sim/faultline/engine/bus"
	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/phase"
)

func newClient(h *harness) *Client {
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
	require.NoError(h.t, err)
	return c
}

// submitted counts the messages on sys.job.submit.
func submitted(h *harness) uint64 {
	s, err := h.js.Stream(h.t.Context(), bus.StreamSys)
	require.NoError(h.t, err)
	return s.CachedInfo().State.Msgs
}

func TestSubmitStoresThenPublishes(t *testing.T) {
	h := newHarness(t)
	require.NoError(t, newClient(h).Submit(t.Context(), job.Request{JobID: "job-1", Topic: "job.default"}))
	assert.Equal(t, []string{"submit_write watch", "submit_write exists", "submit_write multi", "submit_publish publish"}, h.faults.calls)
	rec := h.record()
	assert.Equal(t, job.Pending, rec.State)
	s, err := h.js.Stream(t.Context(), bus.StreamSys)
	require.NoError(t, err)
	msg, err := s.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, "sys.job.submit", msg.Subject)
	assert.Equal(t, "job-1", msg.Header.Get("Job-Id"))
	assert.Equal(t, rec.Packet, msg.Data)
	var req job.Request
	require.NoError(t, json.Unmarshal(msg.Data, &req))
	assert.Equal(t, "job-1", req.IdempotencyKey, "the job id, for want of another")
}

func TestSubmitAgainOnlyPublishesAgain(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	require.NoError(t, h.handle(req))
	before := h.redis.Dump()
	require.NoError(t, newClient(h).Submit(t.Context(), req))
	assert.Equal(t, before, h.redis.Dump())
	assert.EqualValues(t, 2, submitted(h))
}

func TestSubmitFailures(t *testing.T) {
	for _, c := range []struct {
		phase     phase.Phase
		word      string
		published uint64
	}{
		{phase.SubmitWrite, "before", 0},
		{phase.SubmitPublish, "before", 0},
		{phase.SubmitPublish, "after", 1},
	} {
		h := newHarness(t)
		h.faults.on(c.phase, c.word)
		client := newClient(h)
		assert.ErrorIs(t, client.Submit(t.Context(), request("job-1")), errInjected)
		assert.Equal(t, c.published, submitted(h))
		require.NoError(t, client.Submit(t.Context(), request("job-1")), "the same job again")
		assert.Equal(t, job.Pending, h.record().State)
		assert.Equal(t, c.published+1, submitted(h))
	}
}

func TestSubmitRefusesWhatMakesNoSense(t *testing.T) {
	h := newHarness(t)
	assert.ErrorContains(t, newClient(h).Submit(t.Context(), job.Request{JobID: "job 1", Topic: "job.default"}), "one token")
	assert.ErrorContains(t, newClient(h).Submit(t.Context(), job.Request{JobID: "job-1", Topic: "job.default", Payload: []byte("{")}), "job-1")
	assert.Empty(t, h.redis.Keys())
	assert.Zero(t, submitted(h))
}

func TestNewClientSaysEverythingThatIsWrong(t *testing.T) {
	_, err := NewClient(ClientConfig{})
	assert.ErrorContains(t, err, "no Redis client")
	assert.ErrorContains(t, err, "no JetStream")
	h := newHarness(t)
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream})
	require.NoError(t, err)
	assert.Equal(t, Hardened(), c.settings)
}
