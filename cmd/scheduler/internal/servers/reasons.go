package servers

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// startOrElse is what to do about a server that does not answer.
func startOrElse(err error, at, embedded, program, flag string) string {
	var untrusted x509.UnknownAuthorityError
	if errors.As(err, &untrusted) {
		return "name the file with its authority's certificate with --tls-ca"
	}
	if strings.Contains(at, embedded) {
		program = "`scheduler serve`, which runs its own"
	}
	other := fmt.Sprintf("start %s, or give another with %s", program, flag)
	if strings.HasPrefix(at, "rediss://") && !errors.Is(err, syscall.ECONNREFUSED) { // a Redis without TLS waits for more of what it takes for a command
		return "write redis:// if it takes no TLS, " + other
	}
	return other
}

// Plainly is an error about a server in words: what the NATS client says without a connection is that a
// buffer is full, which is not there.
func Plainly(err error) string {
	text := err.Error()
	for _, away := range awayErrors {
		text = strings.ReplaceAll(text, away.Error(), NotConnected)
	}
	return text
}

// Lost is the error of a command that a server has left midway, or that was interrupted, and what to do next.
func Lost(ctx context.Context, err error, next string) error {
	if ctx.Err() != nil {
		return cli.Fail(cli.ExitInterrupted, "interrupted; %s", next)
	}
	return cli.Fail(cli.ExitInconclusive, "%s; %s", Plainly(err), next)
}

// NotConnected is what is said of NATS while there is no connection.
const NotConnected = "not connected"

// NoAnswer says whether an error of Redis is of the connection, or of a server that takes no questions for now: the
// same call may succeed later.
func NoAnswer(err error) bool {
	var ne net.Error // a deadline is one, too
	return errors.As(err, &ne) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, redis.ErrPoolTimeout) ||
		redis.IsLoadingError(err) || redis.IsMasterDownError(err) || redis.IsClusterDownError(err) || redis.IsMaxClientsError(err)
}

// NetReason is the reason of an error about a connection, such as "connection refused", without the
// names of the call and of the address.
func NetReason(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", AnswerWithin)
	case errors.As(err, &op):
		err = op.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err
	}
	return strictyaml.FileReason(err)
}
