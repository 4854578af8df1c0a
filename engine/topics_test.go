package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// deciding is a connection to a kernel that gives one answer, or fails.
type deciding struct {
	hanging
	answer safetypb.Decision
	err    error
}

func (d *deciding) Invoke(_ context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	proto.Merge(reply.(proto.Message), &safetypb.CheckResponse{Decision: d.answer})
	return d.err
}

// twoTopics is a harness with the topics job.a and job.b, whose jobs go to worker-a and worker-b.
type twoTopics struct {
	*harness
	kernel *deciding
	policy *policy
}

func newTwoTopics(t *testing.T, change func(*settings.Settings)) *twoTopics {
	t.Helper()
	two := &twoTopics{kernel: &deciding{answer: safetypb.Decision_ALLOW}, policy: &policy{}}
	two.harness = newHarnessOn(t, func(h *harness) {
		two.policy.f = h.faults
		h.config.Safety, h.config.Output = two.kernel, two.policy
		h.config.Routing = routing.Config{Topics: map[string][]string{"job.a": {"default"}, "job.b": {"default"}}}
	}, func(s *settings.Settings) { s.Output.Enabled, s.MaxDispatchRetries = true, 1 }, change)
	for _, topic := range []string{"a", "b"} {
		require.NoError(t, two.HandleHeartbeat(job.Heartbeat{WorkerID: "worker-" + topic, Pool: "default", Topics: []string{"job." + topic}}))
	}
	return two
}

// A topic may be called as the documents call some of theirs: a worker whose id is no token is reached through it.
func TestATopicBeyondJob(t *testing.T) {
	const topic = "tool.github.pr.create"
	h := newHarnessOn(t, func(h *harness) {
		h.config.Routing = routing.Config{Topics: map[string][]string{topic: {"default"}}}
	}, hardened)
	stop := h.run()
	require.NoError(t, h.HandleHeartbeat(job.Heartbeat{WorkerID: "host.1", Pool: "default", MaxParallelJobs: 4}))
	req := request("job-1")
	req.Topic = topic
	require.NoError(t, h.client().Submit(t.Context(), req))
	require.Eventually(t, func() bool { return h.record().State == job.Running }, time.Minute, 10*time.Millisecond)
	require.NoError(t, stop())
	assert.Equal(t, topic, h.stored()[0].Subject)
}

// submits stores a job of a topic.
func (two *twoTopics) submits(id, topic string) job.Request {
	two.t.Helper()
	req := request(id)
	req.Topic = "job." + topic
	require.NoError(two.t, two.client().Submit(two.t.Context(), req))
	return req
}

// ends handles a request, and a result of its job.
func (two *twoTopics) ends(req job.Request, s job.Status) {
	two.t.Helper()
	require.NoError(two.t, two.handle(req))
	key := "res:" + req.JobID
	require.NoError(two.t, two.redis.Set(key, "the output"))
	require.NoError(two.t, two.HandleJobResult(two.t.Context(), job.Result{JobID: req.JobID, Status: s, ResultPtr: key}))
	two.scanned()
}

// fails handles a request of which something is put off.
func (two *twoTopics) fails(req job.Request) { two.t.Helper(); two.retry(two.handle(req)) }

// What the documents count by topic is counted for the job's own topic: here for one job of job.a, and two of job.b.
func TestCountersTellTopicsApart(t *testing.T) {
	handles := func(two *twoTopics, req job.Request) { require.NoError(two.t, two.handle(req)) }
	succeeds := func(two *twoTopics, req job.Request) { two.ends(req, job.StatusSucceeded) }
	down := func(two *twoTopics, req job.Request) { two.kernel.err = errors.New("down"); _ = two.handle(req) }
	blocked := func(two *twoTopics, req job.Request) { two.policy.meta = answers(quarantines, ""); succeeds(two, req) }
	unpublished := func(two *twoTopics, req job.Request) { two.faults.on(phase.Publish, "before"); two.fails(req) }
	stuck := func(two *twoTopics, req job.Request) {
		two.faults.on(phase.RollbackWrite, "before")
		unpublished(two, req)
	}
	unread := func(two *twoTopics, req job.Request) { two.faults.on(phase.StateRead, "before"); two.fails(req) }
	unanswered := func(two *twoTopics, req job.Request) {
		two.faults.on(phase.OutputCheck, "before")
		succeeds(two, req)
	}
	for series, does := range map[string]func(*twoTopics, job.Request){
		`jobs_received{topic="job.%[1]s"}`:                                                    handles,
		`jobs_dispatched{topic="job.%[1]s"}`:                                                  handles,
		`dispatch_latency{topic="job.%[1]s"}`:                                                 handles,
		`jobs_completed{status="SUCCEEDED",topic="job.%[1]s"}`:                                succeeds,
		`output_check_latency{phase="sync",topic="job.%[1]s"}`:                                succeeds,
		`output_check_latency{phase="async",topic="job.%[1]s"}`:                               succeeds,
		`output_policy_checked{topic="job.%[1]s"}`:                                            blocked,
		`output_policy_quarantined{topic="job.%[1]s"}`:                                        blocked,
		`jobs_completed{status="OUTPUT_QUARANTINED",topic="job.%s"}`:                          blocked,
		`output_policy_skipped{topic="job.%[1]s"}`:                                            unanswered,
		`scheduler_dispatch_rollback_total{topic="job.%s"}`:                                   unpublished,
		`scheduler_dispatch_rollback_failed_total{topic="job.%s"}`:                            stuck,
		`scheduler_state_read_fail_closed_total{topic="job.%s"}`:                              unread,
		`scheduler_state_reads_total{outcome="fail_closed",topic="job.%s"}`:                   unread,
		`scheduler_state_reads_total{outcome="done",topic="job.%s"}`:                          handles,
		`safety_unavailable{topic="job.%s"}`:                                                  down,
		`cordum_scheduler_input_fail_open_total{topic="job.%s"}`:                              down,
		`scheduler_retry_total{phase="publish",reason_code="dispatch_failed",topic="job.%s"}`: unpublished,
		`jobs_completed{status="FAILED",topic="job.%s"}`:                                      func(two *twoTopics, req job.Request) { two.ends(req, job.StatusFailed) },
		`safety_denied{topic="job.%s"}`: func(two *twoTopics, req job.Request) {
			two.kernel.answer = safetypb.Decision_DENY
			handles(two, req)
		},
		`scheduler_stale_worker_retry_total{topic="job.%[1]s",worker="worker-%[1]s"}`: func(two *twoTopics, req job.Request) {
			two.clock.Advance(two.settings.WorkerTTL + 1)
			two.fails(req)
		},
		`orphan_replayed{topic="job.%s"}`: func(two *twoTopics, req job.Request) {
			rec, err := two.store.Read(two.t.Context(), req.JobID)
			require.NoError(two.t, err)
			require.NoError(two.t, two.replay(two.t.Context(), &rec))
		},
		`jobs_completed{status="CANCELLED",topic="job.%s"}`: func(two *twoTopics, req job.Request) {
			require.NoError(two.t, two.HandleJobCancel(two.t.Context(), job.Cancel{JobID: req.JobID}))
		},
		`jobs_completed{status="TIMEOUT",topic="job.%s"}`: func(two *twoTopics, req job.Request) {
			rec, err := two.store.Read(two.t.Context(), req.JobID)
			require.NoError(two.t, err)
			require.NoError(two.t, two.timeOut(two.t.Context(), &rec, "overdue"))
		},
	} {
		t.Run(series, func(t *testing.T) {
			two := newTwoTopics(t, func(s *settings.Settings) { s.Policy.FailMode = settings.FailModeOpen })
			for i, topic := range []string{"a", "b", "b"} {
				does(two, two.submits(fmt.Sprint("job-", i), topic))
			}
			for topic, n := range map[string]float64{"a": 1, "b": 2} {
				assert.Equal(t, n, two.metric(fmt.Sprintf(series, topic)), topic)
			}
		})
	}
}

// The alert on consecutive fail-closed retries needs both outcomes, by topic, from every replica. A job without a record
// has been read.
func TestStateReadsAreCountedByTopicAndOutcome(t *testing.T) {
	two := newTwoTopics(t, func(*settings.Settings) {})
	reads := func(topic, outcome string) float64 {
		return two.metric(`scheduler_state_reads_total{outcome="` + outcome + `",topic="job.` + topic + `"}`)
	}
	a, b := two.submits("job-1", "a"), request("job-2")
	b.Topic = "job.b"
	for range 3 {
		two.faults.on(phase.StateRead, "before")
		two.fails(a)
	}
	require.NoError(t, two.handle(b))
	assert.EqualValues(t, 0, reads("a", metrics.ReadDone))
	require.NoError(t, two.handle(a))
	assert.EqualValues(t, 3, reads("a", metrics.ReadFailedClosed))
	assert.EqualValues(t, 1, reads("a", metrics.ReadDone))
	assert.EqualValues(t, 0, reads("b", metrics.ReadFailedClosed))
	assert.EqualValues(t, 1, reads("b", metrics.ReadDone))
}
