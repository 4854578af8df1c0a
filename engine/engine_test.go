package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// subscribed tells when the engine listens for heartbeats.
type subscribed struct {
	*nats.Conn
	listens chan struct{}
}

func (s subscribed) Subscribe(subject string, cb nats.MsgHandler) (*nats.Subscription, error) {
	sub, err := s.Conn.Subscribe(subject, cb)
	if err == nil {
		err = s.Flush()
	}
	close(s.listens)
	return sub, err
}

// run runs the engine until stop is called, which returns what Run returned.
func (h *harness) run() (stop func() error) {
	ctx, cancel := context.WithCancel(h.t.Context())
	listens, ended := make(chan struct{}), make(chan error, 1)
	h.nats = subscribed{h.nc, listens}
	go func() { ended <- h.Run(ctx) }()
	<-listens
	return func() error { cancel(); return <-ended }
}

// loops is how many tickers a running engine has: the sweep's, the reconciler's, the replayer's and the
// snapshot's.
const loops = 4

func (h *harness) send(subject string, v any, header nats.Header) {
	h.t.Helper()
	data, raw := v.([]byte)
	if !raw {
		var err error
		data, err = json.Marshal(v)
		require.NoError(h.t, err)
	}
	require.NoError(h.t, h.nc.PublishMsg(&nats.Msg{Subject: subject, Data: data, Header: header}))
}

func TestRunTakesAJobFromSubmitToItsEnd(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.RetryDelayBusy = time.Millisecond }) // a quick result meets the request's lock
	inbox, err := h.nc.SubscribeSync("worker.worker-1.jobs")
	require.NoError(t, err)
	var handling float64
	h.faults.first = map[phase.Phase]func(){phase.StateRead: func() { handling = h.metric("active_goroutines") }}
	stop := h.run()
	h.send(bus.SubjectHeartbeat, job.Heartbeat{WorkerID: "worker-1", Pool: "default"}, nil)
	h.send(bus.SubjectHeartbeat, []byte("{"), nil)
	h.logs.await("heartbeat ignored") // and the one before it was not

	h.submit()
	msg, err := inbox.NextMsgWithContext(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "job-1", msg.Header.Get("Job-Id"))
	h.send(bus.SubjectResult, job.Result{JobID: "job-1", WorkerID: "worker-1", Status: job.StatusSucceeded}, nil)
	h.logs.await("job completed")
	require.NoError(t, stop())
	assert.Equal(t, job.Succeeded, h.record().State)
	assert.EqualValues(t, 1, handling)
	assert.Zero(t, h.metric("active_goroutines"))

	for _, name := range []string{"scheduler-submit", "scheduler-result"} {
		c, err := h.js.Consumer(t.Context(), "CORDUM_SYS", name)
		require.NoError(t, err)
		info, err := c.Info(t.Context())
		require.NoError(t, err)
		assert.Zero(t, info.NumAckPending, "everything was acknowledged before Run returned")
		assert.Zero(t, info.NumPending)
		assert.Equal(t, jetstream.AckExplicitPolicy, info.Config.AckPolicy)
		assert.Equal(t, h.settings.AckWait, info.Config.AckWait)
		assert.Equal(t, 100, info.Config.MaxDeliver)
	}
}

// Scheduler internals, section 9: the DLQ entry is written before the message is terminated.
func TestRunTerminatesPoison(t *testing.T) {
	h := newHarness(t)
	stop := h.run()
	h.send(bus.SubjectSubmit, []byte("{"), nats.Header{"Job-Id": {"job-1"}})
	h.logs.await("message terminated")
	h.send(bus.SubjectResult, job.Result{JobID: "job-2", Status: "DONE"}, nil)
	h.logs.await(`schema_invalid`)
	h.send(bus.SubjectSubmit, []byte("{\"job_id\":\"job-\xff\",\"topic\":\"job.default\"}"), nats.Header{"Job-Id": {"job-3"}})
	h.logs.await("not valid UTF-8")
	require.NoError(t, stop())

	e, err := h.dlq.Get(t.Context(), "CORDUM_SYS:1")
	require.NoError(t, err)
	assert.Equal(t, "parse_error", e.ReasonCode)
	assert.Equal(t, "TERMINATED", e.Status)
	assert.Equal(t, "sys.job.submit", e.Topic)
	assert.Equal(t, "CORDUM_SYS:1", e.JobID)
	assert.Contains(t, e.Reason, `claims to be about job "job-1": `)
	assert.Equal(t, "pending_review", e.ReplayStatus)
	for _, place := range []string{"CORDUM_SYS:2", "CORDUM_SYS:3"} {
		e, err = h.dlq.Get(t.Context(), place)
		require.NoError(t, err)
		assert.Equal(t, "schema_invalid", e.ReasonCode)
	}
}

// A stream that is made anew numbers its messages from 1 again: what was said of another message at that place does not
// stand in the way of this one's entry.
func TestPoisonAtAPlaceThatWasUsedBefore(t *testing.T) {
	h := newHarness(t)
	var before dlq.Entry
	for n, body := range []string{"{", "["} {
		stop := h.run()
		h.send(bus.SubjectSubmit, []byte(body), nats.Header{"Job-Id": {fmt.Sprintf("job-%d", n)}})
		require.Eventually(t, func() bool {
			e, err := h.dlq.Get(t.Context(), "CORDUM_SYS:1")
			return err == nil && strings.Contains(e.Reason, fmt.Sprintf(`about job "job-%d"`, n))
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, stop())
		e, err := h.dlq.Get(t.Context(), "CORDUM_SYS:1")
		require.NoError(t, err)
		assert.Greater(t, e.MessageAt, before.MessageAt)
		before = e
		require.NoError(t, h.js.DeleteStream(t.Context(), bus.StreamSys))
	}
}

// What a message claims to be about may have failed, and its entry is for triage.
func TestPoisonLeavesTheEntryOfItsJobAlone(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	require.NoError(t, h.handle(h.submit()))
	require.NoError(t, h.result(job.StatusFailed))
	entry := h.dlqEntry()
	stop := h.run()
	h.send(bus.SubjectResult, []byte("{"), nats.Header{"Job-Id": {"job-1"}})
	h.logs.await("message terminated")
	require.NoError(t, stop())
	assert.Equal(t, entry, h.dlqEntry())
	_, err := h.dlq.Get(t.Context(), "CORDUM_SYS:2")
	require.NoError(t, err)
}

func TestRunKeepsPoisonThatCannotBeRecorded(t *testing.T) {
	h := newHarness(t)
	h.faults.on(phase.DLQWrite, "before")
	acks, err := h.nc.SubscribeSync("$JS.ACK.CORDUM_SYS.scheduler-submit.>")
	require.NoError(t, err)
	stop := h.run()
	h.send(bus.SubjectSubmit, []byte("{"), nil)
	msg, err := acks.NextMsgWithContext(t.Context())
	require.NoError(t, err)
	assert.Equal(t, `-NAK {"delay": 5000000000}`, string(msg.Data))
	require.NoError(t, stop())
	assert.EqualValues(t, 1, h.metric(`scheduler_dlq_write_failed_total{topic="unknown"}`))
}

// The message's end may be lost after its entry: it comes again, and what triage has made of the entry stands.
func TestPoisonThatComesAgainKeepsItsDecision(t *testing.T) {
	h := newHarness(t)
	msg := &poison{seq: 7}
	p := &bus.Poison{ReasonCode: job.ReasonParseError, Err: errors.New("not JSON")}
	require.NoError(t, h.recordPoison(t.Context(), msg, p))
	e, err := h.dlq.Get(t.Context(), "CORDUM_SYS:7")
	require.NoError(t, err)
	e.ReplayStatus, e.Action = dlq.Quarantined, dlq.Quarantine
	require.NoError(t, h.dlq.Add(t.Context(), e))
	decided, err := h.redis.Get(dlq.EntryKey("CORDUM_SYS:7"))
	require.NoError(t, err)
	h.clock.Advance(time.Minute)
	require.NoError(t, h.recordPoison(t.Context(), msg, p))
	again, err := h.redis.Get(dlq.EntryKey("CORDUM_SYS:7"))
	require.NoError(t, err)
	assert.Equal(t, decided, again)
}

// poison is a message by its place in the stream.
type poison struct {
	jetstream.Msg
	seq uint64
}

func (p *poison) Subject() string      { return bus.SubjectSubmit }
func (p *poison) Headers() nats.Header { return nats.Header{job.Header: {"job-1"}} }
func (p *poison) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Stream: bus.StreamSys, Sequence: jetstream.SequencePair{Stream: p.seq}}, nil
}

func TestRunSendsBackWhatMustBeRetried(t *testing.T) {
	h := newHarness(t)
	acks, err := h.nc.SubscribeSync("$JS.ACK.CORDUM_SYS.scheduler-submit.>")
	require.NoError(t, err)
	stop := h.run()
	h.submit() // nobody can take it
	msg, err := acks.NextMsgWithContext(t.Context())
	require.NoError(t, err)
	assert.Equal(t, `-NAK {"delay": 2000000000}`, string(msg.Data))
	require.NoError(t, stop())
}

// Scheduler internals, section 9: the message was handled, and the ack was lost with its replica.
func TestRunSkipsWhatWasHandledBefore(t *testing.T) {
	for guarded, want := range map[bool]int{true: 0, false: 1} {
		h := newHarness(t, func(s *settings.Settings) { s.IdempotencyGuard = guarded })
		h.worker("worker-1")
		h.submit()
		sys, err := h.js.Stream(t.Context(), bus.StreamSys)
		require.NoError(t, err)
		stored, err := sys.GetMsg(t.Context(), 1)
		require.NoError(t, err)
		require.NoError(t, h.redis.Set("cordum:bus:processed:CORDUM_SYS:1", fmt.Sprint(stored.Time.UnixNano())))
		acks, err := h.nc.SubscribeSync("$JS.ACK.CORDUM_SYS.scheduler-submit.>")
		require.NoError(t, err)
		stop := h.run()
		msg, err := acks.NextMsgWithContext(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "+ACK", string(msg.Data))
		require.NoError(t, stop())
		assert.Len(t, h.dispatches(), want)
	}
}

func TestAHandledMessageIsRememberedForTheAckWait(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.AckWait = 3 * time.Minute })
	h.worker("worker-1")
	h.submit()
	done := h.handled()
	stop := h.run()
	done()
	require.NoError(t, stop())
	assert.Equal(t, 3*time.Minute, h.redis.TTL("cordum:bus:processed:CORDUM_SYS:1"))
}

// The streams were lost, and Redis was not: what is stored in the place of an older message is new work.
func TestRunHandlesWhatANewStreamHolds(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	require.NoError(t, h.redis.Set("cordum:bus:processed:CORDUM_SYS:1", "1600000000000000000"))
	h.submit()
	done := h.handled()
	stop := h.run()
	done()
	require.NoError(t, stop())
	assert.Len(t, h.dispatches(), 1)
}

// A message that keeps meeting a busy lock, or a store that fails, stays away for longer each time.
func TestInfrastructureDelay(t *testing.T) {
	for name, c := range map[string]struct {
		harm  func(h *harness)
		first time.Duration
	}{
		"poison that cannot be recorded": {func(h *harness) { h.faults.on(phase.DLQWrite, "before") }, 5 * time.Second},
		"busy lock":                      {func(h *harness) { require.NoError(h.t, h.redis.Set("cordum:scheduler:job:job-1", "another")) }, 500 * time.Millisecond},
		"lock error":                     {func(h *harness) { h.faults.on(phase.LockAcquire, "before") }, time.Second},
		"read error":                     {func(h *harness) { h.faults.on(phase.StateRead, "before") }, time.Second},
		"write error":                    {func(h *harness) { h.faults.on(phase.ScheduledWrite, "before") }, time.Second},
		"fenced write":                   {func(h *harness) { h.faults.first[phase.ScheduledWrite] = h.take }, 500 * time.Millisecond},
		"throttled": {func(h *harness) {
			h.safety = &safety.Client{Conn: throttling{}, Timeout: time.Minute, Breaker: h.breaker(nil, "safety kernel", safety.SafetyPrefix)}
		}, 5 * time.Second},
	} {
		for backoff, factor := range map[bool]time.Duration{false: 1, true: 4} {
			h := newHarness(t, func(s *settings.Settings) { s.BusyBackoff, s.Fence = backoff, true })
			h.worker("worker-1")
			c.harm(h)
			pull, err := h.openConsumer(t.Context(), bus.ConsumerSubmit, bus.SubjectSubmit)
			require.NoError(t, err)
			acks, err := h.nc.SubscribeSync("$JS.ACK.CORDUM_SYS.scheduler-submit.>")
			require.NoError(t, err)
			if name == "poison that cannot be recorded" {
				h.send(bus.SubjectSubmit, []byte("{"), nil)
			} else {
				h.submit()
			}
			for range 2 { // this is to be the third delivery
				msg, err := pull.Next()
				require.NoError(t, err)
				require.NoError(t, msg.Nak())
				_, err = acks.NextMsgWithContext(t.Context())
				require.NoError(t, err)
			}
			stop := h.run()
			msg, err := acks.NextMsgWithContext(t.Context())
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprintf(`-NAK {"delay": %d}`, factor*c.first), string(msg.Data), name)
			require.NoError(t, stop())
		}
	}
}

// Messages that wait out their delay keep no other back, however many they are.
func TestWaitingMessagesAreNoLimit(t *testing.T) {
	h := newHarness(t)
	pull, err := h.openConsumer(t.Context(), bus.ConsumerSubmit, bus.SubjectSubmit)
	require.NoError(t, err)
	assert.Equal(t, -1, pull.CachedInfo().Config.MaxAckPending)
}

func TestRunSweepsTheRegistry(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	stop := h.run()
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops))
	for range 4 {
		h.clock.Advance(h.settings.RegistrySweep)
	}
	h.logs.await("worker evicted")
	require.NoError(t, stop())
	assert.Empty(t, h.registry.Snapshot())
}

func TestRunSurvivesTheLossOfItsStreams(t *testing.T) {
	h := newHarness(t)
	stop := h.run()
	h.submit()
	h.logs.await("retrying later") // it consumes
	for _, name := range []string{bus.StreamSys, bus.StreamJobs} {
		require.NoError(t, h.js.DeleteStream(t.Context(), name))
	}
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops+3)) // with three pulls that failed
	listens, err := h.nc.SubscribeSync("$JS.API.CONSUMER.MSG.NEXT.CORDUM_SYS.scheduler-submit")
	require.NoError(t, err)
	h.worker("worker-1")
	h.clock.Advance(h.settings.RetryDelayStore)
	_, err = listens.NextMsgWithContext(t.Context()) // it consumes again
	require.NoError(t, err)
	h.submit()
	h.logs.await("job dispatched")
	require.NoError(t, stop())
	assert.Len(t, h.dispatches(), 1)
}

func TestRunFailsWhereItCannotStart(t *testing.T) {
	h := newHarness(t)
	h.streams.Replicas = 7
	for _, name := range []string{bus.StreamSys, bus.StreamJobs} {
		require.NoError(t, h.js.DeleteStream(t.Context(), name))
	}
	assert.ErrorContains(t, h.Run(t.Context()), "stream CORDUM_SYS")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.NoError(t, h.Run(ctx), "a stop while starting is a stop")
}

// A result must outlast the handler that died with it. Of a stream that its operator made it is said.
func TestStreamsThatForget(t *testing.T) {
	h := newHarness(t)
	h.config.Registerer, h.config.Streams.MaxAge = nil, MaxAgeMin(&h.config.Settings)-1
	_, err := New(h.config)
	require.ErrorContains(t, err, "make it at least")
	h.config.Settings = settings.Hardened()
	h.config.Streams.MaxAge = MaxAgeMin(&h.config.Settings)
	_, err = New(h.config)
	require.NoError(t, err)

	for _, name := range []string{bus.StreamSys, bus.StreamJobs} {
		h = newHardened(t)
		s, err := h.js.Stream(t.Context(), name)
		require.NoError(t, err)
		cfg := s.CachedInfo().Config
		cfg.MaxAge, cfg.Duplicates = time.Minute, time.Minute
		_, err = h.js.UpdateStream(t.Context(), cfg)
		require.NoError(t, err)
		stop := h.run()
		h.logs.await("the stream forgets what may come again")
		require.NoError(t, stop())
		assert.True(t, h.logged("the stream forgets what may come again", name))
	}

	h = newHardened(t)
	h.streams = bus.StreamOptions{Replicas: 3}
	s, err := h.js.Stream(t.Context(), bus.StreamJobs)
	require.NoError(t, err)
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs, cfg.MaxBytes, cfg.MaxMsgsPerSubject = 1_000_000, 1<<30, 10
	s, err = h.js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	h.warnOfLimits(t.Context(), s)
	assert.True(t, h.logged("the stream is kept by fewer servers than asked for", `"replicas":1,"asked":3`))
	for _, limit := range []string{`"max_msgs":1000000`, `"max_bytes":1073741824`, `"max_msgs_per_subject":10`} {
		assert.True(t, h.logged("the stream drops or refuses messages once it is full", limit+`,"stream":"CORDUM_JOBS"`))
	}
	assert.True(t, h.logged("kept in memory", bus.StreamJobs))
}

// A stream that does not keep what was acknowledged ends the start.
func TestAStreamOfAnotherRetention(t *testing.T) {
	h := newHardened(t)
	require.NoError(t, h.js.DeleteStream(t.Context(), bus.StreamJobs))
	_, err := h.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: bus.StreamJobs, Subjects: bus.JobsSubjects, Retention: jetstream.WorkQueuePolicy})
	require.NoError(t, err)
	assert.ErrorIs(t, h.Run(t.Context()), bus.ErrUnfit)
}

func TestNewSaysEverythingThatIsWrong(t *testing.T) {
	_, err := New(Config{})
	for _, problem := range []string{"no ID", "no Redis client", "no JetStream", "no NATS"} {
		assert.ErrorContains(t, err, problem)
	}
	h := newHarness(t)
	for problem, change := range map[string]func(*Config){
		"different slots": func(c *Config) {
			c.Redis = redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
		},
		"repeats by itself what it got no answer to, up to 3 times": func(c *Config) {
			c.Redis = redis.NewClient(&redis.Options{Addr: h.redis.Addr(), ContextTimeoutEnabled: true})
		},
		"does not honour a call's deadline": func(c *Config) {
			c.Redis = redis.NewClient(&redis.Options{Addr: h.redis.Addr(), MaxRetries: -1})
		},
		"settings: max_dispatch_retries is 0; it must be from 1 to 1000": func(c *Config) { c.Settings.MaxDispatchRetries = 0 },
		`settings: dispatch_order is "inbox"; it must be one of state-first, publish-first, outbox`: func(c *Config) {
			c.Settings.DispatchOrder = "inbox"
		},
		"Streams.MaxAge is 57m30s, too short: a message has to stay in its stream for as long as it may be delivered or published again; make it at least 57m31s": func(c *Config) {
			c.Settings, c.Streams.MaxAge = settings.Hardened(), 57*time.Minute+30*time.Second
		},
		"at least 2h2m30s, or 0 for ever": func(c *Config) {
			c.Settings, c.Streams.MaxAge = settings.Hardened(), time.Hour
			c.Settings.TopicTimeouts = "job.fast=20s,job.slow=2h"
		},
		"backoff_base is 1m0s; it must not be longer than backoff_max, 30s":  func(c *Config) { c.Settings.BackoffBase = 60e9 },
		"settings: job_lock_ttl is -1ns; it must be from 10ms to 24h":        func(c *Config) { c.Settings.JobLockTTL = -1 },
		`topic "job.x" has no pool`:                                          func(c *Config) { c.Routing.Topics = map[string][]string{"job.x": nil} },
		"a registerer of its own":                                            func(c *Config) { c.Registerer = h.reg },
		`settings: stale_reason_code is ""; it must be one of no_workers, s`: func(c *Config) { c.Settings.StaleReasonCode = "" },
	} {
		c := h.config
		c.Registerer = nil
		change(&c)
		_, err := New(c)
		assert.ErrorContains(t, err, problem)
	}
}

func TestDefaults(t *testing.T) {
	h := newHarness(t)
	e, err := New(Config{ID: "x", Redis: h.config.Redis, JetStream: h.config.JetStream, NATS: h.nc})
	require.NoError(t, err)
	assert.Equal(t, settings.Hardened(), e.settings)
	a, b := e.random.Uint64(t.Context()), e.random.Uint64(t.Context())
	assert.NotEqual(t, a, b)
	assert.NotEqual(t, e.locks.Token(t.Context()), e.locks.Token(t.Context()))
}

func TestPresets(t *testing.T) {
	assert.NoError(t, settings.Documented().Validate())
	assert.NoError(t, settings.Hardened().Validate())
	want := settings.Documented()
	want.StaleReasonCode = "stale_worker"
	want.DLQOrder, want.TickLock = "atomic", "renewed"
	want.Policy.SharedProbes = true
	want.Output.DurableScans = true
	want.TenantReserve = true
	for _, toggle := range []*bool{
		&want.Fence, &want.Epochs, &want.ResumeIntents, &want.RefuseStaleResults, &want.VoidIntents, &want.RetryUnpublished, &want.CancelNotice, &want.KeepCancellations, &want.ConfirmAcks, &want.WaitReplica,
		&want.SweepScheduled, &want.RecheckTimeouts, &want.WatchWorkers, &want.BusyBackoff, &want.EvenBackoff, &want.SnapshotLastSeen, &want.CountDispatches, &want.TenantReserve,
		&want.Saga.AtomicRecord, &want.Saga.Peek, &want.Saga.DurableRollback,
		&want.Workflow.StrictRunLock, &want.Workflow.FenceRuns,
	} {
		*toggle = true
	}
	assert.Equal(t, want, settings.Hardened())
	assert.Error(t, settings.Settings{}.Validate())
}

// A call has the time that its setting gives it, as the harness sees to in all tests; here no two settings are alike.
func TestCallsHaveTheirTime(t *testing.T) {
	h, _ := newChecked(t, func(s *settings.Settings) {
		s.StoreOpTimeout, s.PublishTimeout, s.SnapshotReadTimeout = 10*time.Minute, 5*time.Minute, 40*time.Second
		s.Output.CheckTimeout, s.Output.ScanTimeout = 20*time.Second, 2*time.Minute
	})
	h.force(job.Pending, 0)
	h.worker("worker-1")
	require.NoError(t, h.writeSnapshot(t.Context(), h.snapshotLock()))
	h.warmStart(t.Context())
	require.NoError(t, h.handle(request("job-1")))
	require.NoError(t, h.succeeds())
	h.scanned()
	require.NoError(t, h.dlq.Add(phase.With(t.Context(), "job-2", phase.DLQWrite), dlq.Entry{JobID: "job-2"}))
	done := h.handled()
	stop := h.run() // with the guard of messages
	done()
	require.NoError(t, stop())
}
