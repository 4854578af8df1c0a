package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Server says where JetStream is, and as whom to go there.
type Server struct {
	URL   string // nats:// or tls://, with a user and a password, or a token, if it asks for them
	Creds string // a file of a user's JWT and seed; "" is none
	CA    string // a file with the certificate in PEM of an authority to trust; "" is the system's
}

// Public is the URL without a password.
func (s Server) Public() string {
	at, _ := s.check()
	return at
}

// Conn is a connection, which comes back by itself after a loss.
type Conn struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	at   string     // without a password
	gone chan error // the server has closed it for good
}

// How long a connection and an answer are waited for, and how long it takes until a lost one is tried again.
const (
	dialWithin   = 5 * time.Second
	answerWithin = 10 * time.Second
	againAfter   = 250 * time.Millisecond
)

// Dial connects to the server. Its error is one line, with a remedy.
func (s Server) Dial(ctx context.Context, name string) (*Conn, error) {
	at, err := s.check()
	if err != nil {
		return nil, err
	}
	c := &Conn{at: at, gone: make(chan error, 1)}
	opts, err := s.options()
	if err != nil {
		return nil, err
	}
	opts = append(opts, nats.Name(name), nats.Timeout(dialWithin), nats.MaxReconnects(-1), nats.ReconnectWait(againAfter),
		nats.ReconnectBufSize(-1), // what cannot be sent fails, and is sent again by whoever sent it
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			if err := nc.LastError(); err != nil {
				c.gone <- fmt.Errorf("%s has closed the connection for good: %s", at, reason(err))
			}
		}))
	if c.nc, err = nats.Connect(s.URL, opts...); err != nil {
		return nil, fmt.Errorf("%s %s", at, trouble(err))
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(answerWithin), jetstream.WithPublishAsyncMaxPending(256)); err != nil {
		return nil, err
	}
	if _, err := c.js.AccountInfo(ctx); err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("%s %s", at, trouble(err))
	}
	return c, nil
}

// Close ends the connection. No goroutine of it is left.
func (c *Conn) Close() { c.nc.Close() }

func (s Server) options() (opts []nats.Option, err error) {
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", s.CA, strictyaml.FileReason(err))
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM; give that of the authority which has signed the server's", s.CA)
		}
		opts = append(opts, func(o *nats.Options) error { // nats.RootCAs would insist on TLS, whatever the URL says
			o.TLSConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
			return nil
		})
	}
	if s.Creds != "" {
		data, err := os.ReadFile(s.Creds)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", s.Creds, strictyaml.FileReason(err))
		}
		if !strings.Contains(string(data), "USER JWT") || !strings.Contains(string(data), "SEED") {
			return nil, fmt.Errorf("%s holds no JWT and seed of a user; give a file as nsc generate creds writes it", s.Creds)
		}
		opts = append(opts, nats.UserCredentials(s.Creds))
	}
	return opts, nil
}

// wait waits a while before something is tried again; false if ctx is over.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// isGone says whether an error means that a stream or a consumer is not there any more.
func isGone(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrBucketNotFound)
}
