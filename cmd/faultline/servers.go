package main

import (
	"context"
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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/spf13/cobra"

	"github.com/faultline-sim/faultline/scenarios"
)

// Where a scheduler with servers of its own has them, and where its clients look for them. Nobody
// else's default is among them, so that a try never meets a server that others use.
const (
	embeddedRedisAddr = "127.0.0.1:16380"
	embeddedNATSAddr  = "127.0.0.1:14222"
)

// The environment may name the servers, too; a password stays out of the list of processes there.
const (
	envRedis = "FAULTLINE_REDIS"
	envNATS  = "FAULTLINE_NATS"
)

// answerWithin is how long a command waits for a server's first answer.
const answerWithin = 5 * time.Second

// serverFlags say where Redis and NATS are.
type serverFlags struct {
	redisURL string
	natsURL  string
}

func (f *serverFlags) addRedis(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringVar(&f.redisURL, "redis", "", "Redis, a `URL` such as redis://HOST:6379/0 (default $"+envRedis+", or "+otherwise+")")
	_ = cmd.RegisterFlagCompletionFunc("redis", cobra.NoFileCompletions)
}

func (f *serverFlags) addNATS(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringVar(&f.natsURL, "nats", "", "NATS with JetStream, a `URL` such as nats://HOST:4222 (default $"+envNATS+", or "+otherwise+")")
	_ = cmd.RegisterFlagCompletionFunc("nats", cobra.NoFileCompletions)
}

// addClient is for a client of servers that run already.
func (f *serverFlags) addClient(cmd *cobra.Command) {
	f.addRedis(cmd, "redis://"+embeddedRedisAddr+"/0")
	f.addNATS(cmd, "nats://"+embeddedNATSAddr)
}

// addReader is for a client that only reads Redis. It takes --nats as the others do, so that one line of flags
// is good for all.
func (f *serverFlags) addReader(cmd *cobra.Command) {
	f.addClient(cmd)
	_ = cmd.Flags().MarkHidden("nats")
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

// credentials are what a URL holds before its host.
var credentials = regexp.MustCompile(`//[^@/]*@`)

// public is a URL, or a list of them, as it may be printed.
func public(urls string) string { return credentials.ReplaceAllString(urls, "//***@") }

// redisOptions reads the URL of a Redis server. The client honours its callers' deadlines and repeats
// nothing by itself: the engine knows which of its calls may be repeated, and when.
func redisOptions(text string) (*redis.Options, error) {
	u, err := url.Parse(text)
	var opt *redis.Options
	if err == nil && u.Host == "" && u.Scheme != "unix" {
		err = errors.New("it names no host")
	}
	if err == nil {
		opt, err = redis.ParseURL(text)
	}
	if err != nil {
		return nil, fail(exitUsage, "--redis is %q, which is no URL of a Redis server; write redis://HOST:6379/0", public(text))
	}
	opt.ContextTimeoutEnabled = true
	opt.MaxRetries = -1
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // a cloud's extension, which other servers refuse
	return opt, nil
}

// checkURLs refuses what cannot be URLs of the two servers, before anything is done with either.
func (f *serverFlags) checkURLs() error {
	if _, err := redisOptions(f.redisURL); err != nil {
		return err
	}
	return checkNATS(f.natsURL)
}

// openRedis connects to Redis, and makes sure that it answers.
func (f *serverFlags) openRedis(ctx context.Context, log *slog.Logger) (*redis.Client, error) {
	opt, err := redisOptions(f.redisURL)
	if err != nil {
		return nil, err
	}
	redis.SetLogger(redisLogger{log})
	client := redis.NewClient(opt)
	client.AddHook(queuedError{})
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close()
		return nil, fail(exitUsage, "Redis at %s does not answer: %v; %s", public(f.redisURL), netReason(err), startOrElse(f.redisURL, embeddedRedisAddr, "redis-server", "--redis"))
	}
	return client, nil
}

// startOrElse is what to do about a server that does not answer.
func startOrElse(at, embedded, program, flag string) string {
	if strings.Contains(at, embedded) {
		program = "`faultline scheduler`, which brings one along"
	}
	return fmt.Sprintf("start %s, or give another with %s", program, flag)
}

// redisLogger passes on what go-redis says of its connections; what its calls meet, their callers
// say themselves.
type redisLogger struct{ log *slog.Logger }

// Printf is what go-redis calls.
func (l redisLogger) Printf(ctx context.Context, format string, v ...any) {
	l.log.LogAttrs(ctx, slog.LevelDebug, "redis client", slog.String("says", fmt.Sprintf(format, v...)))
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
// and comes back from every loss. It calls lost once there is no coming back.
func (f *serverFlags) keepNATS(name string, log *slog.Logger, lost func(error), more ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	nc, js, err := f.dialNATS(name, log, append(more, nats.RetryOnFailedConnect(true), nats.ReconnectWait(time.Second),
		nats.ClosedHandler(func(nc *nats.Conn) {
			if err := nc.LastError(); err != nil {
				lost(fail(exitUsage, "NATS at %s has closed the connection for good: %v", public(f.natsURL), err))
			}
		}))...)
	if err == nil && !nc.IsConnected() {
		log.Warn("NATS does not answer yet; trying on", slog.String("url", public(f.natsURL)), slog.String("error", whyAway(nc)), slog.String("remedy", startOrElse(f.natsURL, embeddedNATSAddr, "nats-server -js", "--nats")))
	}
	return nc, js, err
}

// whyAway is why there is no connection to NATS, as far as it is known.
func whyAway(nc *nats.Conn) string {
	if err := nc.LastError(); err != nil {
		return netReason(err).Error()
	}
	return notConnected
}

func (f *serverFlags) dialNATS(name string, log *slog.Logger, more ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	if err := checkNATS(f.natsURL); err != nil {
		return nil, nil, err
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
	if err != nil {
		return nil, nil, fail(exitUsage, "NATS at %s does not answer: %v; %s", public(f.natsURL), netReason(err), startOrElse(f.natsURL, embeddedNATSAddr, "nats-server -js", "--nats"))
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
	return scenarios.FileReason(err)
}
