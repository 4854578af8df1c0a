package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATS is what steps that are about nats-server call it.
const NATS = "nats"

// How long clients wait before they connect anew: what nats.go waits by default, with its jitter.
const reconnectAfter, reconnectJitter = 2 * time.Second, 100 * time.Millisecond

// RestartNATS stops nats-server, as a signal would, and starts it again when away has passed. The harness
// calls it, in a step of its own ([World.At]); back, which may be nil, is called when the server is there
// again. [World.JetStream] is another one then.
//
// While it stops, for some 100 ms, the whole world stands still. Then every call fails at once: connections
// keep no buffer of what they could not send, so that nothing is sent outside of a step. A pull that waits
// in the server ends with [jetstream.ErrServerShutdown]. Each process connects anew by a step of its own,
// about two seconds after the server is there again; one that starts meanwhile waits for the server. Streams
// on file storage outlive it, with the state of their durable consumers; those in memory are gone.
//
// Nothing is delivered while it stops. nats-server draws, without a seed, when it looks at what a restored
// consumer has to deliver again, but looks before that, as soon as the consumer is there: so no chance enters a
// run by it.
func (w *World) RestartNATS(away time.Duration, back func()) { w.stopNATS(away, back, nil) }

// NATSDown says whether nats-server is stopped, and has not started again.
func (w *World) NATSDown() bool { return w.down.Load() }

// stopNATS has nats-server start again, when away has passed, on what lose, which may be nil, leaves of its files.
func (w *World) stopNATS(away time.Duration, back func(), lose func(at time.Duration) error) {
	if w.down.Load() {
		if back != nil {
			back()
		}
		return
	}
	w.restarts++
	w.down.Store(true)
	at := w.Now()
	stopped := at + w.stopTakes()
	w.backAt = max(at+away, stopped+1)
	paused := w.pauseConsumers()
	w.admin.Close()
	w.srv.Shutdown()
	w.srv.WaitForShutdown()
	if lose != nil {
		if err := lose(at); err != nil {
			panic(fmt.Sprintf("sim: nats-server's files: %v", err))
		}
	}
	w.standStill(stopped)
	w.At(w.backAt, "start", NATS, func() {
		if err := w.resumeNATS(paused); err != nil {
			panic(fmt.Sprintf("sim: nats-server cannot go on: %v", err))
		}
		if back != nil {
			back()
		}
	})
}

// durable is a consumer that outlives nats-server.
type durable struct{ stream, name string }

// pauseConsumers has no durable consumer deliver anything while nats-server stops: it would deliver what is due
// within those 100 ms, or not, as it stops one consumer after the other, each once the Go scheduler has it.
func (w *World) pauseConsumers() (list []durable) {
	ctx := context.Background()
	for _, stream := range sortedKeys(w.streams) {
		s, err := w.adminJS.Stream(ctx, stream)
		if err != nil {
			continue
		}
		var names []string
		for info := range s.ListConsumers(ctx).Info() {
			if info.Config.Durable != "" {
				names = append(names, info.Name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if _, err := s.PauseConsumer(ctx, name, w.start.Add(w.Now()+365*24*time.Hour)); err == nil {
				list = append(list, durable{stream, name})
			}
		}
	}
	return list
}

// stopTakes is how long nats-server takes to stop, at most: it waits 50 ms for pulls to hear of it, and
// 10 ms for each consumer that is just being written to its file, which depends on the Go scheduler.
func (w *World) stopTakes() time.Duration {
	d := 50 * time.Millisecond
	for _, name := range sortedKeys(w.streams) {
		if s, err := w.adminJS.Stream(context.Background(), name); err == nil {
			d += time.Duration(s.CachedInfo().State.Consumers) * 10 * time.Millisecond
		}
	}
	return d
}

// startNATS starts nats-server on what its store holds.
func (w *World) startNATS() (err error) {
	w.srv, err = server.NewServer(&server.Options{
		DontListen: true, JetStream: true, StoreDir: w.dir, NoLog: true, NoSigs: true,
		JetStreamMaxMemory: 64 << 30, JetStreamMaxStore: 64 << 30, // else the server asks the machine how much it has, which takes a while
	})
	if err != nil {
		return fmt.Errorf("sim: nats-server: %w", err)
	}
	go w.srv.Start()
	if !w.srv.ReadyForConnections(10 * time.Second) {
		return errors.New("sim: nats-server did not start")
	}
	if w.admin, err = w.dialNATS("world"); err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	w.adminJS, err = jetstream.New(w.admin)
	return err
}

func (w *World) resumeNATS(paused []durable) error {
	if err := w.startNATS(); err != nil {
		return err
	}
	for _, c := range paused {
		_, err := w.adminJS.ResumeConsumer(context.Background(), c.stream, c.name)
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrConsumerNotFound) { // it was in memory
			return err
		}
	}
	w.down.Store(false)
	for _, name := range sortedKeys(w.streams) { // observed further, where it was left off; one in memory is gone
		last := w.streams[name].last
		delete(w.streams, name)
		w.observe(name, last+1)
	}
	for _, n := range w.order {
		jitter := within(draw(w.cfg.Seed, "reconnect", n.name, strconv.Itoa(w.restarts)), uint64(reconnectJitter))
		w.At(w.Now()+reconnectAfter+time.Duration(jitter), "reconnect", n.name, n.reconnect)
	}
	return nil
}

// reconnect connects the node's process anew, if its connection was lost.
func (n *Node) reconnect() {
	if p := n.process; p != nil && p.connected && p.nats.IsReconnecting() && !n.world.down.Load() {
		_ = p.nats.ForceReconnect()
	}
}

// redialAfter says how long a connection that was lost waits before it dials: after a restart of the
// server until the world tells it to, as several that wake at one instant would do so in any order.
func (w *World) redialAfter(int) time.Duration {
	if w.down.Load() {
		return 365 * 24 * time.Hour
	}
	return reconnectAfter
}

func (w *World) dialNATS(name string) (*nats.Conn, error) {
	return nats.Connect("", nats.Name(name), nats.InProcessServer(inProcess{w}), nats.CustomReconnectDelay(w.redialAfter),
		nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
}
