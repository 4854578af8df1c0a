package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
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

// What is done under an id is what was submitted first.
func TestASecondSubmissionIsTheSameJob(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	h.submit()
	second := request("job-1")
	second.Payload = []byte(`"another"`)
	require.NoError(t, h.handle(second))
	var d job.Dispatch
	require.NoError(t, json.Unmarshal(h.stored()[0].Data, &d))
	assert.Equal(t, string(request("job-1").Payload), string(d.Payload))
	assert.True(t, h.logged("request is not the one on record", "job-1"))
}

func TestSubmitStoresThenPublishes(t *testing.T) {
	h := newHarness(t)
	require.NoError(t, newClient(h).Submit(t.Context(), job.Request{JobID: "job-1", Topic: "job.default"}))
	assert.Equal(t, []string{"submit_write watch", "submit_write hexists", "submit_write multi", "submit_publish publish"}, h.faults.calls)
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

// What no message can take is refused while there is nothing of it yet; what is only just small enough is dispatched.
func TestSubmitRefusesWhatIsTooLarge(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := request("job-1")
	limit := int(h.js.Conn().MaxPayload())
	fill := func(size int) {
		req.Payload = nil
		packet, err := pack(&req)
		require.NoError(t, err)
		req.Payload = json.RawMessage(`"` + strings.Repeat("x", size-len(packet)-len(`,"payload":""`)) + `"`)
	}
	fill(limit - dispatchMore + 1)
	err := newClient(h).Submit(t.Context(), req)
	require.ErrorIs(t, err, ErrTooLarge)
	assert.ErrorContains(t, err, fmt.Sprintf("it has %d bytes, and 2048 are kept for what its dispatch has more; the server takes %d in one message", limit-dispatchMore+1, limit))
	assert.Empty(t, h.faults.calls)
	assert.Empty(t, h.redis.Keys())

	fill(limit - dispatchMore)
	require.NoError(t, newClient(h).Submit(t.Context(), req))
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
}

// A dispatch has at most dispatchMore bytes that its request has not, whatever its names are.
func TestDispatchMoreIsEnough(t *testing.T) {
	name := strings.Repeat("x", 256)
	h := &handling{req: &job.Request{JobID: name, Topic: "job.default"}}
	packet, err := pack(h.req)
	require.NoError(t, err)
	h.req.Labels = map[string]string{
		job.LabelApprovalGranted: "true", job.LabelApprovalHash: strings.Repeat("f", 64),
		job.LabelApprovedAt: strconv.Itoa(math.MaxInt64), job.LabelApprovedBy: name,
	}
	h.rec.Attempts = math.MaxInt64
	d, err := h.entry(name, math.MaxInt64)
	require.NoError(t, err)
	msg := nats.NewMsg(d.Subject)
	msg.Data = d.Body
	for key, value := range map[string]string{
		job.Header: name, job.HeaderEpoch: strconv.Itoa(math.MaxInt64),
		jetstream.ExpectedLastSubjSeqHeader: "0", jetstream.ExpectedLastSubjSeqSubjHeader: bus.AnyWorker(name, math.MaxInt64),
	} {
		msg.Header.Set(key, value)
	}
	assert.Less(t, msg.Size()-len(msg.Subject), len(packet)+dispatchMore)
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
	assert.Equal(t, settings.Hardened(), c.settings)
}
