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

// Config is what a world is made of besides its nodes. Its zero value runs.
type Config struct {
	Seed     uint64
	Start    time.Time // when the world begins, on its own clock; no sooner than the year 2000; zero is [DefaultStart]
	Strategy Strategy  // nil is Latency{}

	// Tags reads what the service says of a call from the call's context; nil is no tags.
	Tags func(context.Context) Tags
	// MsgTags says which job a message is for and what its phase is called; nil is no tags.
	MsgTags func(subject string, header nats.Header, data []byte) Tags

	// Lag says how long a core publish is under way once its sender has let go of it; nil is no time.
	Lag func(op *Op) time.Duration

	// Sync says how long a server that has carried out an operation syncs its files before it answers; nil is no time. A caller
	// whose deadline passes meanwhile is told of that, and the operation has had its effect.
	Sync func(op *Op) time.Duration

	Intercept Intercept    // stands between every operation and its effect; nil is none
	Observe   func(*Event) // is given every event once it is complete; it must not keep it
	Trace     io.Writer    // receives each event as a line of JSON; nil is none

	Every   time.Duration          // how often OnEvery is called; 0 is never
	OnEvery func(at time.Duration) // looks at the world between two steps, at each multiple of Every; it must change nothing

	// SyncAlways is nats-server's sync_interval: always. What it has acknowledged is on the disk. [World.LosePowerNATS] takes
	// nothing then. The world's nats-server itself does not sync: only LosePowerNATS could tell, and each sync takes real time.
	SyncAlways bool
	// SyncInterval is nats-server's option sync_interval, by which LosePowerNATS goes: the world says that its streams are on the
	// disk at each multiple of it. 0 is two minutes, as it is by default.
	SyncInterval time.Duration

	// RedisServer is the program of the redis-server that is the world's Redis, as for [exec.LookPath]; empty is miniredis.
	RedisServer string

	// RedisDisk is what Redis keeps on its disk: [DiskAlways], [DiskEverySec], [DiskNo] or [DiskRDB]. Empty is nothing, and
	// Redis cannot die ([World.KillRedis]). A redis-server that can is one of the world's own.
	RedisDisk string

	RedisLag time.Duration // how far [World.FailOverRedis] may go back; 0 is not at all

	StepsMax int           // a run ends after so many steps; 0 is 10 million
	Stall    time.Duration // real time without a step after which OnStall is called; 0 is one minute
	OnStall  func(dump string)
	Ungated  bool // operations do not park: what stepping costs is measured against this
}

// DefaultStart is when a world begins, on its own clock.
var DefaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// World is one bubble's servers, nodes and time.
type World struct {
	cfg         Config
	start       time.Time
	folder      string // of its servers' files
	servers     []server
	serversBack time.Duration // no process starts before: until then a server is stopped
	nodes       []*Node
	doomed      []*Process // crashed, their connections still to be closed

	mu       sync.Mutex // guards what actors touch when they arrive
	arrivals []*Op
	wake     chan struct{}
	rands    counter
	syncs    atomic.Int32 // so many wait for a server to sync
	failed   error        // why the run proves nothing: what a process tried that passes no gate, or a disk without room

	nextEvery   time.Duration
	queue       queue // what has arrived and waits for its turn
	current     *Op   // granted last; nil once its event is out
	occurrences counter
	steps       int
	timer       *time.Timer
	progress    *atomic.Int64
	trace       trace
}

// newWorld makes a world that has no servers yet; it runs in the bubble.
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

// begin is the instant from which the world's time counts.
func (w *World) begin() { w.start = time.Now() }

// Now is the virtual time since the world began.
func (w *World) Now() time.Duration { return time.Since(w.start) }

// wall is the same as a time of day.
func (w *World) wall() time.Time { return w.start.Add(w.Now()) }

// sleepUntil lets the time of a bubble pass in which there is no world yet.
func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }

// standStill lets virtual time pass in which no step is taken.
func (w *World) standStill(until time.Duration) { time.Sleep(until - w.Now()) }

// Started is the instant at which the world began, on its own clock.
func (w *World) Started() time.Time { return w.start }

// Steps is how many operations were granted so far.
func (w *World) Steps() int { return w.steps }

// Find returns the node of that name, or nil.
func (w *World) Find(name string) *Node {
	i := slices.IndexFunc(w.nodes, func(n *Node) bool { return n.name == name })
	if i < 0 {
		return nil
	}
	return w.nodes[i]
}

// CheckTruth compares what the steps were seen to change with everything that Redis holds now, and
// with the last message that each stream has stored, and returns the first difference. It guards the oracles
// against a blind spot of the world's. What was removed from a stream no step tells.
func (w *World) CheckTruth() error {
	for _, s := range w.servers {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

// Draw hashes the world's seed with a purpose and what it is about. A fault that strikes by rate
// and a workload that varies take their chance from here.
func (w *World) Draw(purpose string, parts ...string) uint64 {
	return Draw(w.cfg.Seed, purpose, parts...)
}
