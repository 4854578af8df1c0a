package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// replica says in the place of miniredis, which knows no WAIT, whether a replica has what was written.
type replica struct{ online bool }

func (*replica) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *replica) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "info" {
			return next(ctx, cmd)
		}
		return r.answer(cmd)
	}
}

func (r *replica) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if phase.From(ctx).Phase != phase.ReplicaWait {
			return next(ctx, cmds)
		}
		for _, cmd := range cmds {
			_ = r.answer(cmd)
		}
		return nil
	}
}

func (r *replica) answer(cmd redis.Cmder) error {
	switch cmd := cmd.(type) {
	case *redis.StringCmd:
		info := []string{"master_replid:a"}
		if r.online {
			info = append(info, "slave0:ip=10.0.0.1,port=6379,state=online,offset=1,lag=0")
		}
		cmd.SetVal(strings.Join(info, "\r\n"))
	case *redis.Cmd:
		cmd.SetVal(map[bool]int64{true: 1}[r.online])
	}
	return nil
}

// withReplica gives a hardened harness a Redis whose replica comes and goes.
func withReplica(t *testing.T) (*harness, *replica) {
	t.Helper()
	r := &replica{online: true}
	h := newHarnessOn(t, func(h *harness) {
		h.config.Redis.AddHook(r)
	}, hardened, func(s *settings.Settings) { s.WaitReplica = true })
	h.worker("worker-1")
	return h, r
}

// A message outlasts an absence of the replica as it does one of Redis itself: 100 deliveries take three quarters of an hour.
func TestAMessageThatWaitsForAReplicaBacksOff(t *testing.T) {
	h, r := withReplica(t)
	c, err := h.consumer(t.Context(), bus.ConsumerResult, bus.SubjectResult, func(context.Context, jetstream.Msg) error { return nil })
	require.NoError(t, err)
	require.NoError(t, c.Safe(t.Context(), "job-1")(t.Context()))
	r.online = false
	for delivery, want := range map[int]time.Duration{1: time.Second, 4: 8 * time.Second, 99: 30 * time.Second} {
		err := c.Safe(t.Context(), "job-1")(bus.WithDeliveries(t.Context(), delivery))
		require.ErrorIs(t, err, store.ErrNotReplicated)
		assert.Equal(t, want, h.retry(err).RetryDelay())
	}
}

// What waits for a replica was not sent: that is no failed publish, which would count attempts up to the job's end.
func TestADispatchThatWaitsForAReplicaCountsNoAttempts(t *testing.T) {
	h, r := withReplica(t)
	req := h.submit()
	require.NoError(t, h.replica.Since(t.Context(), "job-1")(t.Context()))
	r.online = false
	for range 5 {
		retry := h.retry(h.handle(req))
		require.ErrorIs(t, retry, store.ErrNotReplicated)
		assert.Equal(t, phase.ReplicaWait, retry.Phase)
		h.clock.Advance(h.settings.BackoffMax)
		h.worker("worker-1")
	}
	assert.Equal(t, job.Dispatched, h.record().State)
	assert.Equal(t, 1, h.record().Attempts)
	assert.Empty(t, h.stored())
	r.online = true
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
	assert.Len(t, h.dispatches(), 1)
}

// What a client has been told of is on the replica: a run that is started, and what an operator decides.
func TestWhatAClientIsToldOfIsOnTheReplica(t *testing.T) {
	h, r := withReplica(t)
	c := ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings}
	client, err := NewClient(c)
	require.NoError(t, err)
	operator, err := NewReplayer(ReplayerConfig{ClientConfig: c})
	require.NoError(t, err)
	run := workflow.Run{RunID: "run-1", WorkflowID: "wf-1", Steps: []workflow.Step{{ID: "a", Topic: "job.default"}}}
	ana := dlq.Person{Name: "ana"}
	decide := map[string]func(id string) error{
		"run":     func(string) error { _, err := client.StartRun(t.Context(), run); return err },
		"approve": func(id string) error { return operator.Approve(t.Context(), id, ana) },
		"deny":    func(id string) error { return operator.Deny(t.Context(), id, ana, "") },
		"mend":    func(id string) error { return operator.Mend(t.Context(), id, []byte(`{}`), ana) },
		"replay":  func(id string) error { _, err := operator.Replay(t.Context(), id, ana); return err },
	}
	for id, status := range map[string]string{"approve": dlq.AwaitingApproval, "deny": dlq.PendingReview, "mend": dlq.Quarantined, "replay": dlq.PendingReview} {
		require.NoError(t, client.Submit(t.Context(), job.Request{JobID: id, Topic: "job.default"}))
		require.NoError(t, h.dlq.Add(t.Context(), dlq.Entry{JobID: id, Status: "FAILED", ReasonCode: "timeout", ReplayStatus: status}))
		require.NoError(t, h.dlq.Redis.Del(t.Context(), dlq.DueKey).Err())
	}
	require.NoError(t, client.replica.Since(t.Context(), "job-1")(t.Context()))
	_, err = operator.Replay(t.Context(), "none", ana)
	require.ErrorIs(t, err, dlq.ErrNoEntry, "and it has seen the replica")
	r.online = false
	for id, decides := range decide {
		assert.ErrorIs(t, decides(id), store.ErrNotReplicated, id)
	}
	r.online = true
	assert.NoError(t, decide["run"](""), "as may be done again")
}
