package engine

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

func withMessageID(s *settings.Settings) { s.PublishDedup = settings.MessageID }

// Within the stream's duplicate window a retry is confirmed and not stored, whomever it goes to.
func TestAMessageIDHidesTheRetry(t *testing.T) {
	for want, gone := range map[string]bool{"worker-1": false, "worker-2": true} {
		h := newHarness(t, withMessageID)
		h.worker("worker-1")
		req := h.submit()
		h.faults.on(phase.Publish, "after")
		h.retry(h.handle(req))
		if gone {
			h.clock.Advance(h.settings.WorkerTTL + 1)
			h.registry.Sweep()
			h.worker("worker-2")
		}
		require.NoError(t, h.handle(req))
		require.Len(t, h.stored(), 1)
		assert.Equal(t, "worker.worker-1.jobs", h.stored()[0].Subject)
		assert.Equal(t, nats.Header{"Job-Id": {"job-1"}, "Nats-Msg-Id": {"job-1"}}, h.stored()[0].Header)
		assert.Equal(t, job.Running, h.record().State)
		assert.Equal(t, want, h.record().Worker, "a worker that never heard of it, if the first is gone")
		assert.EqualValues(t, 1, h.metric(`scheduler_duplicate_publishes_total{topic="job.default"}`))
		assert.Zero(t, h.metric(`jobs_dispatched{topic="job.default"}`))
	}
}

// The id of another epoch's dispatch would keep this one out of the stream.
func TestADispatchWithAnEpochHasNoMessageID(t *testing.T) {
	for _, worker := range []string{"worker-1", "host.1"} { // of whom one is reached by the topic
		h := newHarness(t, hardened, withMessageID)
		h.worker(worker)
		require.NoError(t, h.handle(h.submit()))
		require.Len(t, h.stored(), 1)
		assert.NotContains(t, h.stored()[0].Header, "Nats-Msg-Id")
	}
}
