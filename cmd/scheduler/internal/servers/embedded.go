package servers

import (
	"errors"
	"net"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// Embedded are servers in this process, for a try without any that are installed.
type Embedded struct {
	Redis   *miniredis.Miniredis // nil where Redis was given
	NATS    *server.Server       // nil where NATS was given
	CleanUp func()               // removes what they left on disk, and gives a folder back
}

// StartEmbedded starts the servers that f leaves out, and fills in where they are. Their addresses'
// port 0 is any that is free. The streams go to dir; "" is a temporary folder.
func (f *Flags) StartEmbedded(redisAddr, natsAddr, dir string) (e *Embedded, err error) {
	e = &Embedded{CleanUp: func() {}}
	defer func() {
		if err != nil {
			e.Stop()
		}
	}()
	if dir != "" && f.NATSURL == "" {
		if e.CleanUp, err = lockData(dir); err != nil {
			e.CleanUp = func() {}
			return e, err
		}
	}
	if f.RedisURL == "" {
		if err := free(redisAddr, "--embedded-redis", "--redis"); err != nil {
			return e, err
		}
		if e.Redis, err = startRedis(redisAddr); err != nil {
			return e, cli.Fail(cli.ExitUsage, "cannot listen on %s: %v; give another address with --embedded-redis", redisAddr, NetReason(err))
		}
		f.RedisURL = "redis://" + e.Redis.Addr() + "/0"
	}
	if f.NATSURL != "" {
		return e, nil
	}
	if err := free(natsAddr, "--embedded-nats", "--nats"); err != nil {
		return e, err
	}
	if dir == "" {
		var cleanUp func()
		if dir, cleanUp, err = newStreamsTemp(); err != nil {
			return e, err
		}
		e.CleanUp = cleanUp
	}
	host, port := SplitAddr(natsAddr)
	if port == 0 {
		port = server.RANDOM_PORT
	}
	srv, err := server.NewServer(&server.Options{
		Host: host, Port: port, JetStream: true, StoreDir: dir, ServerName: "wavetank", NoLog: true, NoSigs: true,
	})
	if err != nil {
		return e, cli.Fail(cli.ExitUsage, "nats-server cannot start with its streams in %s: %v; choose another folder with --data", dir, err)
	}
	e.NATS = srv
	srv.Start()
	if !srv.ReadyForConnections(AnswerWithin) || !srv.JetStreamEnabled() {
		return e, cli.Fail(cli.ExitUsage, "nats-server cannot start on %s with its streams in %s; check both, or choose others with --embedded-nats and --data", natsAddr, dir)
	}
	f.NATSURL = srv.ClientURL()
	return e, nil
}

// free refuses an address that cannot be listened on. The likeliest reason is a scheduler that runs
// already.
func free(addr, flag, instead string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "cannot listen on %s for this process's own server: %v; give another address with %s, or a running server with %s", addr, NetReason(err), flag, instead)
	}
	return l.Close()
}

// CheckAddr refuses what is no address to listen on.
func CheckAddr(flag, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		var n int
		if n, err = strconv.Atoi(port); err == nil && (n < 0 || n > 65535) {
			err = errors.New("out of range")
		}
	}
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%s is %q, not an address; write HOST:PORT, as in 127.0.0.1:0", flag, addr)
	}
	return nil
}

// SplitAddr takes an address apart that was checked.
func SplitAddr(addr string) (host string, port int) {
	host, text, _ := net.SplitHostPort(addr)
	port, _ = strconv.Atoi(text)
	return host, port
}

// Stop ends the servers and removes what was temporary.
func (e *Embedded) Stop() {
	if e.NATS != nil {
		e.NATS.Shutdown()
		e.NATS.WaitForShutdown()
	}
	if e.Redis != nil {
		e.Redis.Close()
	}
	e.CleanUp()
}
