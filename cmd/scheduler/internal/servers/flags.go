package servers

import (
	"crypto/x509"
	"net/url"
	"os"
	"regexp"
	"strings"
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

var (
	// nextURL is where a list of URLs goes on.
	nextURL = regexp.MustCompile(`,\s*\w+://`)
	// passwords are those among a URL's parameters.
	passwords = regexp.MustCompile(`([?&](?:sentinel_)?password=)[^&]*`)
)

// Public is a URL, or a list of them, as it may be printed, whether it can be read or not.
func Public(urls string) string {
	if next := nextURL.FindStringIndex(urls); next != nil {
		return Public(urls[:next[0]]) + "," + Public(urls[next[0]+1:])
	}
	before, user, host := splitUser(urls)
	if user != "" {
		user = "***"
	}
	return passwords.ReplaceAllString(before+user+host, "$1***")
}

// splitUser finds what may be the user and the password of one URL, all that comes before its last @.
func splitUser(one string) (before, user, host string) {
	from := 0
	if i := strings.Index(one, "//"); i >= 0 {
		from = i + len("//")
	}
	at := max(from, strings.LastIndex(one, "@"))
	return one[:from], one[from:at], one[at:]
}

// unreadable says whether a URL of a list has a user or a password with a character in it that ends them too early or is
// none. What is said then of the rest may show a part of the password.
func unreadable(urls, ends string) bool {
	if next := nextURL.FindStringIndex(urls); next != nil {
		return unreadable(urls[:next[0]], ends) || unreadable(urls[next[0]+1:], ends)
	}
	_, user, _ := splitUser(urls)
	_, err := url.PathUnescape(user)
	return err != nil || strings.ContainsAny(user, ends)
}

// escapeIt is what is wrong with a URL that is unreadable, and the remedy.
const escapeIt = "has a user or a password that cannot be read; write it percent-encoded: / ? # %% , and @ are %%2F %%3F %%23 %%25 %%2C and %%40"

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
