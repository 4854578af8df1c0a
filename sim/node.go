package sim

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
)

// Node is a place where processes run, one after the other: a process that crashes is followed by
// a new incarnation with nothing in its memory.
type Node struct {
	world       *World
	name        string
	main        func(*Process)
	process     *Process
	incarnation int
	pausedUntil time.Duration
	skew        Skew
}

// Process is one incarnation of a node. What it hands out is gated: every call is a step.
type Process struct {
	node        *Node
	incarnation int
	ctx         context.Context
	cancel      context.CancelFunc
	dead        bool // guarded by World.mu

	redis     *redis.Client
	nats      *nats.Conn
	js        jetstream.JetStream
	clock     *clock
	connected bool
	server    *grpc.Server                           // with its listener guarded by World.mu
	listener  *bufconn.Listener                      //
	dialled   map[*bufconn.Listener]*grpc.ClientConn // likewise
	holding   *held                                  // guarded by World.mu: the next write of its command is held back
}

// Node declares a node whose processes run main. It runs nothing until [Node.Start].
func (w *World) Node(name string, main func(*Process)) *Node {
	if w.nodes[name] != nil {
		panic("sim: a second node named " + name)
	}
	n := &Node{world: w, name: name, main: main}
	w.nodes[name] = n
	w.order = append(w.order, n)
	return n
}

// Find returns the node of that name, or nil.
func (w *World) Find(name string) *Node { return w.nodes[name] }

// Name is the node's name.
func (n *Node) Name() string { return n.name }

// Process is the incarnation that runs now, or nil.
func (n *Node) Process() *Process { return n.process }

// Up says whether a process runs on the node.
func (n *Node) Up() bool { return n.process != nil }

// Start runs a new incarnation. Its first step is its own start, at an instant of its own.
func (n *Node) Start() {
	if n.process != nil {
		panic("sim: " + n.name + " runs already")
	}
	n.incarnation++
	n.pausedUntil = 0
	p := &Process{node: n, incarnation: n.incarnation}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.clock = newClock(p)
	n.process = p
	go func() {
		n.world.park(&Op{Kind: KindStart, process: p, world: n.world, outcome: OutcomeOK})
		p.connect()
		n.main(p)
	}()
}

// Crash ends the node's process: its operations are never granted again, its goroutines end at
// their next gate, its connections close. A node that is down stays down.
func (n *Node) Crash() {
	p := n.process
	if p == nil {
		return
	}
	n.process = nil
	n.world.kill(p)
}

// kill takes a process out of the world. Its connections close at the next settling, since the
// caller may be one of its own goroutines.
func (w *World) kill(p *Process) {
	w.mu.Lock()
	p.dead = true
	for _, ops := range [][]*Op{w.arrivals, w.parked} {
		for _, op := range ops {
			if op.process == p && !op.withdrawn {
				op.withdrawn = true
				if op.grant != nil {
					op.grant <- struct{}{}
				}
				if op.letGo != nil {
					op.letGo()
				}
			}
		}
	}
	w.mu.Unlock()
	p.cancel()
	w.doomed = append(w.doomed, p)
}

// Pause grants nothing of the node's for d, as a long garbage collection would. What the servers have
// sent it by then, or send it meanwhile, waits: a message that a pull was given counts as delivered, and
// its AckWait runs on. Deadlines pass, and a call that has not set out by then never does. Timers that
// fall due fire when the pause is over, a ticker once. A new incarnation is not paused.
//
// Connections outlive it, however long it is: the clients answer the servers' pings all the same.
func (n *Node) Pause(d time.Duration) { n.pausedUntil = max(n.pausedUntil, n.world.Now()+d) }

// exitIfDead ends the calling goroutine if its process has crashed.
func (p *Process) exitIfDead() {
	w := p.node.world
	w.mu.Lock()
	dead := p.dead
	w.mu.Unlock()
	if dead {
		runtime.Goexit()
	}
}

// Node is the name of the node that the process runs on.
func (p *Process) Node() string { return p.node.name }

// Incarnation counts the node's processes from 1.
func (p *Process) Incarnation() int { return p.incarnation }

// Context ends when the process crashes or the world ends. Whatever an actor waits for besides its
// gates and its clock, it waits for this too.
func (p *Process) Context() context.Context { return p.ctx }

// Rand is the process's source of chance.
func (p *Process) Rand() Rand { return Rand{p} }

// connect dials the servers.
func (p *Process) connect() {
	w := p.node.world
	p.redis = w.dialRedis(p)
	p.redis.AddHook(&redisHook{p})
	nc, err := w.dialNATS(p.node.name)
	if err != nil {
		panic(fmt.Sprintf("sim: %s cannot connect to its own server: %v", p.node.name, err))
	}
	p.nats = nc
	js, err := jetstream.New(nc)
	if err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
	p.js, p.connected = js, true
}

func (p *Process) close() {
	p.hangUp()
	if !p.connected {
		return
	}
	_ = p.redis.Close()
	p.nats.Close()
}
