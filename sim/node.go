package sim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Node is a place where processes run, one after the other. A process that crashes is followed by a new
// incarnation, with nothing in its memory.
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

// Process is one incarnation of a node. Its clients and its clock are gated: every call is a step.
type Process struct {
	node        *Node
	incarnation int
	ctx         context.Context
	cancel      context.CancelFunc
	dead        bool // guarded by World.mu
	finished    atomic.Bool

	clients []client // its connections to the servers and to other processes; nil until it has started
	clock   *clock
	rpc     peer
}

// Node declares a node whose processes run main. Nothing runs until [Node.Start].
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

// Process returns the incarnation that runs now, or nil.
func (n *Node) Process() *Process { return n.process }

// Up says whether a process runs on the node.
func (n *Node) Up() bool { return n.process != nil }

// Began says when a process of the node first took a step (0 if none has), and whether the node was ever
// started.
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

// Finished says whether the main function of the node's process has returned.
func (n *Node) Finished() bool { return n.process != nil && n.process.finished.Load() }

// Paused says whether the node is paused now.
func (n *Node) Paused() bool { return n.pausedUntil > n.world.Now() }

// Start starts a new incarnation. Its first step is its own start, at an instant of its own.
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

// Crash ends the node's process. Its operations are never granted again, and its goroutines end at their next
// gate. Its connections close when the step settles, since the caller may be one of its goroutines. On a node
// that is down Crash does nothing.
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

// Pause grants none of the node's operations for d, as during a long garbage collection. What the servers
// send it waits: a message that a pull was given counts as delivered, and its AckWait runs on. Deadlines
// pass, and a call that has not been sent by its deadline is never sent. Timers that fall due fire when the
// pause is over, a ticker once. A new incarnation is not paused.
//
// Connections survive a pause of any length: the clients go on to answer the servers' pings.
func (n *Node) Pause(d time.Duration) { n.pausedUntil = max(n.pausedUntil, n.world.Now()+d) }

// Node is the name of the node that the process runs on.
func (p *Process) Node() string { return p.node.name }

// Incarnation counts the node's processes from 1.
func (p *Process) Incarnation() int { return p.incarnation }

// Context ends when the process crashes or the world ends. An actor that waits for something else than its
// gates and its clock must wait for the context as well.
func (p *Process) Context() context.Context { return p.ctx }

// connect connects the process to the servers.
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

// Rand is a process's source of chance. Each draw is keyed by the node and the tags of its context, so the
// draws for one job do not depend on those for another.
type Rand struct{ p *Process }

// Uint64 draws 64 bits. ctx carries the tags.
func (r Rand) Uint64(ctx context.Context) uint64 {
	w := r.p.node.world
	t := w.cfg.Tags(ctx)
	h := Draw(w.cfg.Seed, "rand", r.p.node.name, t.Job, t.Phase)
	w.mu.Lock()
	defer w.mu.Unlock()
	return mix(h, w.rands.next(h))
}
