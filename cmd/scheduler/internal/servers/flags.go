package servers

import (
	"crypto/x509"
	"os"
	"regexp"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Where a scheduler with servers of its own has them, and where its clients look for them. Nobody
// else's default is among them, so that a try never meets a server that others use.
const (
	EmbeddedRedisAddr = "127.0.0.1:16380"
	EmbeddedNATSAddr  = "127.0.0.1:14222"
)

// The environment may name the servers, too; a password stays out of the list of processes there.
const (
	EnvRedis = "WAVETANK_REDIS"
	EnvNATS  = "WAVETANK_NATS"
)

// AnswerWithin is how long a command waits for a server's first answer.
const AnswerWithin = 5 * time.Second

// Flags say where Redis and NATS are, and how they are spoken to.
type Flags struct {
	RedisURL  string
	NATSURL   string
	NATSCreds string
	TLSCA     string
}

// AddRedis adds --redis; otherwise is the default.
func (f *Flags) AddRedis(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringVar(&f.RedisURL, "redis", "", "Redis, a `URL` such as redis://HOST:6379/0, rediss:// with TLS, or redis://SENTINEL:26379/0?"+masterName+"=NAME (default $"+EnvRedis+", or "+otherwise+")")
}

// AddNATS adds --nats.
func (f *Flags) AddNATS(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringVar(&f.NATSURL, "nats", "", "NATS with JetStream, a `URL` such as nats://HOST:4222, or tls:// with TLS (default $"+EnvNATS+", or "+otherwise+")")
}

// AddSecurity adds how both are spoken to.
func (f *Flags) AddSecurity(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.NATSCreds, "nats-creds", "", "the credentials of a NATS user, a `FILE` of JWT and seed")
	cmd.Flags().StringVar(&f.TLSCA, "tls-ca", "", "trust this authority's certificate in PEM for Redis and NATS, a `FILE` (default the system's authorities)")
}

// AddClient is for a client of servers that run already.
func (f *Flags) AddClient(cmd *cobra.Command) {
	f.AddRedis(cmd, "redis://"+EmbeddedRedisAddr+"/0")
	f.AddNATS(cmd, "nats://"+EmbeddedNATSAddr)
	f.AddSecurity(cmd)
}

// AddReader is for a client that only reads Redis. It takes --nats as the others do, so that one line of flags
// is good for all.
func (f *Flags) AddReader(cmd *cobra.Command) {
	f.AddClient(cmd)
	_ = cmd.Flags().MarkHidden("nats")
	_ = cmd.Flags().MarkHidden("nats-creds")
}

// FromEnv fills what no flag gives.
func (f *Flags) FromEnv() {
	if f.RedisURL == "" {
		f.RedisURL = os.Getenv(EnvRedis)
	}
	if f.NATSURL == "" {
		f.NATSURL = os.Getenv(EnvNATS)
	}
}

// OrEmbedded fills what neither a flag nor the environment gives with the servers that a scheduler
// brings along.
func (f *Flags) OrEmbedded() {
	f.FromEnv()
	if f.RedisURL == "" {
		f.RedisURL = "redis://" + EmbeddedRedisAddr + "/0"
	}
	if f.NATSURL == "" {
		f.NATSURL = "nats://" + EmbeddedNATSAddr
	}
}

// credentials are what a URL holds before its host, and passwords among its parameters.
var credentials = regexp.MustCompile(`(//)[^@/]*(@)|([?&](?:sentinel_)?password=)[^&]*`)

// Public is a URL, or a list of them, as it may be printed.
func Public(urls string) string { return credentials.ReplaceAllString(urls, "$1$3***$2") }

// overTLS finds a URL that asks for TLS.
var overTLS = regexp.MustCompile(`(?:rediss|tls|wss)://`)

// authority is whom TLS is to trust; nil is the system's.
func (f *Flags) authority() (*x509.CertPool, error) {
	if f.TLSCA == "" {
		return nil, nil
	}
	return ReadAuthority("--tls-ca", f.TLSCA)
}

// checkCreds refuses a file that holds no credentials: the NATS client would only find that out again and again.
func (f *Flags) checkCreds() error {
	if f.NATSCreds == "" {
		return nil
	}
	data, err := os.ReadFile(f.NATSCreds)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "--nats-creds is %s: %v; name a file that can be read", f.NATSCreds, strictyaml.FileReason(err))
	}
	_, noJWT := nkeys.ParseDecoratedJWT(data)
	if _, err := nkeys.ParseDecoratedUserNKey(data); err != nil || noJWT != nil {
		return cli.Fail(cli.ExitUsage, "--nats-creds is %s, which holds no JWT and seed of a user; name a file as nsc generate creds writes it", f.NATSCreds)
	}
	return nil
}
