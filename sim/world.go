package sim

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/nats-io/nats.go"
)

// Config describes a world, except its nodes. The zero value is usable.
type Config struct {
	Seed     uint64
	Start    time.Time // when the world begins, on its own clock; not before the year 2000; zero is [DefaultStart]
	Strategy Strategy  // nil is Latency{}

	// Tags reads what the service says of a call from the call's context; nil is no tags.
	Tags func(context.Context) Tags
	// MsgTags says which job a message is for and what its phase is called; nil is no tags.
	MsgTags func(subject string, header nats.Header, data []byte) Tags

	// Lag says how long a core publish is under way after its sender has sent it; nil is no time.
	Lag func(op *Op) time.Duration

	// Sync says how long a server that has carried out an operation syncs its files before it answers; nil is
	// no time. A caller whose deadline passes meanwhile gets an error, though the operation has had its
	// effect.
	Sync func(op *Op) time.Duration

	Intercept Intercept    // stands between every operation and its effect; nil does nothing
	Observe   func(*Event) // is called with every complete event, and must not keep it; nil is not called
	Trace     io.Writer    // receives each event as a line of JSON; nil receives none

	Every   time.Duration          // how often OnEvery is called; 0 is never
	OnEvery func(at time.Duration) // is called between two steps, at each multiple of Every; it must change nothing

	// SyncAlways is nats-server's option sync_interval: always. Every acknowledged message is then on the
	// disk, and [World.LosePowerNATS] loses nothing. The world's nats-server itself does not sync: only
	// LosePowerNATS could tell the difference, and each sync takes real time.
	SyncAlways bool
	// SyncInterval is nats-server's option sync_interval: to [World.LosePowerNATS], streams are on the disk
	// at each multiple of it. 0 is nats-server's default of two minutes.
	SyncInterval time.Duration

	// RedisServer is the redis-server to use as the world's Redis, as a program for [exec.LookPath]; empty is
	// miniredis.
	RedisServer string

	// RedisDisk says what Redis keeps on its disk: [DiskAlways], [DiskEverySec], [DiskNo] or [DiskRDB]. Empty
	// is nothing, and Redis cannot die then ([World.KillRedis]). A redis-server that can die is the world's
	// own.
	RedisDisk string

	RedisLag time.Duration // how far [World.FailOverRedis] may go back; 0 allows none

	StepsMax int           // the run ends after so many steps; 0 is 10 million
	Stall    time.Duration // how long in real time a world may take no step before OnStall is called; 0 is one minute
	OnStall  func(dump string)
	Ungated  bool // operations do not park; this is to measure the cost of stepping
}

// DefaultStart is when a world begins, on its own clock.
var DefaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// World is the servers, nodes and time of one bubble.
type World struct {
	cfg         Config
	start       time.Time
	folder      string // for its servers' files
	servers     []server
	serversBack time.Duration // until then a server is stopped, and no process starts
	nodes       []*Node
	doomed      []*Process // crashed, with connections still to be closed

	mu       sync.Mutex // guards what actors use when they arrive
	arrivals []*Op
	wake     chan struct{}
	rands    counter
	syncs    atomic.Int32 // how many wait for a server to sync
	failed   error        // why the run proves nothing: a process tried something that passes no gate, or the disk is full

	nextEvery   time.Duration
	queue       queue // the operations that have arrived and wait for their turn
	current     *Op   // granted last; nil once its event is emitted
	occurrences counter
	steps       int
	timer       *time.Timer
	progress    *atomic.Int64
	trace       trace
}

// newWorld makes a world without servers. It runs in the bubble.
func newWorld(cfg Config, progress *atomic.Int64) *World {
	cfg.StepsMax = cmp.Or(cfg.StepsMax, 10_000_000)
	if cfg.Strategy == nil {
		cfg.Strategy = Latency{}
	}
	if cfg.Tags == nil {
		cfg.Tags = func(context.Context) Tags { return Tags{} }
	}
	if cfg.MsgTags == nil {
		cfg.MsgTags = func(string, nats.Header, []byte) Tags { return Tags{} }
	}
	if cfg.Intercept == nil {
		cfg.Intercept = func(_ context.Context, _ *Op, apply func() error) error { return apply() }
	}
	return &World{
		cfg: cfg, progress: progress, wake: make(chan struct{}, 1), timer: time.NewTimer(time.Hour),
		rands: counter{}, occurrences: counter{},
		queue: queue{seed: cfg.Seed, strategy: cfg.Strategy, chances: counter{}},
		trace: trace{out: cfg.Trace, sum: xxhash.New()},
	}
}

// begin sets the instant from which the world's time counts.
func (w *World) begin() { w.start = time.Now() }

// Now is the virtual time since the world began.
func (w *World) Now() time.Duration { return time.Since(w.start) }

// wall is the world's time of day.
func (w *World) wall() time.Time { return w.start.Add(w.Now()) }

// sleepUntil lets a bubble's time pass before there is a world.
func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }

// standStill lets virtual time pass without a step.
func (w *World) standStill(until time.Duration) { time.Sleep(until - w.Now()) }

// Started returns the instant at which the world began, on its own clock.
func (w *World) Started() time.Time { return w.start }

// Steps returns how many operations were granted so far.
func (w *World) Steps() int { return w.steps }

// Find returns the node with that name, or nil.
func (w *World) Find(name string) *Node {
	i := slices.IndexFunc(w.nodes, func(n *Node) bool { return n.name == name })
	if i < 0 {
		return nil
	}
	return w.nodes[i]
}

// CheckTruth compares what the steps were seen to change with everything that Redis holds now, and with the
// last message of each stream. It returns the first difference. It guards the oracles against blind spots of
// the world. It does not check removals from streams, which no step reports.
func (w *World) CheckTruth() error {
	for _, s := range w.servers {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

// Draw hashes the world's seed with a purpose and its subject. Faults that strike by rate and workloads that
// vary take their chance from it.
func (w *World) Draw(purpose string, parts ...string) uint64 {
	return Draw(w.cfg.Seed, purpose, parts...)
}
