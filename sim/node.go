package sim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Node is a place where processes run, one after the other: a process that crashes is followed by
// a new incarnation with nothing in its memory.
type Node struct {
	world       *World
	name        string
	main        func(*Process)
	process     *Process
	incarnation int
	began       time.Duration // when a process on it first took a step; guarded by World.mu
	pausedUntil time.Duration
	skew        time.Duration // see [Node.Skew]
}

// Process is one incarnation of a node. What it hands out is gated: every call is a step.
type Process struct {
	node        *Node
	incarnation int
	ctx         context.Context
	cancel      context.CancelFunc
	dead        bool // guarded by World.mu
	finished    atomic.Bool

	clients []client // its connections to the servers, and to other processes; nil until it has started
	clock   *clock
	rpc     peer
}

// Node declares a node whose processes run main. It runs nothing until [Node.Start].
func (w *World) Node(name string, main func(*Process)) *Node {
	if w.Find(name) != nil {
		panic("sim: a second node named " + name)
	}
	n := &Node{world: w, name: name, main: main}
	w.nodes = append(w.nodes, n)
	return n
}

// Name is the node's name.
func (n *Node) Name() string { return n.name }

// Process is the incarnation that runs now, or nil.
func (n *Node) Process() *Process { return n.process }

// Up says whether a process runs on the node.
func (n *Node) Up() bool { return n.process != nil }

// Began says when a process of the node first took a step, 0 before, and whether the node was ever started.
func (n *Node) Began() (at time.Duration, ever bool) {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	return n.began, n.incarnation > 0
}

func (n *Node) begin() {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	if n.began == 0 {
		n.began = n.world.Now()
	}
}

// Finished says whether the node's process has nothing left to do: its main function has returned.
func (n *Node) Finished() bool { return n.process != nil && n.process.finished.Load() }

// Paused says whether nothing of the node's is granted now.
func (n *Node) Paused() bool { return n.pausedUntil > n.world.Now() }

// Start runs a new incarnation. Its first step is its own start, at an instant of its own.
func (n *Node) Start() {
	if n.process != nil {
		panic("sim: " + n.name + " runs already")
	}
	n.incarnation++
	n.pausedUntil = 0
	p := &Process{node: n, incarnation: n.incarnation}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.clock = &clock{p: p, n: map[string]int{}}
	n.process = p
	go func() {
		n.world.park(&Op{Kind: KindStart, process: p, world: n.world, outcome: OutcomeOK})
		n.begin()
		p.connect()
		n.main(p)
		p.finished.Store(true)
	}()
}

// Crash ends the node's process: its operations are never granted again, its goroutines end at
// their next gate. Its connections close at the next settling, since the caller may be one of its
// goroutines. A node that is down stays down.
func (n *Node) Crash() {
	p, w := n.process, n.world
	if p == nil {
		return
	}
	n.process = nil
	w.mu.Lock()
	p.dead = true
	for _, ops := range [][]*Op{w.arrivals, w.queue.parked} {
		for _, op := range ops {
			if op.process == p && !op.scheduled && !op.withdrawn {
				op.withdrawn = true
				op.wake(false)
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

// Node is the name of the node that the process runs on.
func (p *Process) Node() string { return p.node.name }

// Incarnation counts the node's processes from 1.
func (p *Process) Incarnation() int { return p.incarnation }

// Context ends when the process crashes or the world ends. Whatever an actor waits for besides its
// gates and its clock, it waits for this too.
func (p *Process) Context() context.Context { return p.ctx }

// connect dials the servers.
func (p *Process) connect() {
	clients := []client{&p.rpc}
	for _, s := range p.node.world.servers {
		c, err := s.dial(p)
		if err != nil {
			panic(fmt.Sprintf("sim: %s cannot connect to its own server: %v", p.node.name, err))
		}
		clients = append(clients, c)
	}
	p.clients = clients
}

// Rand is the process's source of chance.
func (p *Process) Rand() Rand { return Rand{p} }

// Rand is a process's source of chance. Each draw is keyed by the node and by the tags of its
// context, so that what one job draws does not depend on what another did.
type Rand struct{ p *Process }

// Uint64 draws 64 bits for the call that ctx is tagged for.
func (r Rand) Uint64(ctx context.Context) uint64 {
	w := r.p.node.world
	t := w.cfg.Tags(ctx)
	h := Draw(w.cfg.Seed, "rand", r.p.node.name, t.Job, t.Phase)
	w.mu.Lock()
	defer w.mu.Unlock()
	return mix(h, w.rands.next(h))
}
