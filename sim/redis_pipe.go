package sim

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipe is one end of a connection to miniredis. It buffers what is written until it is read, so a writer
// never waits. The two ends of a net.Pipe wait for each other at every write, and for ever if both write.
//
// The server answers while no time passes in the world. So a read deadline counts only if it has passed
// already, and a write deadline does not count.
type pipe struct {
	in, out  *stream
	now      func() time.Time
	deadline time.Time // of reads
}

// newPipe returns both ends of a new connection.
func newPipe(now func() time.Time) (*pipe, *pipe) {
	there, back := newStream(), newStream()
	return &pipe{in: back, out: there, now: now}, &pipe{in: there, out: back, now: now}
}

func (p *pipe) Read(b []byte) (int, error) {
	if !p.deadline.IsZero() && !p.deadline.After(p.now()) {
		return 0, os.ErrDeadlineExceeded
	}
	return p.in.Read(b)
}

func (p *pipe) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close closes both ends. What was written before can still be read.
func (p *pipe) Close() error {
	p.in.close()
	p.out.close()
	return nil
}

func (p *pipe) SetDeadline(t time.Time) error     { return p.SetReadDeadline(t) }
func (p *pipe) SetReadDeadline(t time.Time) error { p.deadline = t; return nil }
func (*pipe) SetWriteDeadline(time.Time) error    { return nil }

func (*pipe) LocalAddr() net.Addr  { return &net.UnixAddr{} }
func (*pipe) RemoteAddr() net.Addr { return &net.UnixAddr{} }

// stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	bytes   []byte // what was written; the first read bytes of it have been read
	read    int
	closed  bool
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.read == len(s.bytes) {
		if s.closed {
			return 0, io.EOF
		}
		s.changed.Wait()
	}
	n := copy(b, s.bytes[s.read:])
	if s.read += n; s.read == len(s.bytes) {
		s.bytes, s.read = s.bytes[:0], 0
	}
	return n, nil
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	s.bytes = append(s.bytes, b...)
	s.changed.Signal()
	return len(b), nil
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
}
