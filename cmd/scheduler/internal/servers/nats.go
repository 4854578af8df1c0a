package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

var natsSchemes = []string{"nats", "tls", "ws", "wss"}

// checkNATS refuses what cannot be the URL of a nats-server, or a list of them.
func checkNATS(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err == nil && u.Hostname() != "" && u.Fragment == "" && slices.Contains(natsSchemes, u.Scheme):
		case unreadable(text, "/?#,"):
			return cli.Fail(cli.ExitUsage, "--nats is %q, which "+escapeIt, Public(text))
		default:
			return cli.Fail(cli.ExitUsage, "--nats is %q, not the URL of a nats-server; write nats://HOST:4222", Public(text))
		}
	}
	return nil
}

// openNATS connects to NATS, and makes sure that it answers and has JetStream.
func (f *Flags) openNATS(ctx context.Context, name string, log *slog.Logger) (*nats.Conn, jetstream.JetStream, error) {
	nc, js, err := f.dialNATS(name, log, nats.Timeout(AnswerWithin))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	if _, err := js.AccountInfo(ctx); err != nil {
		nc.Close()
		return nil, nil, NoJetStream(f.NATSURL, err)
	}
	return nc, js, nil
}

// KeepNATS connects to NATS for as long as the process runs, whether a server answers yet or not,
// and comes back from every loss. It calls lost once there is no coming back. Why there is no connection it logs
// once in each outage.
func (f *Flags) KeepNATS(name string, log *slog.Logger, lost func(error), more ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	return f.dialNATS(name, log, append(more, nats.RetryOnFailedConnect(true), nats.ReconnectWait(time.Second),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			why, remedy := f.natsTrouble(err)
			if firstInOutage(log, why) {
				log.Warn("NATS cannot be used; trying again", slog.String("url", Public(f.NATSURL)), slog.String("error", why), slog.String("remedy", remedy))
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			switch err := nc.LastError(); {
			case errors.Is(err, nats.ErrAuthorization):
				lost(cli.Fail(cli.ExitUsage, "NATS at %s refuses: %v; %s", Public(f.NATSURL), err, natsCredentials))
			case err != nil:
				lost(cli.Fail(cli.ExitUsage, "NATS at %s has closed the connection for good: %v", Public(f.NATSURL), err))
			}
		}))...)
}

// natsCredentials is the remedy where NATS knows no such user.
const natsCredentials = "give the user and the password in the URL, nats://USER:PASSWORD@HOST:4222, a token as nats://TOKEN@HOST:4222, or a file with --nats-creds"

// natsTrouble says why there is no connection to NATS, and what to do about it.
func (f *Flags) natsTrouble(err error) (why, remedy string) {
	if errors.Is(err, nats.ErrNoServers) {
		err = syscall.ECONNREFUSED // which is what the client means at first
	}
	var op *net.OpError
	switch {
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "it takes no TLS", "write nats://, or configure the server for TLS"
	case errors.Is(err, nats.ErrAuthorization):
		return "it refuses: " + err.Error(), natsCredentials
	case errors.Is(err, nats.ErrNoInfoReceived), errors.Is(err, io.EOF), errors.As(err, &op) && op.Op == "read":
		return fmt.Sprintf("the program that listens there does not greet as a nats-server does: %v", NetReason(err)), "check that a nats-server has this port and does not hang, or give another server with --nats"
	}
	return NetReason(err).Error(), startOrElse(err, f.NATSURL, EmbeddedNATSAddr, "nats-server -js", "--nats")
}

// pingEvery is how often NATS is asked whether it is there still. A server that vanished without a word is noticed by the third
// time, well within the dispatch timeout; the client's own two minutes would take longer than that.
const pingEvery = 20 * time.Second

func (f *Flags) dialNATS(name string, log *slog.Logger, more ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	if err := checkNATS(f.NATSURL); err != nil {
		return nil, nil, err
	}
	authority, err := f.authority()
	if err != nil {
		return nil, nil, err
	}
	if f.NATSCreds != "" {
		more = append(more, nats.UserCredentials(f.NATSCreds))
	}
	if authority != nil {
		more = append(more, func(o *nats.Options) error { // nats.RootCAs would insist on TLS, whatever the URL says
			o.TLSConfig = &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12}
			return nil
		})
	}
	nc, err := nats.Connect(f.NATSURL, append(more,
		nats.Name(name), nats.MaxReconnects(-1),
		nats.PingInterval(pingEvery),
		nats.ReconnectBufSize(-1), // a publish while the connection is lost fails, and is not sent after its caller has given up
		nats.ConnectHandler(func(nc *nats.Conn) {
			connectedAgain(log)
			log.Debug("connected to NATS", slog.String("url", nc.ConnectedUrlRedacted()))
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("connection to NATS lost; reconnecting", slog.Any("error", err))
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			connectedAgain(log)
			log.Info("connected to NATS again", slog.String("url", nc.ConnectedUrlRedacted()))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("NATS client", slog.Any("error", err))
		}),
	)...)
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, nil, cli.Fail(cli.ExitUsage, "NATS at %s refuses: %v; %s", Public(f.NATSURL), err, natsCredentials)
	}
	if err != nil {
		why, remedy := f.natsTrouble(err)
		return nil, nil, cli.Fail(cli.ExitUsage, "NATS at %s does not answer: %s; %s", Public(f.NATSURL), why, remedy)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return nc, js, nil
}

// DrainWithin is how long a process that ends waits for the servers to take its last words.
const DrainWithin = 2 * time.Second

// HangUp closes a connection once the server has what was sent; what it acknowledged would come again
// otherwise.
func HangUp(nc *nats.Conn, log *slog.Logger) {
	if nc.IsConnected() {
		if err := nc.FlushTimeout(DrainWithin); err != nil {
			log.Warn("the last acknowledgements may be lost; their messages come again", slog.Any("error", err))
		}
	}
	nc.Close()
}

// NoJetStream is the error of a nats-server whose JetStream does not answer.
func NoJetStream(at string, err error) error {
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return cli.Fail(cli.ExitUsage, "nats-server at %s has no JetStream; start it with -js", Public(at))
	}
	return cli.Fail(cli.ExitUsage, "JetStream at %s does not answer: %v", Public(at), NetReason(err))
}
