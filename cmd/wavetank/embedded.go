package main

import (
	"errors"
	"net"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// embedded are servers in this process, for a try without any that are installed.
type embedded struct {
	redis   *miniredis.Miniredis // nil where Redis was given
	nats    *server.Server       // nil where NATS was given
	cleanUp func()               // removes what they left on disk, and gives a folder back
}

// startEmbedded starts the servers that f leaves out, and fills in where they are. Their addresses'
// port 0 is any that is free. The streams go to dir; "" is a temporary folder.
func (f *serverFlags) startEmbedded(redisAddr, natsAddr, dir string) (e *embedded, err error) {
	e = &embedded{cleanUp: func() {}}
	defer func() {
		if err != nil {
			e.stop()
		}
	}()
	if dir != "" && f.natsURL == "" {
		if e.cleanUp, err = lockData(dir); err != nil {
			e.cleanUp = func() {}
			return e, err
		}
	}
	if f.redisURL == "" {
		if err := free(redisAddr, "--embedded-redis", "--redis"); err != nil {
			return e, err
		}
		e.redis = miniredis.NewMiniRedis()
		e.redis.ClockTTL(true)
		if err := e.redis.StartAddr(redisAddr); err != nil {
			e.redis = nil
			return e, fail(exitUsage, "%s cannot be listened on: %v; give another with --embedded-redis", redisAddr, netReason(err))
		}
		f.redisURL = "redis://" + e.redis.Addr() + "/0"
	}
	if f.natsURL != "" {
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
		e.cleanUp = cleanUp
	}
	host, port := splitAddr(natsAddr)
	if port == 0 {
		port = server.RANDOM_PORT
	}
	srv, err := server.NewServer(&server.Options{
		Host: host, Port: port, JetStream: true, StoreDir: dir, ServerName: "wavetank", NoLog: true, NoSigs: true,
	})
	if err != nil {
		return e, fail(exitUsage, "nats-server cannot start with its streams in %s: %v; choose another folder with --data", dir, err)
	}
	e.nats = srv
	srv.Start()
	if !srv.ReadyForConnections(answerWithin) || !srv.JetStreamEnabled() {
		return e, fail(exitUsage, "nats-server cannot start on %s with its streams in %s; look after both, or choose others with --embedded-nats and --data", natsAddr, dir)
	}
	f.natsURL = srv.ClientURL()
	return e, nil
}

// free refuses an address that cannot be listened on. The likeliest reason is a scheduler that runs
// already.
func free(addr, flag, instead string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fail(exitUsage, "%s, for a server of this process's own, cannot be listened on: %v; give another with %s, or a server that runs with %s", addr, netReason(err), flag, instead)
	}
	return l.Close()
}

// checkAddr refuses what is no address to listen on.
func checkAddr(flag, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		var n int
		if n, err = strconv.Atoi(port); err == nil && (n < 0 || n > 65535) {
			err = errors.New("out of range")
		}
	}
	if err != nil {
		return fail(exitUsage, "%s is %q, which is no address; write HOST:PORT, as in 127.0.0.1:0", flag, addr)
	}
	return nil
}

// splitAddr takes an address apart that was checked.
func splitAddr(addr string) (host string, port int) {
	host, text, _ := net.SplitHostPort(addr)
	port, _ = strconv.Atoi(text)
	return host, port
}

// stop ends the servers and removes what was temporary.
func (e *embedded) stop() {
	if e.nats != nil {
		e.nats.Shutdown()
		e.nats.WaitForShutdown()
	}
	if e.redis != nil {
		e.redis.Close()
	}
	e.cleanUp()
}
