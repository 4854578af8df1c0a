package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATS is the name of nats-server in steps of its own.
const NATS = "nats"

const forever = 365 * 24 * time.Hour

// How long clients wait before they reconnect: nats.go's default, and its jitter.
const reconnectAfter, reconnectJitter = 2 * time.Second, 100 * time.Millisecond

// natsServer is a world's nats-server, with the harness's own connection to it.
type natsServer struct {
	world *World
	srv   *natsserver.Server
	dir   string // where streams are stored
	admin *nats.Conn
	js    jetstream.JetStream // of admin
	lent  bool                // js was given to the harness

	closed *nats.Conn // a connection that is closed, but was open once

	down     atomic.Bool // nats-server is stopped
	restarts int
	streams  map[string]*observer
	news     atomic.Bool // an observer has received something
	lost     []Change    // messages lost by a power loss in the present step
}

func (s *natsServer) start() error {
	s.streams = map[string]*observer{}
	s.dir = filepath.Join(s.world.folder, "nats")
	if err := s.run(); err != nil {
		return err
	}
	var err error
	if s.closed, err = s.connect("closed"); err == nil {
		s.closed.Close()
	}
	return err
}

// run starts nats-server on the content of its store.
func (s *natsServer) run() (err error) {
	s.srv, err = natsserver.NewServer(&natsserver.Options{
		DontListen: true, JetStream: true, StoreDir: s.dir, NoLog: true, NoSigs: true,
		JetStreamMaxMemory: 64 << 30, JetStreamMaxStore: 64 << 30, // otherwise the server asks the machine for its limits, which takes a while
		MaxClosedClients: 1, // by default it makes room for ten thousand
	})
	if err != nil {
		return fmt.Errorf("nats-server: %w", err)
	}
	defer func() {
		if err != nil {
			s.srv.Shutdown()
			s.srv.WaitForShutdown()
		}
	}()
	go s.srv.Start()
	if !s.srv.ReadyForConnections(10 * time.Second) {
		return errors.New("nats-server did not start")
	}
	if s.admin, err = s.connect("world"); err != nil {
		return err
	}
	s.js, err = jetstream.New(s.admin)
	return err
}

func (s *natsServer) connect(name string) (*nats.Conn, error) {
	return nats.Connect("", nats.Name(name), nats.InProcessServer(s), nats.CustomReconnectDelay(s.redialAfter),
		nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
}

// redialAfter says how long a lost connection waits before it dials again. After a restart of the server it
// waits until the world tells it to dial: several connections that woke at one instant would dial in any
// order.
func (s *natsServer) redialAfter(int) time.Duration {
	if s.down.Load() {
		return forever
	}
	return reconnectAfter
}

// InProcessConn dials nats-server without a port.
func (s *natsServer) InProcessConn() (net.Conn, error) {
	conn, err := s.srv.InProcessConn()
	return patient{conn}, err
}

// patient is a connection whose writes have no deadline. nats.go sets two timers for each write, though
// nats-server reads at once.
type patient struct{ net.Conn }

func (patient) SetWriteDeadline(time.Time) error { return nil }

// natsClient is a process's connection.
type natsClient struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

func (c *natsClient) close() { c.conn.Close() }

func (s *natsServer) dial(p *Process) (client, error) {
	conn, err := s.connect(p.node.name)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	return &natsClient{conn, js}, err
}

// JetStream is the harness's own connection. It passes no gate, and what is done through it is no step. Use
// it to set a world up and to look at it, not to act in it.
func (w *World) JetStream() jetstream.JetStream {
	s := find[*natsServer](w.servers)
	s.lent = true
	return s.js
}

func (s *natsServer) adopt() {
	if !s.lent {
		return
	}
	for name := range s.js.StreamNames(context.Background()).Name() {
		s.observe(name, 1)
	}
	synctest.Wait()
	s.stored(nil)
}

func (s *natsServer) before(*Op) {}

func (s *natsServer) changed(op *Op, changes []Change) []Change {
	if op.Kind == KindAPI && strings.HasSuffix(op.Name, "Stream") {
		s.observe(op.Target, 1)
	}
	changes = append(s.stored(changes), s.lost...)
	s.lost = nil
	return changes
}

func (s *natsServer) check() error {
	if s.down.Load() {
		return nil // the streams are not there to be looked at
	}
	for _, name := range sortedKeys(s.streams) {
		stream, err := s.js.Stream(context.Background(), name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound): // a step deleted it
			continue
		case err != nil:
			return fmt.Errorf("sim: %w", err)
		}
		if last := stream.CachedInfo().State.LastSeq; last != s.streams[name].last {
			return fmt.Errorf("sim: stream %s has stored up to %d, but the steps up to %d", name, last, s.streams[name].last)
		}
	}
	return nil
}

func (s *natsServer) stop() {
	s.admin.Close()
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
}
