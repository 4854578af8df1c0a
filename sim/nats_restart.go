package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// RestartNATS stops nats-server, as a signal would, and starts it again when away has passed. The harness
// calls it in a step of its own ([World.At]). When the server is there again, back is called; it may be nil.
// [World.JetStream] is another one then.
//
// The whole world stands still while nats-server stops, for some 100 ms. From then on every call fails at once:
// connections keep no buffer of what they could not send, so that nothing is sent outside of a step. A pull that waits
// in the server ends with [jetstream.ErrServerShutdown]. Each process connects anew by a step of its own,
// about two seconds after the server is there again. A process that starts meanwhile waits for the server. Streams
// on file storage outlive it, with the state of their durable consumers; those in memory are gone.
//
// Nothing is delivered while it stops. nats-server draws the time at which it looks for what a restored consumer has
// to deliver again, without a seed. It also looks as soon as the consumer is there, so that the draw changes nothing.
func (w *World) RestartNATS(away time.Duration, back func()) {
	find[*natsServer](w.servers).restart(away, back, nil)
}

// NATSDown says whether nats-server is stopped, and has not started again.
func (w *World) NATSDown() bool { return find[*natsServer](w.servers).down.Load() }

// restart stops nats-server and starts it again when away has passed, on what lose leaves of its files; lose may be nil.
func (s *natsServer) restart(away time.Duration, back func(), lose func() error) {
	if back == nil {
		back = func() {}
	}
	if s.down.Load() {
		back()
		return
	}
	s.restarts++
	s.down.Store(true)
	w := s.world
	at := w.Now()
	paused, takes := s.pauseConsumers()
	stopped := at + takes
	w.serversBack = max(at+away, stopped+1)
	s.admin.Close()
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
	if lose != nil {
		if err := lose(); err != nil {
			panic(fmt.Sprintf("sim: nats-server's files: %v", err))
		}
	}
	w.standStill(stopped)
	w.At(w.serversBack, "start", NATS, func() {
		if err := s.resume(paused); err != nil {
			panic(fmt.Sprintf("sim: nats-server cannot go on: %v", err))
		}
		back()
	})
}

// durable is a consumer that outlives nats-server.
type durable struct {
	stream, name string
	until        *time.Time // its service has paused it until then; nil if it has not
}

// pauseConsumers keeps every durable consumer from delivering anything while nats-server stops. Its consumers stop one
// after the other, each when the Go scheduler lets it: some would deliver what falls due, some not. It also says how
// long nats-server takes to stop, at most: 50 ms for pulls to hear of it, and 10 ms for each consumer that is just being
// written to its file.
func (s *natsServer) pauseConsumers() (paused []durable, takes time.Duration) {
	ctx := context.Background()
	takes = 50 * time.Millisecond
	for _, name := range sortedKeys(s.streams) {
		stream, err := s.js.Stream(ctx, name)
		if err != nil {
			continue
		}
		takes += time.Duration(stream.CachedInfo().State.Consumers) * 10 * time.Millisecond
		var list []durable
		for info := range stream.ListConsumers(ctx).Info() {
			if info.Config.Durable != "" {
				list = append(list, durable{name, info.Name, info.Config.PauseUntil})
			}
		}
		slices.SortFunc(list, func(a, b durable) int { return strings.Compare(a.name, b.name) })
		for _, d := range list {
			if _, err := stream.PauseConsumer(ctx, d.name, s.world.start.Add(s.world.Now()+forever)); err == nil {
				paused = append(paused, d)
			}
		}
	}
	return paused, takes
}

// resume starts nats-server again, and has the world go on where it was.
func (s *natsServer) resume(paused []durable) error {
	if err := s.run(); err != nil {
		return err
	}
	for _, d := range paused {
		var err error
		if d.until != nil {
			_, err = s.js.PauseConsumer(context.Background(), d.stream, d.name, *d.until)
		} else {
			_, err = s.js.ResumeConsumer(context.Background(), d.stream, d.name)
		}
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrConsumerNotFound) { // it was in memory
			return err
		}
	}
	s.down.Store(false)
	for _, name := range sortedKeys(s.streams) { // observed further, where it was left off; one in memory is gone
		last := s.streams[name].last
		delete(s.streams, name)
		s.observe(name, last+1)
	}
	w := s.world
	for _, n := range w.nodes {
		jitter := w.Draw("reconnect", n.name, strconv.Itoa(s.restarts)) % uint64(reconnectJitter)
		w.At(w.Now()+reconnectAfter+time.Duration(jitter), "reconnect", n.name, func() { s.reconnect(n) })
	}
	return nil
}

// reconnect connects a node's process anew, if its connection was lost.
func (s *natsServer) reconnect(n *Node) {
	if p := n.process; p != nil && p.clients != nil && !s.down.Load() {
		if conn := find[*natsClient](p.clients).conn; conn.IsReconnecting() {
			_ = conn.ForceReconnect()
		}
	}
}
