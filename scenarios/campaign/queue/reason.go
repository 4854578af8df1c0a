package queue

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// check returns an error for a URL that cannot work. at is how the URL is shown.
func (s Server) check() (at string, err error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return "", errors.New("the queue's address is no URL of a NATS server; write nats://HOST:4222, or tls://HOST:4222")
	}
	u.User = nil
	return u.String(), nil
}

// trouble says why a server cannot be used, and what to do about it.
func trouble(err error) string {
	var untrusted x509.UnknownAuthorityError
	var name x509.HostnameError
	var old x509.CertificateInvalidError
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return "refuses these credentials; give the user and the password in the URL, nats://USER:PASSWORD@HOST:4222, or a file with --queue-creds"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return "has no JetStream for this user; start it with nats-server -js, or enable it for the account"
	case errors.As(err, &untrusted):
		return "has a certificate of an authority that is not trusted here; name its authority's certificate with --queue-ca"
	case errors.As(err, &name), errors.As(err, &old):
		return "has a certificate that does not fit: " + reason(err)
	case errors.Is(err, nats.ErrPermissionViolation):
		return "does not permit this user what it takes (" + denied(err) + "); " + permissions
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "has no TLS, and tls:// asks for it; write nats://"
	case errors.Is(err, nats.ErrSecureConnRequired):
		return "takes only TLS; write tls://"
	case errors.Is(err, nats.ErrNoInfoReceived), errors.Is(err, io.EOF):
		return "does not greet as a nats-server does; look whether that is the port of one"
	}
	return fmt.Sprintf("cannot be reached: %s; start nats-server -js there, or give another with --queue", reason(err))
}

// permissions are what coordinators and machines must be permitted.
const permissions = "permit a coordinator to publish to $JS.API.>, $JS.FC.>, $O.> and wavetank.>, who works to $JS.API.>, $JS.ACK.>, $JS.FC.> and wavetank.>, and both to subscribe to _INBOX.>"

// denied says what a server does not permit.
func denied(err error) string {
	_, what, _ := strings.Cut(err.Error(), "Permissions Violation for ")
	what, _, _ = strings.Cut(what, " (sid ") // the client's own number
	return what
}

// reason is the reason of an error, without the names of calls and addresses.
func reason(err error) string {
	switch {
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, jetstream.ErrServerShutdown), errors.Is(err, nats.ErrConnectionClosed):
		return "not connected" // the client says that a buffer is full, though there is none
	case errors.Is(err, nats.ErrNoServers): // the client's error for a refused connection
		return "nobody listens there"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrAsyncPublishTimeout):
		return "no answer"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		err = sys.Err
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "nats: "), "tls: ")
}
