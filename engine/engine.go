package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/registry"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/saga"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// Engine is one scheduler replica. It is safe for concurrent use.
type Engine struct {
	settings settings.Settings
	streams  bus.StreamOptions
	js       jetstream.JetStream
	nats     Conn
	clock    clockwork.Clock
	random   Random
	ready    func()
	pulled   func(consumer string, err error)
	log      *slog.Logger

	store    *store.Store
	locks    *lock.Locker
	dlq      *dlq.Queue
	registry *registry.MemoryRegistry
	strategy *routing.LeastLoaded
	metrics  *metrics.Metrics
	guard    *bus.Guard     // nil without idempotency_guard
	replica  *store.Replica // nil without wait_replica; see AwaitsReplica
	safety   *safety.Client // nil without a safety kernel
	saga     *saga.Manager
	timeouts recovery.Timeouts
	tenants  tenants
	runs     *workflow.Engine                 // nil without workflows
	ledger   dlq.Ledger                       // nil asks Redis alone what has been done
	triage   *dlq.Policy                      // nil is the default of each class
	kicks    chan string                      // job ids for the relay; see kick
	jobs     atomic.Pointer[jetstream.Stream] // the stream of dispatches; see jobsStream
	behind   sync.WaitGroup                   // what goes on in the background; see background
	output   *outputs                         // nil without the output policy
}

// New returns an engine, or says everything that is wrong with its configuration. It does no I/O.
func New(c Config) (*Engine, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	strategy, err := routing.New(c.Routing)
	if err != nil {
		return nil, fmt.Errorf("engine: routing: %w", err)
	}
	topics, err := c.Settings.TopicTimeouts.Parse()
	if err != nil {
		return nil, fmt.Errorf("engine: topic_timeouts %w", err)
	}
	m, err := metrics.New(c.Registerer)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	m.Expect(strategy.Topics(), append(dlq.ReasonCodes(), dlq.OtherCode), dlq.Statuses)
	e := &Engine{
		settings: c.Settings,
		streams:  c.Streams,
		js:       c.JetStream,
		nats:     c.NATS,
		clock:    c.Clock,
		random:   c.Random,
		ready:    c.Ready,
		pulled:   c.Pulled,
		log:      c.Logger.With(slog.String("scheduler", c.ID)),
		store:    &store.Store{Redis: c.Redis, Clock: c.Clock, Timeout: c.Settings.StoreOpTimeout, Fence: c.Settings.Fence, Epochs: c.Settings.Epochs, Tenants: c.Settings.TenantLimit > 0},
		dlq:      &dlq.Queue{By: c.ID, Redis: c.Redis, Clock: c.Clock, TTL: c.Settings.DLQEntryTTL, Timeout: c.Settings.StoreOpTimeout, Replays: c.Settings.Replay.Enabled, Apart: c.Settings.DLQOrder == settings.StateThenDLQ},
		registry: registry.NewMemory(c.Clock, c.Settings.WorkerTTL),
		strategy: strategy,
		metrics:  m,
		timeouts: recovery.Timeouts{Dispatch: c.Settings.DispatchTimeout, Topics: topics, Running: c.Settings.RunningTimeout},
		triage:   c.Triage,
		ledger:   c.Ledger,
		kicks:    make(chan string, kicksMax),
		replica:  replicaOf(c.Redis, &c.Settings),
	}
	e.streams.Topics = strategy.Topics()
	e.store.Watch = e.watchState
	if c.Settings.WatchWorkers {
		e.registry.Remember, e.timeouts.Silence = e.timeouts.Longest(), e.registry.Silence
	}
	if c.Settings.ReadError == settings.CachedState {
		e.store.Cache = store.NewCache(c.Clock, c.Settings.StateCacheSize, c.Settings.StateCacheAge)
	}
	if c.Settings.IdempotencyGuard {
		e.guard = &bus.Guard{
			Redis: c.Redis, ProcessedTTL: c.Settings.AckWait, InflightTTL: c.Settings.InflightTTL,
			Timeout: c.Settings.StoreOpTimeout, Logger: e.log,
		}
	}
	if c.Safety != nil {
		e.safety = &safety.Client{
			Conn: c.Safety, Timeout: c.Settings.Policy.Timeout,
			Breaker: e.breaker(c.Redis, "safety kernel", safety.SafetyPrefix),
		}
	}
	e.output = e.outputs(c)
	e.locks = e.locker(&c)
	e.saga = newSaga(&c, e)
	e.runs = e.workflows(c)
	if c.Registerer != nil {
		for _, read := range e.collectors() {
			if err := c.Registerer.Register(read); err != nil {
				return nil, fmt.Errorf("engine: %w", err)
			}
		}
	}
	return e, nil
}

// collectors are those that read what they say at each scrape.
func (e *Engine) collectors() []prometheus.Collector {
	all := []prometheus.Collector{metrics.HeartbeatAges(e.registry.Ages)}
	if e.safety != nil {
		all = append(all, circuitState(metrics.CircuitSafety, e.safety.Breaker))
	}
	if e.output != nil {
		all = append(all, circuitState(metrics.CircuitOutput, e.output.breaker))
	}
	return all
}

// AwaitsReplica says whether what is acknowledged has to be on a replica of Redis first: with wait_replica, from when one
// has been seen.
func (e *Engine) AwaitsReplica() bool { return e.replica.Seen() }

// Run makes the streams and consumers, listens for heartbeats and handles messages until ctx ends;
// then it waits for the handlers in flight. It fails only while it starts; a graceful stop is nil.
// Close the connection afterwards: until then the last pulls stay open at the server, for Settings.FetchWait
// at most, and messages that they are given are handed back in the background.
func (e *Engine) Run(ctx context.Context) error {
	err := e.run(ctx)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	return err
}

func (e *Engine) run(ctx context.Context) error {
	defer e.behind.Wait()
	ctx = context.WithValue(ctx, lifeKey{}, ctx)
	sys, jobs, err := bus.EnsureStreams(ctx, e.js, e.streams)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if e.settings.Epochs {
		if err := bus.CheckOnce(e.js.Conn().ConnectedServerVersion()); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	e.jobs.Store(&jobs)
	e.warnOfLimits(ctx, sys, jobs)
	beats, err := e.nats.Subscribe(bus.SubjectHeartbeat, e.onHeartbeat)
	if err != nil {
		return fmt.Errorf("engine: subscribe to %s: %w", bus.SubjectHeartbeat, err)
	}
	defer func() {
		if err := beats.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			e.log.LogAttrs(ctx, slog.LevelWarn, "unsubscribe failed", slog.Any("error", err))
		}
	}()
	e.warmStart(ctx)
	submits, err := e.consumer(ctx, bus.ConsumerSubmit, bus.SubjectSubmit, e.onSubmit)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	results, err := e.consumer(ctx, bus.ConsumerResult, bus.SubjectResult, e.onResult)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	cancels, err := e.consumer(ctx, bus.ConsumerCancel, bus.SubjectCancel, e.onCancel)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	ticker := e.clock.NewTicker(e.settings.RegistrySweep)
	defer ticker.Stop()

	e.ready()
	var loops, requests errgroup.Group // what handles requests may put them into the outbox
	stopRelay := e.startRelay(ctx, &loops)
	requests.Go(func() error { submits.Run(ctx); return nil })
	e.startReplayer(ctx, &requests)
	loops.Go(func() error { defer stopRelay(); return requests.Wait() })
	loops.Go(func() error { results.Run(ctx); return nil })
	loops.Go(func() error { cancels.Run(ctx); return nil })
	e.startReconciler(ctx, &loops)
	e.startSnapshots(ctx, &loops)
	e.startDLQReplayer(ctx, &loops)
	defer e.startWorkflows(ctx, &loops)()
	loops.Go(func() error { e.sweep(ctx, ticker); return nil })
	return loops.Wait()
}

// sweep evicts workers past their TTL, until ctx ends.
func (e *Engine) sweep(ctx context.Context, ticker clockwork.Ticker) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.Chan():
		}
		for _, id := range e.registry.Sweep() {
			e.log.LogAttrs(ctx, slog.LevelInfo, "worker evicted", slog.String("worker_id", id))
		}
	}
}
