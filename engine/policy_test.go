package engine

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// kernel is a safety kernel that answers as it is told.
type kernel struct {
	safetypb.UnimplementedSafetyKernelServer
	answer *safetypb.CheckResponse
	err    error
	asked  []*safetypb.CheckRequest
}

func (k *kernel) Check(_ context.Context, req *safetypb.CheckRequest) (*safetypb.CheckResponse, error) {
	k.asked = append(k.asked, req)
	return k.answer, k.err
}

// withKernel gives the harness an engine that asks a kernel over gRPC.
func withKernel(t *testing.T, change ...func(*settings.Settings)) (*harness, *kernel) {
	t.Helper()
	k := &kernel{answer: &safetypb.CheckResponse{Decision: safetypb.Decision_ALLOW, PolicySnapshot: "sha256:1"}}
	lis := bufconn.Listen(1 << 16)
	s := grpc.NewServer()
	safetypb.RegisterSafetyKernelServer(s, k)
	go func() { _ = s.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///kernel", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(); s.Stop() })

	settings := append([]func(*settings.Settings){func(s *settings.Settings) { s.Policy.Timeout = time.Minute }}, change...)
	h := newHarness(t, settings...)
	h.config.Safety = conn
	h.reg = prometheus.NewRegistry()
	h.config.Registerer = h.reg
	h.Engine, err = New(h.config)
	require.NoError(t, err)
	h.worker("worker-1")
	return h, k
}

func TestAnAllowedJobIsAskedAboutOnce(t *testing.T) {
	h, k := withKernel(t)
	req := h.submit()
	h.faults.calls = nil
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, store.Decided{Decision: "ALLOW", Snapshot: "sha256:1"}, h.record().Decided)
	assert.Equal(t, []string{"lock_acquire set", "state_read hgetall", "breaker_read multi", "scheduled_write multi"}, h.faults.calls[:4])
	require.Len(t, k.asked, 1)
	assert.Equal(t, "job-1", k.asked[0].GetJobId())
	assert.Equal(t, req.Hash(), k.asked[0].GetJobHash())
	require.NoError(t, h.handle(req))
	assert.Len(t, k.asked, 1)
}

func TestAScheduledJobHasBeenAllowed(t *testing.T) {
	h, k := withKernel(t)
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	assert.Equal(t, job.Scheduled, h.record().State)
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_DENY}
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, "ALLOW", h.record().Decided.Decision)
	assert.Len(t, k.asked, 1)
}

func TestConstraintsBindEveryPick(t *testing.T) {
	h, k := withKernel(t)
	h.worker("worker-2")
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_ALLOW_WITH_CONSTRAINTS, Constraints: map[string]string{job.LabelPreferredWorker: "worker-2"}}
	req := request("job-1")
	req.Labels = map[string]string{job.LabelPreferredWorker: "worker-1"} // the kernel's word counts for more
	require.NoError(t, h.client().Submit(t.Context(), req))
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	require.NoError(t, h.handle(req))
	assert.Equal(t, "worker-2", h.record().Worker, "in a later handling too")
	assert.Equal(t, map[string]string{"preferred_worker_id": "worker-2"}, h.record().Decided.Constraints)
	assert.Equal(t, map[string]string{"preferred_worker_id": "worker-1"}, req.Labels, "the request stays as it is")
}

func TestConstraintsComeOnTopOfAJobsOwnLabels(t *testing.T) {
	h, k := withKernel(t)
	h.worker("worker-2")
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_ALLOW_WITH_CONSTRAINTS, Constraints: map[string]string{"placement.zone": "a"}}
	for _, id := range []string{"worker-1", "worker-2"} {
		require.NoError(t, h.HandleHeartbeat(job.Heartbeat{
			WorkerID: id, Pool: "default", Topics: []string{"job.default"}, Labels: map[string]string{"zone": "a"}, MaxParallelJobs: 10,
		}))
	}
	req := request("job-1")
	req.Labels = map[string]string{job.LabelPreferredWorker: "worker-2"}
	require.NoError(t, h.client().Submit(t.Context(), req))
	require.NoError(t, h.handle(req))
	assert.Equal(t, "worker-2", h.record().Worker)
	assert.Len(t, req.Labels, 1, "the request stays as it is")
}

// Each setting of the circuit is what its breaker goes by.
func TestTheCircuitGoesByItsSettings(t *testing.T) {
	for _, closeAfter := range []int{2, 3} {
		h, k := withKernel(t, func(s *settings.Settings) {
			s.Policy.CircuitFailBudget, s.Policy.CircuitOpenFor = 4, 20*time.Second
			s.Policy.CircuitHalfOpenMax, s.Policy.CircuitCloseAfter = 5, closeAfter
		})
		req := request("job-1")
		k.err = status.Error(codes.Unavailable, "away")
		for n := range 4 {
			assert.Equal(t, safety.Closed, h.SafetyCircuit(t.Context()), "after %d failures", n)
			_, err := h.checkSafety(t.Context(), &req)
			require.Error(t, err)
		}
		pass := func(d time.Duration) { h.redis.FastForward(d); h.clock.Advance(d) }
		pass(20*time.Second - time.Millisecond)
		assert.Equal(t, safety.Open, h.SafetyCircuit(t.Context()))
		pass(time.Millisecond)
		k.err = nil
		for n := range closeAfter {
			assert.Equal(t, safety.HalfOpen, h.SafetyCircuit(t.Context()), "after %d successes of %d", n, closeAfter)
			_, err := h.checkSafety(t.Context(), &req)
			require.NoError(t, err)
		}
		assert.Equal(t, safety.Closed, h.SafetyCircuit(t.Context()))
	}
}

func TestADeniedJobEndsInTheDLQ(t *testing.T) {
	for _, decision := range []safetypb.Decision{safetypb.Decision_DENY, safetypb.Decision_DECISION_UNSPECIFIED} {
		h, k := withKernel(t)
		k.answer = &safetypb.CheckResponse{Decision: decision, Reason: "no", PolicySnapshot: "sha256:2"}
		require.NoError(t, h.handle(h.submit()))
		rec := h.record()
		assert.Equal(t, job.Denied, rec.State)
		assert.Equal(t, "safety_denied", rec.ReasonCode)
		assert.Equal(t, "DENY", rec.Decided.Decision)
		e := h.dlqEntry()
		assert.Equal(t, "DENIED", e.Status)
		assert.Equal(t, "safety_denied", e.ReasonCode)
		assert.Equal(t, "sha256:2", e.PolicySnapshot)
		assert.Empty(t, h.dispatches())
		assert.EqualValues(t, 1, h.metric(`safety_denied{topic="job.default"}`))
		assert.EqualValues(t, 1, h.metric(`jobs_completed{status="DENIED",topic="job.default"}`))
		h.unlocked()
	}
}

// The decision goes with the request that the kernel was asked about, even if another was submitted before under that id.
func TestTheDeniedRequestIsKept(t *testing.T) {
	h, k := withKernel(t)
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_DENY}
	other := changed(h.submit())
	require.NoError(t, h.handle(other))
	rec := h.record()
	kept, err := rec.Request()
	require.NoError(t, err)
	assert.Equal(t, job.Denied, rec.State)
	assert.Equal(t, other.Hash(), kept.Hash())
}

func TestAJobThatNeedsAnApprovalIsParked(t *testing.T) {
	h, k := withKernel(t)
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_REQUIRE_APPROVAL}
	req := h.submit()
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.ApprovalRequired, h.record().State)
	assert.Equal(t, store.Decided{Decision: "REQUIRE_APPROVAL", JobHash: req.Hash()}, h.record().Decided)
	assert.Empty(t, h.dispatches())
}

func TestAThrottledJobComesBackLater(t *testing.T) {
	h, k := withKernel(t)
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_THROTTLE}
	r := h.retry(h.handle(h.submit()))
	assert.Equal(t, 5*time.Second, r.Delay)
	assert.Equal(t, phase.SafetyCheck, r.Phase)
	assert.Equal(t, job.Pending, h.record().State)
	again := h.retry(h.HandleJobRequest(bus.WithDeliveries(t.Context(), 4), request("job-1")))
	assert.Equal(t, 5*time.Second, again.Delay, "however often")

	h, k = withKernel(t, func(s *settings.Settings) { s.BusyBackoff, s.Policy.ThrottleDelay = true, time.Minute })
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_THROTTLE}
	assert.Equal(t, time.Minute, h.retry(h.handle(h.submit())).Delay, "longer than backoff_max")
}

func TestFailClosedWaitsForADecision(t *testing.T) {
	h, k := withKernel(t)
	k.err = status.Error(codes.Unavailable, "down")
	req := h.submit()
	for range 3 {
		r := h.retry(h.handle(req))
		assert.Equal(t, time.Second, r.Delay, "the base of the back-off")
		require.ErrorIs(t, r, safety.ErrUnavailable)
	}
	r := h.retry(h.handle(req))
	assert.Equal(t, 5*time.Second, r.Delay, "the circuit is open")
	require.ErrorIs(t, r, safety.ErrOpen)
	require.ErrorIs(t, r, safety.ErrUnavailable)
	assert.ErrorContains(t, r, "safety kernel circuit open")
	assert.Len(t, k.asked, 3)
	assert.Equal(t, job.Pending, h.record().State)
	assert.Empty(t, h.dispatches())
	assert.EqualValues(t, 4, h.metric(`safety_unavailable{topic="job.default"}`))
	assert.EqualValues(t, 2, h.metric(`safety_circuit_state{circuit="safety"}`))

	h.redis.FastForward(30 * time.Second)
	r = h.retry(h.HandleJobRequest(bus.WithDeliveries(t.Context(), 4), req))
	assert.Equal(t, 8*time.Second, r.Delay, "it doubles with each delivery")
	h.redis.FastForward(30 * time.Second)

	k.err = nil
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
	assert.EqualValues(t, 1, h.metric(`safety_circuit_state{circuit="safety"}`))
}

func TestFailOpenGoesOnWithoutADecision(t *testing.T) {
	h, k := withKernel(t, func(s *settings.Settings) { s.Policy.FailMode = settings.FailModeOpen })
	k.err = status.Error(codes.Unavailable, "down")
	require.NoError(t, h.handle(h.submit()))
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, "FAIL_OPEN", h.record().Decided.Decision)
	assert.True(t, h.logged("input policy fail-open: safety kernel unreachable", "job-1"))
	assert.EqualValues(t, 1, h.metric(`cordum_scheduler_input_fail_open_total{topic="job.default"}`))

	k.err, k.answer = nil, &safetypb.CheckResponse{Decision: safetypb.Decision_DENY}
	require.NoError(t, h.handle(request("job-2")))
	rec, err := h.store.Read(t.Context(), "job-2")
	require.NoError(t, err)
	assert.Equal(t, job.Denied, rec.State, "what the kernel does say counts")
}

// A kernel that refuses the question can be reached, and is not to be passed by with a request that it cannot take.
func TestFailOpenIsNotForWhatTheKernelRefuses(t *testing.T) {
	for code, want := range map[codes.Code]job.State{
		codes.Unavailable: job.Running, codes.DeadlineExceeded: job.Running, codes.InvalidArgument: job.Pending, codes.OutOfRange: job.Pending,
	} {
		h, k := withKernel(t, func(s *settings.Settings) { s.Policy.FailMode = settings.FailModeOpen })
		k.err = status.Error(code, "no")
		err := h.handle(h.submit())
		assert.Equal(t, want, h.record().State, code)
		if want == job.Pending {
			assert.Equal(t, phase.SafetyCheck, h.retry(err).Phase, code)
			assert.Zero(t, h.metric(`cordum_scheduler_input_fail_open_total{topic="job.default"}`))
		}
	}
}

// While the circuit is open nobody asks the kernel, and what goes through is counted all the same.
func TestWhatGoesThroughAnOpenCircuitIsCounted(t *testing.T) {
	h, k := withKernel(t, func(s *settings.Settings) { s.Policy.FailMode = settings.FailModeOpen })
	k.err = status.Error(codes.Unavailable, "down")
	jobs := h.settings.Policy.CircuitFailBudget + 2
	for n := range jobs {
		require.NoError(t, h.handle(request(fmt.Sprintf("job-%d", n+1))))
	}
	assert.EqualValues(t, jobs, h.metric(`cordum_scheduler_input_fail_open_total{topic="job.default"}`))
}

func TestACallThatTakesTooLongIsAFailure(t *testing.T) {
	h, k := withKernel(t, func(s *settings.Settings) { s.Policy.Timeout = 50 * time.Millisecond })
	k.answer = nil
	hang := make(chan struct{})
	defer close(hang)
	assert.Equal(t, h.settings.Policy.Timeout, h.safety.Timeout)
	h.safety.Conn = hanging{hang}
	require.ErrorIs(t, h.handle(h.submit()), context.DeadlineExceeded)
	n, err := h.redis.Get("cordum:cb:safety:failures")
	require.NoError(t, err)
	assert.Equal(t, "1", n)
}

// throttling is a connection to a kernel that throttles every job.
type throttling struct{ hanging }

func (throttling) Invoke(_ context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	proto.Merge(reply.(proto.Message), &safetypb.CheckResponse{Decision: safetypb.Decision_THROTTLE})
	return nil
}

// hanging is a connection that answers nobody.
type hanging struct{ until chan struct{} }

func (h hanging) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	select {
	case <-ctx.Done():
	case <-h.until:
	}
	return ctx.Err()
}

func (hanging) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}
