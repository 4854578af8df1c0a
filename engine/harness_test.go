package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

var errInjected = errors.New("injected")

// faults fails calls by the phase they are tagged with. It is a redis.Hook.
type faults struct {
	mu       sync.Mutex
	script   map[phase.Phase][]string // one word a call: "ok", "before" (not applied), "after" (applied, but the caller sees an error), "refused" (the stream says no), "unanswered" (it says nothing), "too large" (it always will)
	first    map[phase.Phase]func()   // done once, ahead of the next call
	calls    []string                 // every call: phase and command
	times    map[string]time.Duration // that calls are to have, by the setting that says so
	untimely []string                 // those that had another
}

func (f *faults) on(p phase.Phase, words ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script[p] = append(f.script[p], words...)
}

func (f *faults) call(ctx context.Context, name string, apply func() error) error {
	if name == "hello" || name == "client" {
		return apply()
	}
	p := phase.From(ctx).Phase
	f.mu.Lock()
	first := f.first[p]
	delete(f.first, p)
	f.mu.Unlock()
	if first != nil {
		first()
	}
	f.mu.Lock()
	f.calls = append(f.calls, string(p)+" "+name)
	at, _ := ctx.Deadline()
	left, want := time.Until(at), f.times[timeOf(p, name)]
	if p != "" && (left > want || left < want-want/5-8*time.Second) { // a busy machine may have used up some of it
		f.untimely = append(f.untimely, fmt.Sprintf("%s %s has %v, not %v", p, name, left, want))
	}
	word := "ok"
	if q := f.script[p]; len(q) > 0 {
		word, f.script[p] = q[0], q[1:]
	}
	f.mu.Unlock()
	switch word {
	case "before":
		return errInjected
	case "late":
		return context.DeadlineExceeded
	case "too large":
		return fmt.Errorf("nats: %w", nats.ErrMaxPayload)
	case "unanswered":
		return fmt.Errorf("nats: %w", jetstream.ErrNoStreamResponse)
	case "refused":
		return fmt.Errorf("nats: %w", &jetstream.APIError{ErrorCode: 10077, Description: "maximum messages exceeded"})
	}
	if err := apply(); err != nil || word == "ok" {
		return err
	}
	return errInjected
}

// timeOf is the setting that says how much time a call has.
func timeOf(p phase.Phase, name string) string {
	switch {
	case p == phase.SnapshotRead:
		return "snapshot_read_timeout"
	case p == phase.OutputCheck:
		return "output.check_timeout"
	case p == phase.OutputScan:
		return "output.scan_timeout"
	case name == "publish", p == phase.PublishRead:
		return "publish_timeout"
	}
	return "store_op_timeout"
}

func (f *faults) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *faults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := f.call(ctx, cmd.Name(), func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (f *faults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := f.call(ctx, cmds[0].Name(), func() error { return next(ctx, cmds) })
		if errors.Is(err, errInjected) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

// faultyJetStream is a JetStream whose publishes fail by phase.
type faultyJetStream struct {
	jetstream.JetStream
	f *faults
}

func (j faultyJetStream) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	err = j.f.call(ctx, "publish", func() error {
		ack, err = j.JetStream.PublishMsg(ctx, m, opts...)
		return err
	})
	return ack, err
}

func (j faultyJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := j.JetStream.Stream(ctx, name)
	return faultyStream{s, j.f}, err
}

// faultyStream is a stream whose reads fail by phase.
type faultyStream struct {
	jetstream.Stream
	f *faults
}

func (s faultyStream) GetLastMsgForSubject(ctx context.Context, subject string) (msg *jetstream.RawStreamMsg, err error) {
	err = s.f.call(ctx, "get", func() error {
		msg, err = s.Stream.GetLastMsgForSubject(ctx, subject)
		return err
	})
	return msg, err
}

// atFirst has something done ahead of the next call of a phase.
func (f *faults) atFirst(p phase.Phase, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first[p] = do
}

// soon is what comes over a channel. A test that waits in vain fails, and does not hang.
func soon[T any](t testing.TB, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "it does not come: "+what)
	}
	return v
}

// zeroRandom makes jitter nothing.
type zeroRandom struct{}

func (zeroRandom) Uint64(context.Context) uint64 { return 0 }

// startNATS runs a server with JetStream in this process, without a network.
func startNATS(t testing.TB) *nats.Conn {
	dir, err := os.MkdirTemp("", "engine")
	require.NoError(t, err)
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	nc, err := nats.Connect("", nats.InProcessServer(s))
	require.NoError(t, err)
	t.Cleanup(func() {
		nc.Close()
		s.Shutdown()
		s.WaitForShutdown()
		_ = os.RemoveAll(dir)
	})
	return nc
}

// harness is one engine on servers of its own, a fake clock, and faults by phase.
type harness struct {
	*Engine
	t      *testing.T
	config Config
	redis  *miniredis.Miniredis
	nc     *nats.Conn
	clock  *clockwork.FakeClock
	faults *faults
	reg    *prometheus.Registry
	logs   *syncBuffer
}

// syncBuffer is a bytes.Buffer for several writers, in which a reader can wait for words.
type syncBuffer struct {
	t     testing.TB
	mu    sync.Mutex
	wrote sync.Cond
	b     bytes.Buffer
}

func newSyncBuffer(t testing.TB) *syncBuffer {
	s := &syncBuffer{t: t}
	s.wrote.L = &s.mu
	return s
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote.Broadcast()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// await returns once the log holds words. A test that waits in vain fails, and does not hang.
func (s *syncBuffer) await(words string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, func() { s.mu.Lock(); defer s.mu.Unlock(); s.wrote.Broadcast() })()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.b.String(), words) {
		require.NoError(s.t, ctx.Err(), "the log never says %q", words)
		s.wrote.Wait()
	}
}

func newHarness(t *testing.T, change ...func(*settings.Settings)) *harness {
	t.Helper()
	return newHarnessOn(t, func(*harness) {}, change...)
}

// newHarnessOn is a harness with more in its engine's configuration than the settings.
func newHarnessOn(t *testing.T, configure func(*harness), change ...func(*settings.Settings)) *harness {
	t.Helper()
	h := &harness{
		t: t, redis: miniredis.RunT(t), nc: startNATS(t),
		clock:  clockwork.NewFakeClockAt(time.UnixMilli(1_700_000_000_000)),
		faults: &faults{script: map[phase.Phase][]string{}, first: map[phase.Phase]func(){}},
		reg:    prometheus.NewRegistry(),
		logs:   newSyncBuffer(t),
	}
	client := redis.NewClient(&redis.Options{Addr: h.redis.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(h.faults)
	js, err := jetstream.New(h.nc)
	require.NoError(t, err)
	settings := settings.Documented()
	settings.StoreOpTimeout = 9 * time.Minute // on the wall clock, where nothing may depend on it
	settings.PublishTimeout = 6 * time.Minute
	for _, c := range change {
		c(&settings)
	}
	h.faults.times = map[string]time.Duration{
		"store_op_timeout": settings.StoreOpTimeout, "publish_timeout": settings.PublishTimeout, "snapshot_read_timeout": settings.SnapshotReadTimeout,
		"output.check_timeout": settings.Output.CheckTimeout, "output.scan_timeout": settings.Output.ScanTimeout,
	}
	t.Cleanup(func() { require.Empty(t, h.faults.untimely) })
	h.config = Config{
		ID: "scheduler-1", Settings: settings, Streams: bus.StreamOptions{Storage: jetstream.MemoryStorage},
		Redis: client, JetStream: faultyJetStream{js, h.faults}, NATS: h.nc, Clock: h.clock, Random: zeroRandom{},
		Logger: slog.New(slog.NewJSONHandler(h.logs, nil)), Registerer: h.reg,
	}
	configure(h)
	h.Engine, err = New(h.config)
	require.NoError(t, err)
	_, _, err = bus.EnsureStreams(t.Context(), js, h.config.Streams)
	require.NoError(t, err)
	return h
}

// worker makes a worker known and alive.
func (h *harness) worker(id string) {
	h.t.Helper()
	require.NoError(h.t, h.HandleHeartbeat(job.Heartbeat{WorkerID: id, Pool: "default", Topics: []string{"job.default"}, MaxParallelJobs: 10}))
}

func request(id string) job.Request {
	return job.Request{JobID: id, Topic: "job.default", IdempotencyKey: "key-" + id, Payload: json.RawMessage(`{"n":1}`), TraceID: "trace"}
}

// submit stores and publishes job-1.
func (h *harness) submit() job.Request {
	h.t.Helper()
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
	require.NoError(h.t, err)
	req := request("job-1")
	require.NoError(h.t, c.Submit(h.t.Context(), req))
	return req
}

func (h *harness) handle(req job.Request) error { return h.HandleJobRequest(h.t.Context(), req) }

func (h *harness) result(s job.Status) error {
	return h.HandleJobResult(h.t.Context(), job.Result{JobID: "job-1", WorkerID: "worker-1", Status: s, Reason: "because", ReasonCode: "tool_error"})
}

// retry asserts that err is a retry event and returns it.
func (h *harness) retry(err error) *RetryableError {
	h.t.Helper()
	var r *RetryableError
	require.ErrorAs(h.t, err, &r)
	return r
}

func (h *harness) record() store.Record {
	h.t.Helper()
	rec, err := h.store.Read(context.Background(), "job-1")
	require.NoError(h.t, err)
	return rec
}

// take gives job-1's lock to another, under the feet of whoever has it.
func (h *harness) take() {
	_ = h.redis.Set("cordum:scheduler:job:job-1", "another")
}

// force puts job-1 into a state, as if it had come there.
func (h *harness) force(s job.State, attempts int) {
	h.t.Helper()
	h.redis.HSet("job:job-1", "state", string(s), "attempts", fmt.Sprint(attempts))
	for _, other := range job.States {
		_, _ = h.redis.ZRem("job:index:"+string(other), "job-1")
	}
	_, err := h.redis.ZAdd("job:index:"+string(s), 1, "job-1")
	require.NoError(h.t, err)
}

// dispatches returns every dispatch that the stream has stored.
func (h *harness) dispatches() (out []job.Dispatch) {
	h.t.Helper()
	for _, m := range h.stored() {
		var d job.Dispatch
		require.NoError(h.t, json.Unmarshal(m.Data, &d))
		require.Equal(h.t, d.JobID, m.Header.Get("Job-Id"))
		out = append(out, d)
	}
	return out
}

func (h *harness) stored() (out []*jetstream.RawStreamMsg) {
	h.t.Helper()
	s, err := h.js.Stream(h.t.Context(), bus.StreamJobs)
	require.NoError(h.t, err)
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(h.t.Context(), seq)
		require.NoError(h.t, err)
		out = append(out, m)
	}
	return out
}

func (h *harness) dlqEntry() dlq.Entry {
	h.t.Helper()
	e, err := h.dlq.Get(context.Background(), "job-1")
	require.NoError(h.t, err)
	return e
}

// metric reads one counter, as name{label="value",...} with labels in order.
func (h *harness) metric(series string) float64 {
	h.t.Helper()
	families, err := h.reg.Gather()
	require.NoError(h.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			name := f.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			if name != series {
				continue
			}
			if m.GetHistogram() != nil {
				return float64(m.GetHistogram().GetSampleCount())
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return 0
}

// logged says whether a line of the log holds every one of the words.
func (h *harness) logged(words ...string) bool {
	for line := range strings.Lines(h.logs.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return true
		}
	}
	return false
}

// handled returns a function that waits until a running engine has answered for one more request: its
// handling is over by then, its lock given back.
func (h *harness) handled() func() {
	h.t.Helper()
	inbox, err := h.nc.SubscribeSync("$JS.ACK.CORDUM_SYS.scheduler-submit.>")
	require.NoError(h.t, err)
	return func() {
		h.t.Helper()
		_, err := inbox.NextMsgWithContext(h.t.Context())
		require.NoError(h.t, err)
	}
}

// unlocked asserts that no job lock is left.
func (h *harness) unlocked() {
	h.t.Helper()
	for _, k := range h.redis.Keys() {
		require.False(h.t, strings.HasPrefix(k, "cordum:scheduler:job:"), k)
	}
}
