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

// RestartNATS stops nats-server as a signal would, and starts it again once away has passed. The harness
// calls it in a step of its own ([World.At]). back is called when the server is up again; it may be nil.
// [World.JetStream] returns another connection from then on.
//
// The whole world stands still for about 100 ms while nats-server stops. From then on every call fails at
// once: connections do not buffer what they could not send, so nothing is sent outside a step. A pull that
// waits in the server ends with [jetstream.ErrServerShutdown]. Each process reconnects in a step of its own,
// about two seconds after the server is up again. A process that starts meanwhile waits for the server.
// Streams on file storage survive, with the state of their durable consumers. Streams in memory are gone.
//
// Nothing is delivered while the server stops. nats-server draws, without a seed, the time at which it looks
// for messages that a restored consumer has to redeliver. It also looks as soon as the consumer is restored,
// so the draw changes nothing.
func (w *World) RestartNATS(away time.Duration, back func()) {
	find[*natsServer](w.servers).restart(away, back, nil)
}

// NATSDown says whether nats-server is stopped.
func (w *World) NATSDown() bool { return find[*natsServer](w.servers).down.Load() }

// restart stops nats-server and starts it again once away has passed, on its files as lose leaves them. lose
// may be nil.
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

// durable is a consumer that survives nats-server.
type durable struct {
	stream, name string
	until        *time.Time // until when its service has paused it; nil if it has not
}

// pauseConsumers keeps every durable consumer from delivering anything while nats-server stops. The server
// stops its consumers one after the other, as the Go scheduler has it, so some would deliver what falls due
// and some would not. pauseConsumers also returns how long nats-server takes to stop at most: 50 ms to notify
// pulls, and 10 ms for each consumer that is being written to its file.
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

// resume starts nats-server again, and restores consumers, observers and connections.
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
	for _, name := range sortedKeys(s.streams) { // each is observed further from where it was left; one in memory is gone
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

// reconnect reconnects a node's process whose connection was lost.
func (s *natsServer) reconnect(n *Node) {
	if p := n.process; p != nil && p.clients != nil && !s.down.Load() {
		if conn := find[*natsClient](p.clients).conn; conn.IsReconnecting() {
			_ = conn.ForceReconnect()
		}
	}
}
