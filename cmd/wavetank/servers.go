package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Where a scheduler with servers of its own has them, and where its clients look for them. Nobody
// else's default is among them, so that a try never meets a server that others use.
const (
	embeddedRedisAddr = "127.0.0.1:16380"
	embeddedNATSAddr  = "127.0.0.1:14222"
)

// The environment may name the servers, too; a password stays out of the list of processes there.
const (
	envRedis = "WAVETANK_REDIS"
	envNATS  = "WAVETANK_NATS"
)

// answerWithin is how long a command waits for a server's first answer.
const answerWithin = 5 * time.Second

// serverFlags say where Redis and NATS are, and how they are spoken to.
type serverFlags struct {
	redisURL  string
	natsURL   string
	natsCreds string
	tlsCA     string
}

func (f *serverFlags) addRedis(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringVar(&f.redisURL, "redis", "", "Redis, a `URL` such as redis://HOST:6379/0, rediss:// with TLS, or redis://SENTINEL:26379/0?"+masterName+"=NAME (default $"+envRedis+", or "+otherwise+")")
	_ = cmd.RegisterFlagCompletionFunc("redis", cobra.NoFileCompletions)
}

func (f *serverFlags) addNATS(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringVar(&f.natsURL, "nats", "", "NATS with JetStream, a `URL` such as nats://HOST:4222, or tls:// with TLS (default $"+envNATS+", or "+otherwise+")")
	_ = cmd.RegisterFlagCompletionFunc("nats", cobra.NoFileCompletions)
}

func (f *serverFlags) addSecurity(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.natsCreds, "nats-creds", "", "the credentials of a NATS user, a `FILE` of JWT and seed")
	cmd.Flags().StringVar(&f.tlsCA, "tls-ca", "", "trust this authority's certificate in PEM for Redis and NATS, a `FILE` (default the system's authorities)")
}

// addClient is for a client of servers that run already.
func (f *serverFlags) addClient(cmd *cobra.Command) {
	f.addRedis(cmd, "redis://"+embeddedRedisAddr+"/0")
	f.addNATS(cmd, "nats://"+embeddedNATSAddr)
	f.addSecurity(cmd)
}

// addReader is for a client that only reads Redis. It takes --nats as the others do, so that one line of flags
// is good for all.
func (f *serverFlags) addReader(cmd *cobra.Command) {
	f.addClient(cmd)
	_ = cmd.Flags().MarkHidden("nats")
	_ = cmd.Flags().MarkHidden("nats-creds")
}

// fromEnv fills what no flag gives.
func (f *serverFlags) fromEnv() {
	if f.redisURL == "" {
		f.redisURL = os.Getenv(envRedis)
	}
	if f.natsURL == "" {
		f.natsURL = os.Getenv(envNATS)
	}
}

// orEmbedded fills what neither a flag nor the environment gives with the servers that a scheduler
// brings along.
func (f *serverFlags) orEmbedded() {
	f.fromEnv()
	if f.redisURL == "" {
		f.redisURL = "redis://" + embeddedRedisAddr + "/0"
	}
	if f.natsURL == "" {
		f.natsURL = "nats://" + embeddedNATSAddr
	}
}

// credentials are what a URL holds before its host, and passwords among its parameters.
var credentials = regexp.MustCompile(`(//)[^@/]*(@)|([?&](?:sentinel_)?password=)[^&]*`)

// public is a URL, or a list of them, as it may be printed.
func public(urls string) string { return credentials.ReplaceAllString(urls, "$1$3***$2") }

// checkURLs refuses what cannot be URLs of the two servers, and what cannot be said of them, before anything is
// done with either. A URL that is not given is none of theirs.
func (f *serverFlags) checkURLs() error {
	if f.redisURL != "" {
		if _, err := f.redisOptions(); err != nil {
			return err
		}
	}
	if f.natsURL != "" {
		if err := checkNATS(f.natsURL); err != nil {
			return err
		}
	}
	switch {
	case f.natsCreds != "" && f.natsURL == "":
		return fail(exitUsage, "--nats-creds is for a NATS that is given, and none is; give it with --nats, or leave --nats-creds out")
	case f.tlsCA != "" && !overTLS.MatchString(f.redisURL) && !overTLS.MatchString(f.natsURL):
		return fail(exitUsage, "--tls-ca is about TLS, and neither server is asked for it; write rediss:// with --redis or tls:// with --nats, or leave --tls-ca out")
	}
	if _, err := f.authority(); err != nil {
		return err
	}
	return f.checkCreds()
}

// overTLS finds a URL that asks for TLS.
var overTLS = regexp.MustCompile(`(?:rediss|tls|wss)://`)

// authority is whom TLS is to trust; nil is the system's.
func (f *serverFlags) authority() (*x509.CertPool, error) {
	if f.tlsCA == "" {
		return nil, nil
	}
	return readAuthority("--tls-ca", f.tlsCA)
}

// checkCreds refuses a file that holds no credentials: the NATS client would only find that out again and again.
func (f *serverFlags) checkCreds() error {
	if f.natsCreds == "" {
		return nil
	}
	data, err := os.ReadFile(f.natsCreds)
	if err != nil {
		return fail(exitUsage, "--nats-creds is %s: %v; name a file that can be read", f.natsCreds, strictyaml.FileReason(err))
	}
	_, noJWT := nkeys.ParseDecoratedJWT(data)
	if _, err := nkeys.ParseDecoratedUserNKey(data); err != nil || noJWT != nil {
		return fail(exitUsage, "--nats-creds is %s, which holds no JWT and seed of a user; name a file as nsc generate creds writes it", f.natsCreds)
	}
	return nil
}

// startOrElse is what to do about a server that does not answer.
func startOrElse(err error, at, embedded, program, flag string) string {
	var untrusted x509.UnknownAuthorityError
	if errors.As(err, &untrusted) {
		return "name the file with its authority's certificate with --tls-ca"
	}
	if strings.Contains(at, embedded) {
		program = "`wavetank scheduler`, which brings one along"
	}
	return fmt.Sprintf("start %s, or give another with %s", program, flag)
}

var natsSchemes = []string{"nats", "tls", "ws", "wss"}

// checkNATS refuses what cannot be the URL of a nats-server, or a list of them.
func checkNATS(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Hostname() == "" || !slices.Contains(natsSchemes, u.Scheme) {
			return fail(exitUsage, "--nats is %q, which is no URL of a nats-server; write nats://HOST:4222", public(text))
		}
	}
	return nil
}

// openNATS connects to NATS, and makes sure that it answers and has JetStream.
func (f *serverFlags) openNATS(ctx context.Context, name string, log *slog.Logger) (*nats.Conn, jetstream.JetStream, error) {
	nc, js, err := f.dialNATS(name, log, nats.Timeout(answerWithin))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if _, err := js.AccountInfo(ctx); err != nil {
		nc.Close()
		return nil, nil, noJetStream(f.natsURL, err)
	}
	return nc, js, nil
}

// keepNATS connects to NATS for as long as the process runs, whether a server answers yet or not,
// and comes back from every loss. It calls lost once there is no coming back. Why there is no connection it logs
// once in each outage.
func (f *serverFlags) keepNATS(name string, log *slog.Logger, lost func(error), more ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	return f.dialNATS(name, log, append(more, nats.RetryOnFailedConnect(true), nats.ReconnectWait(time.Second),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if errors.Is(err, nats.ErrNoServers) {
				err = syscall.ECONNREFUSED // which is what the client means at first
			}
			why, remedy := f.natsTrouble(err)
			if firstInOutage(log, why) {
				log.Warn("NATS cannot be used; trying on", slog.String("url", public(f.natsURL)), slog.String("error", why), slog.String("remedy", remedy))
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			switch err := nc.LastError(); {
			case errors.Is(err, nats.ErrAuthorization):
				lost(fail(exitUsage, "NATS at %s refuses: %v; %s", public(f.natsURL), err, natsCredentials))
			case err != nil:
				lost(fail(exitUsage, "NATS at %s has closed the connection for good: %v", public(f.natsURL), err))
			}
		}))...)
}

// natsCredentials is the remedy where NATS knows no such user.
const natsCredentials = "give the user and the password in the URL, nats://USER:PASSWORD@HOST:4222, a token as nats://TOKEN@HOST:4222, or a file with --nats-creds"

// natsTrouble says why there is no connection to NATS, and what to do about it.
func (f *serverFlags) natsTrouble(err error) (why, remedy string) {
	var op *net.OpError
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return "it refuses: " + err.Error(), natsCredentials
	case errors.Is(err, nats.ErrNoInfoReceived), errors.Is(err, io.EOF), errors.As(err, &op) && op.Op == "read":
		return fmt.Sprintf("what listens there does not greet as a nats-server does: %v", netReason(err)), "look whether that is the port of a nats-server, and whether it hangs, or give another with --nats"
	}
	return netReason(err).Error(), startOrElse(err, f.natsURL, embeddedNATSAddr, "nats-server -js", "--nats")
}

func (f *serverFlags) dialNATS(name string, log *slog.Logger, more ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	if err := checkNATS(f.natsURL); err != nil {
		return nil, nil, err
	}
	authority, err := f.authority()
	if err != nil {
		return nil, nil, err
	}
	if f.natsCreds != "" {
		more = append(more, nats.UserCredentials(f.natsCreds))
	}
	if authority != nil {
		more = append(more, func(o *nats.Options) error { // nats.RootCAs would insist on TLS, whatever the URL says
			o.TLSConfig = &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12}
			return nil
		})
	}
	nc, err := nats.Connect(f.natsURL, append(more,
		nats.Name(name), nats.MaxReconnects(-1),
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
		return nil, nil, fail(exitUsage, "NATS at %s refuses: %v; %s", public(f.natsURL), err, natsCredentials)
	}
	if err != nil {
		why, remedy := f.natsTrouble(err)
		return nil, nil, fail(exitUsage, "NATS at %s does not answer: %s; %s", public(f.natsURL), why, remedy)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return nc, js, nil
}

// drainWithin is how long a process that ends waits for the servers to take its last words.
const drainWithin = 2 * time.Second

// hangUp closes a connection once the server has what was sent; what it acknowledged would come again
// otherwise.
func hangUp(nc *nats.Conn, log *slog.Logger) {
	if nc.IsConnected() {
		if err := nc.FlushTimeout(drainWithin); err != nil {
			log.Warn("the last acknowledgements may be lost; their messages come again", slog.Any("error", err))
		}
	}
	nc.Close()
}

// noJetStream is the error of a nats-server whose JetStream does not answer.
func noJetStream(at string, err error) error {
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fail(exitUsage, "nats-server at %s has no JetStream; start it with -js", public(at))
	}
	return fail(exitUsage, "JetStream at %s does not answer: %v", public(at), netReason(err))
}

// plainly is an error about a server in words: what the NATS client says without a connection is that a
// buffer is full, which is not there.
func plainly(err error) string {
	text := err.Error()
	for _, away := range awayErrors {
		text = strings.ReplaceAll(text, away.Error(), notConnected)
	}
	return text
}

// notConnected is what is said of NATS while there is no connection.
const notConnected = "not connected"

// noAnswer says whether an error of Redis is of the connection, or of a server that takes no questions for now: the
// same call may succeed later.
func noAnswer(err error) bool {
	var ne net.Error // a deadline is one, too
	return errors.As(err, &ne) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, redis.ErrPoolTimeout) ||
		redis.IsLoadingError(err) || redis.IsMasterDownError(err) || redis.IsClusterDownError(err) || redis.IsMaxClientsError(err)
}

// netReason is the reason of an error about a connection, such as "connection refused", without the
// names of the call and of the address.
func netReason(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", answerWithin)
	case errors.As(err, &op):
		err = op.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err
	}
	return strictyaml.FileReason(err)
}
