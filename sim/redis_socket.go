package sim

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// socket is a connection to a redis-server, which answers at once. A reader blocks in the kernel: that takes
// a third of the system calls of Go's poller, and nobody else in the world has anything to do meanwhile.
//
// The server answers while no time passes in the world. So a read deadline counts only if it has passed
// already, and a write deadline does not count.
type socket struct {
	fd       int
	now      func() time.Time
	deadline time.Time // of reads
	closed   atomic.Bool
}

func dialSocket(path string, now func() time.Time) (*socket, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		_ = syscall.Close(fd)
		return nil, &net.OpError{Op: "dial", Net: "unix", Addr: &net.UnixAddr{Name: path, Net: "unix"}, Err: os.NewSyscallError("connect", err)}
	}
	return &socket{fd: fd, now: now}, nil
}

func (s *socket) SetDeadline(t time.Time) error     { return s.SetReadDeadline(t) }
func (s *socket) SetReadDeadline(t time.Time) error { s.deadline = t; return nil }
func (*socket) SetWriteDeadline(time.Time) error    { return nil }

func (s *socket) Read(b []byte) (int, error) {
	if s.closed.Load() { // its descriptor may belong to another connection by now
		return 0, net.ErrClosed
	}
	if !s.deadline.IsZero() && !s.deadline.After(s.now()) {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := uninterrupted(func() (int, error) { return syscall.Read(s.fd, b) })
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func (s *socket) Write(b []byte) (int, error) {
	if s.closed.Load() {
		return 0, net.ErrClosed
	}
	for sent := 0; sent < len(b); {
		n, err := uninterrupted(func() (int, error) { return syscall.Write(s.fd, b[sent:]) })
		if err != nil {
			return sent, err
		}
		sent += n
	}
	return len(b), nil
}

// uninterrupted repeats a system call that a signal has interrupted.
func uninterrupted(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, syscall.EINTR) {
			return max(n, 0), err
		}
	}
}

// Close may be called more than once.
func (s *socket) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return syscall.Close(s.fd)
}

func (s *socket) LocalAddr() net.Addr  { return &net.UnixAddr{} }
func (s *socket) RemoteAddr() net.Addr { return &net.UnixAddr{} }
