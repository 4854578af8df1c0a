package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config is what a world is made of besides its nodes. Its zero value runs.
type Config struct {
	Seed     uint64
	Strategy Strategy // nil is Latency{}

	// Tags reads what the service says of a call from the call's context; nil is no tags.
	Tags func(context.Context) Tags
	// MsgTags says which job a message is for and what its phase is called; nil is no tags.
	MsgTags func(subject string, header nats.Header, data []byte) Tags

	// Lag says how long what a core publish hands over is under way, whether its sender lives or
	// not; nil is not at all.
	Lag func(op *Op) time.Duration

	Intercept Intercept    // stands between every operation and its effect; nil is none
	Observe   func(*Event) // is given every event once it is complete; it must not keep it
	Trace     io.Writer    // receives each event as a line of JSON; nil is none

	RedisLag time.Duration // how far [World.FailOverRedis] may go back; 0 is not at all

	StepsMax int           // a run ends after so many steps; 0 is 10 million
	Stall    time.Duration // real time without a step after which OnStall is called; 0 is one minute
	OnStall  func(dump string)
	Ungated  bool // operations do not park: what stepping costs is measured against this
}

// World is one bubble's servers, nodes and time.
type World struct {
	cfg   Config
	start time.Time

	srv     *server.Server
	redis   *miniredis.Miniredis
	admin   *nats.Conn
	adminJS jetstream.JetStream
	dir     string

	down     atomic.Bool   // nats-server is stopped
	backAt   time.Duration // when it is to start
	restarts int

	nodes  map[string]*Node
	order  []*Node
	doomed []*Process // crashed, their connections still to be closed

	mu       sync.Mutex // guards what actors touch when they arrive
	arrivals []*Op
	late     []net.Conn // to Redis, with something held back on them
	rands    counter
	wake     chan struct{}

	parked      []*Op
	ready       []*Op // those of them that may be granted next
	current     *Op   // granted last
	currentAt   time.Duration
	timer       *time.Timer
	chances     counter
	occurrences counter
	steps       int
	progress    *atomic.Int64

	trace     trace
	event     Event
	shadow    map[string]value
	deadlines deadlines
	unlagged  []before // what Redis held before its last writes, the oldest first
	rewound   []Change // by the harness, in the present step
	streams   map[string]*observer
}

// Now is the virtual time since the world began.
func (w *World) Now() time.Duration { return time.Since(w.start) }

// standStill lets virtual time pass in which no step is taken.
func (w *World) standStill(until time.Duration) { time.Sleep(until - w.Now()) }

// Started is the instant at which the world began, on its own clock.
func (w *World) Started() time.Time { return w.start }

// Steps is how many operations were granted so far.
func (w *World) Steps() int { return w.steps }

// JetStream is the harness's own connection: it passes no gate, and what is done through it is no
// step. It serves to set a world up and to look at it, never to act in it.
func (w *World) JetStream() jetstream.JetStream { return w.adminJS }

func (w *World) tags(ctx context.Context) Tags {
	if w.cfg.Tags == nil {
		return Tags{}
	}
	return w.cfg.Tags(ctx)
}

func (w *World) msgTags(subject string, h nats.Header, data []byte) Tags {
	if w.cfg.MsgTags == nil {
		return Tags{}
	}
	return w.cfg.MsgTags(subject, h, data)
}

// newWorld starts the servers of a world; it runs in the bubble.
func newWorld(cfg Config, progress *atomic.Int64) (*World, error) {
	if cfg.Strategy == nil {
		cfg.Strategy = Latency{}
	}
	if cfg.StepsMax == 0 {
		cfg.StepsMax = 10_000_000
	}
	w := &World{
		cfg: cfg, progress: progress,
		nodes: map[string]*Node{}, wake: make(chan struct{}, 1),
		rands: counter{}, chances: counter{}, occurrences: counter{},
		shadow: map[string]value{}, streams: map[string]*observer{},
		trace: trace{out: cfg.Trace},
	}
	w.trace.sum.Reset()
	dir, err := os.MkdirTemp("", "wavetank-")
	if err != nil {
		return nil, fmt.Errorf("sim: a store for JetStream: %w", err)
	}
	w.dir = dir
	if err := w.startNATS(); err != nil {
		return nil, err
	}
	w.redis = miniredis.NewMiniRedis()
	w.timer = time.NewTimer(time.Hour)
	w.start = time.Now()
	return w, nil
}

// inProcess dials a server of this process without a port.
type inProcess struct{ w *World }

func (p inProcess) InProcessConn() (net.Conn, error) { return p.w.srv.InProcessConn() }

// stop ends every goroutine of the world. The bubble itself fails if one is left.
func (w *World) stop() {
	for _, n := range w.order {
		n.Crash()
	}
	w.reap()
	for _, op := range w.parked {
		op.withdrawn = true
	}
	if w.admin != nil {
		w.admin.Close()
	}
	for _, c := range w.late {
		_ = c.Close()
	}
	if w.redis != nil {
		w.redis.Close()
	}
	if w.srv != nil {
		w.srv.Shutdown()
		w.srv.WaitForShutdown()
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	// A pull that blocked when its connection closed ends by its own timer; an hour is longer
	// than any that a service waits for, and costs nothing.
	time.Sleep(time.Hour)
	_ = os.RemoveAll(w.dir)
}
