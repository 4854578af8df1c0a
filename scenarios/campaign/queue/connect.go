package queue

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Server says where JetStream is, and which user connects.
type Server struct {
	URL   string // nats:// or tls://, with a user and a password, or a token, if the server requires them
	Creds string // a file with a user's JWT and seed; "" is none
	CA    string // a PEM file with the certificate of an authority to trust; "" is the system's
}

// Public is the URL without a password.
func (s Server) Public() string {
	at, _ := s.check()
	return at
}

// Conn is a connection that reconnects by itself.
type Conn struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	at   string // the URL without a password
	life context.Context
	end  context.CancelCauseFunc
}

// How long to wait for a connection and for an answer, and before a lost connection is tried again.
const (
	dialWithin   = 5 * time.Second
	answerWithin = 10 * time.Second
	againAfter   = 250 * time.Millisecond
	pingEvery    = 20 * time.Second // a connection that is cut silently is lost after three
)

// Dial connects to the server. Its error is one line, with a remedy.
func (s Server) Dial(ctx context.Context, name string) (*Conn, error) {
	at, err := s.check()
	if err != nil {
		return nil, err
	}
	opts, err := s.options()
	if err != nil {
		return nil, err
	}
	c := &Conn{at: at}
	c.life, c.end = context.WithCancelCause(context.Background())
	opts = append(opts, nats.Name(name), nats.Timeout(dialWithin), nats.MaxReconnects(-1), nats.ReconnectWait(againAfter), nats.PingInterval(pingEvery),
		nats.ReconnectBufSize(-1), // what cannot be sent fails, and its sender sends it again
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) { // otherwise the caller who waits would only learn that there is no answer
				c.end(fmt.Errorf("%s %s", at, trouble(err)))
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			c.end(fmt.Errorf("%s has closed the connection for good: %s", at, reason(cmp.Or(nc.LastError(), nats.ErrConnectionClosed))))
		}))
	if c.nc, err = nats.Connect(s.URL, opts...); err != nil {
		return nil, fmt.Errorf("%s %s", at, trouble(err))
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(answerWithin), jetstream.WithPublishAsyncTimeout(answerWithin), jetstream.WithPublishAsyncMaxPending(256)); err != nil {
		return nil, err
	}
	within, cancel := c.while(ctx)
	defer cancel()
	if _, err := c.js.AccountInfo(within); err != nil {
		defer c.nc.Close()
		return nil, cmp.Or(c.gone(), fmt.Errorf("%s %s", at, trouble(err)))
	}
	return c, nil
}

// Close ends the connection, and all its goroutines.
func (c *Conn) Close() { c.nc.Close() }

// gone says why the connection cannot be used any more: the server has closed it for good, or denies a
// required permission.
func (c *Conn) gone() error { return context.Cause(c.life) }

// while is ctx for as long as the connection can be used.
func (c *Conn) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// FileError is the error of a file that a [Server] names.
type FileError struct {
	Of  string // "creds" or "ca"
	Err error
}

func (e *FileError) Error() string { return e.Err.Error() }

func (e *FileError) Unwrap() error { return e.Err }

func (s Server) options() (opts []nats.Option, err error) {
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, &FileError{"ca", fmt.Errorf("%s cannot be read: %w", s.CA, strictyaml.FileReason(err))}
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, &FileError{"ca", fmt.Errorf("%s holds no certificate in PEM; give that of the authority which has signed the server's", s.CA)}
		}
		opts = append(opts, func(o *nats.Options) error { // nats.RootCAs would require TLS, whatever the URL says
			o.TLSConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
			return nil
		})
	}
	if s.Creds != "" {
		data, err := os.ReadFile(s.Creds)
		if err != nil {
			return nil, &FileError{"creds", fmt.Errorf("%s cannot be read: %w", s.Creds, strictyaml.FileReason(err))}
		}
		if !strings.Contains(string(data), "USER JWT") || !strings.Contains(string(data), "SEED") {
			return nil, &FileError{"creds", fmt.Errorf("%s holds no JWT and seed of a user; give a file as nsc generate creds writes it", s.Creds)}
		}
		opts = append(opts, nats.UserCredentials(s.Creds))
	}
	return opts, nil
}

// wait waits before a retry; it returns false if ctx is over.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// refused says whether the server itself refuses, so that retrying does not help.
func refused(err error) bool {
	api := new(jetstream.APIError)
	return errors.As(err, &api) && api.Code < http.StatusInternalServerError
}

// isGone says whether an error means that a stream or a consumer does not exist any more.
func isGone(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrBucketNotFound)
}
