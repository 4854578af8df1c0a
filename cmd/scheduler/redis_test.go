package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// dial is a client of the Redis at a URL.
func dial(t *testing.T, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	require.NoError(t, err)
	c := redis.NewClient(opt)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// quickly is a scheduler that is told of a job soon.
func quickly(at ...string) []string {
	return append([]string{"serve", "--listen", "127.0.0.1:0"}, append(at, fast...)...)
}

// A Redis that answers PING and can do nothing for a scheduler is refused at once.
func TestARedisThatIsOfNoUse(t *testing.T) {
	nats := startNATS(t, freeAddr(t), t.TempDir()).ClientURL()
	master := startRedis(t)
	port := master[strings.LastIndex(master, ":")+1 : len(master)-2]
	sentinel, _ := startSentinel(t, port)
	limited := startRedis(t)
	require.NoError(t, dial(t, limited).Do(t.Context(), "acl", "setuser", "poor", "on", ">pw", "~*", "+get").Err())
	wrong := []struct{ redis, says string }{
		{startRedis(t, "--cluster-enabled", "yes"), `cannot be used: it is a node of a cluster, which refuses a MULTI over a job's keys; give a Redis without a cluster with --redis`},
		{startRedis(t, "--replicaof", "127.0.0.1 "+port), `cannot be used: it is a replica, which takes no writes; give its master with --redis, or its Sentinels: \S+`},
		{startRedis(t, "--replicaof", "127.0.0.1 "+port) + "?protocol=2", `cannot be used: it is a replica, which takes no writes; .*`},
		{startRedis(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"), `cannot be used: its maxmemory-policy is allkeys-lru, so it drops keys that are needed once it is full; run CONFIG SET maxmemory-policy noeviction there, .*`},
		{startRedis(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"), `cannot be used: its maxmemory-policy is volatile-ttl, .*`},
		{"redis://" + sentinel, `cannot be used: it is a Sentinel; name the master that it watches: redis://HOST:26379/0\?master_name=NAME`},
		{startRedis(t, "--requirepass", "secret"), `refuses: NOAUTH .*; give the user and the password in the URL: .*`},
		{strings.Replace(startRedis(t, "--requirepass", "secret"), "//", "//:wrong@", 1), `refuses: WRONGPASS .*; give the user and the password in the URL: .*`},
		{strings.Replace(limited, "//", "//poor:pw@", 1), `refuses: NOPERM .*; grant that to the user, or give another user in the URL`},
	}
	noWrites := []struct{ redis, says string }{
		{startRedis(t, "--min-replicas-to-write", "1"), `refuses: NOREPLICAS .*; mend that, or give another Redis with --redis`},
		{startRedis(t, "--maxmemory", "1"), `refuses: OOM .*; raise its maxmemory, let it hold less, or give another Redis with --redis`},
	}
	for i, c := range append(wrong, noWrites...) {
		code := cli.ExitUsage
		if i >= len(wrong) {
			code = cli.ExitInconclusive
		}
		at := []string{"--redis", c.redis, "--nats", nats}
		pattern := `(?m)^scheduler: Redis at redis://\S+ ` + c.says + `$`
		client(t, code, at, "serve", "--listen", "none").says(pattern)
		client(t, code, at, "submit").says(pattern)
		client(t, code, at, "worker", "--id", "worker-1").says(pattern)
	}
	replica := startRedis(t, "--replicaof", "127.0.0.1 "+port)
	require.NoError(t, dial(t, master).HSet(t.Context(), "job:job-1", "state", "FAILED").Err())
	require.Eventually(t, func() bool { return dial(t, replica).Exists(t.Context(), "job:job-1").Val() == 1 }, generous, 10*time.Millisecond)
	p := start(t, "show", "job-1", "--redis", replica)
	<-p.done
	assert.NotContains(t, p.output(), "cannot be used", "what only reads may read a replica")
}

// Without a replica there is none to wait for, until it comes.
func TestWaitingForAReplicaTakesOne(t *testing.T) {
	alone := []string{"--redis", startRedis(t), "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	s := start(t, quickly(alone...)...)
	s.says(`(?m)^  Redis has no replica: until it has one, a failover or the loss of its disk loses acknowledged writes \(engine.wait_replica\)$`)
	client(t, cli.ExitHeld, alone, "submit", "--id", "job-1")
	s.is(200, `"redis_replica":"not waited for yet"`)
	port := alone[1][strings.LastIndex(alone[1], ":")+1 : len(alone[1])-2]
	replica := dial(t, startRedis(t, "--replicaof", "127.0.0.1 "+port))
	require.Eventually(t, func() bool { n, err := store.Online(t.Context(), dial(t, alone[1])); return err == nil && n == 1 }, generous, 50*time.Millisecond)
	client(t, cli.ExitHeld, alone, "submit", "--id", "job-2")
	s.is(200, `"redis_replica":"waited for"`)
	s.stops()
	require.NoError(t, replica.ReplicaOf(t.Context(), "NO", "ONE").Err())
	require.Eventually(t, func() bool { n, err := store.Online(t.Context(), dial(t, alone[1])); return err == nil && n == 0 }, generous, 50*time.Millisecond)
	asked := []string{"serve", "--listen", "none", "--set", "engine.wait_replica=true"}
	client(t, cli.ExitInconclusive, alone, asked...).says(`^scheduler: engine.wait_replica=true, but Redis at \S+ has no replica; give it one, or leave the setting out\n$`)
	client(t, cli.ExitUsage, nil, append(asked, "--embedded-redis", "127.0.0.1:0", "--embedded-nats", "127.0.0.1:0")...).
		says(`^scheduler: engine.wait_replica=true, but this process's own Redis has no replica; give --redis, or leave the setting out\n$`)
}

// A master that a failover has demoted still answers, and so does one that begins to drop keys.
func TestADemotedMaster(t *testing.T) {
	at := []string{"--redis", startRedis(t), "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	other := startRedis(t)
	s := start(t, quickly(at...)...)
	s.is(200, `"redis":"ok"`)
	c := dial(t, at[1])
	require.NoError(t, c.ReplicaOf(t.Context(), "127.0.0.1", other[strings.LastIndex(other, ":")+1:len(other)-2]).Err())
	s.is(503, `"status":"failing",.*"redis":"it is a replica, which takes no writes"`)
	code, body := s.get(strings.TrimSuffix(s.says(`(http://\S+/healthz)`), "healthz") + "livez")
	assert.Equal(t, 200, code)
	assert.Equal(t, "ok\n", body, "a restart would not help")
	require.NoError(t, c.ReplicaOf(t.Context(), "NO", "ONE").Err())
	s.is(200, `"redis":"ok"`)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lfu").Err())
	s.is(200, `"redis":"ok"`) // without a maxmemory
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "100mb").Err())
	s.is(503, `"redis":"its maxmemory-policy is allkeys-lfu, so it drops keys `)
	s.stops()
}

// startSentinel starts a Sentinel that watches the Redis at a port of this machine as mymaster.
func startSentinel(t *testing.T, port string) (addr string, c *redis.SentinelClient) {
	t.Helper()
	addr, _ = startRedisAt(t, func(own string) []string {
		file := filepath.Join(t.TempDir(), "sentinel.conf")
		require.NoError(t, os.WriteFile(file, []byte(strings.Join([]string{
			"bind 127.0.0.1", "port " + own, "sentinel monitor mymaster 127.0.0.1 " + port + " 1",
			"sentinel down-after-milliseconds mymaster 500", "sentinel failover-timeout mymaster 2000", "",
		}, "\n")), 0o600))
		return []string{file, "--sentinel"}
	})
	c = redis.NewSentinelClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return addr, c
}

// The Sentinels say who the master is, and who is it next. What was acknowledged is on a replica, and one of two is left
// to wait for after the failover.
func TestRedisBehindSentinels(t *testing.T) {
	redisArgs := func(more ...string) func(string) []string {
		return func(port string) []string {
			return append([]string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--repl-diskless-sync-delay", "0", "--dir", t.TempDir()}, more...)
		}
	}
	master, kill := startRedisAt(t, redisArgs())
	_, port := servers.SplitAddr(master)
	var replicas []string
	for range 2 {
		replica, _ := startRedisAt(t, redisArgs("--replicaof", fmt.Sprintf("127.0.0.1 %d", port)))
		replicas = append(replicas, replica)
	}
	require.Eventually(t, func() bool {
		n, err := store.Online(t.Context(), dial(t, "redis://"+master+"/0"))
		return err == nil && n == len(replicas)
	}, generous, 50*time.Millisecond)
	sentinel, watch := startSentinel(t, fmt.Sprint(port))
	at := []string{"--redis", "redis://" + freeAddr(t) + "/0?master_name=mymaster&addr=" + sentinel, "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	s := start(t, quickly(at...)...)
	s.is(200, `"redis":"ok"`)
	s.says(`(?m)^  No message is acknowledged before the replicas of Redis have what was written for it,`)
	start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", at[2], at[3])
	client(t, cli.ExitHeld, at, "submit", "--id", "job-1", "--wait").says(`(?m)^1 SUCCEEDED$`)

	require.Eventually(t, func() bool {
		known, err := watch.Replicas(t.Context(), "mymaster").Result()
		return err == nil && len(known) == 2 && known[0]["master-link-status"] == "ok" && known[1]["master-link-status"] == "ok"
	}, generous, 50*time.Millisecond, "the Sentinel does not see the replicas")
	kill()
	s.is(503, `"redis":`)
	s.is(200, `"redis":"ok"`)
	now, err := watch.GetMasterAddrByName(t.Context(), "mymaster").Result()
	require.NoError(t, err)
	assert.Contains(t, replicas, strings.Join(now, ":"))
	client(t, cli.ExitHeld, at, "show", "job-1").says(`SUCCEEDED`)
	client(t, cli.ExitHeld, at, "submit", "--id", "job-2", "--wait").says(`(?m)^1 SUCCEEDED$`)
	s.stops()
}

// What a URL of Sentinels may not say, and what a client keeps to behind them as without.
func TestRedisURLs(t *testing.T) {
	for url, says := range map[string]string{
		"redis-sentinel://h:26379/mymaster":                   `has a scheme that differs from client to client; write redis://HOST:26379/0?master_name=NAME&addr=HOST2:26379 for Redis behind Sentinels`,
		"redis://h/0?master_name=":                            "is not the URL of Sentinels",
		"redis://h/0?master_name=m&addr=x":                    "is not the URL of Sentinels",
		"redis://h/0?master_name=m&replica_only=true":         "asks for replicas",
		"redis://h/0?master_name=m&route_by_latency=true":     "asks for replicas",
		"redis://h/0?master_name=m&password=secret&nothing=x": `--redis is "redis://h/0?master_name=m&password=***&nothing=x"`,
		"redis://u:secret@h/0?master_name=m&nothing=x":        `--redis is "redis://***@h/0?`,
		"redis:///0":                             "is not the URL of a Redis server; write",
		"http://h":                               "is not the URL of a Redis server: invalid URL scheme: http; write",
		"redis://h:63x":                          `is not the URL of a Redis server: invalid port ":63x" after host; write`,
		"redis://h/0?foo=1":                      "is not the URL of a Redis server: unexpected option: foo; write",
		"redis://h/0?db=3x":                      `is not the URL of a Redis server: invalid database number: strconv.Atoi: parsing "3x": invalid syntax; write`,
		"redis://h/0?master_name=m&what=x":       "is not the URL of Sentinels: unexpected option: what; write",
		"redis://h/0#1":                          "is not the URL of a Redis server: nothing comes after a #",
		"redis://:secret/1@h:6379/0":             `--redis is "redis://***@h:6379/0", which has a user or a password that cannot be read; write it percent-encoded: / ? # % , and @ are %2F %3F %23 %25 %2C and %40`,
		"redis://:6/secret@h:6379/0":             "cannot be read",
		"redis://:secret?x@h":                    "cannot be read",
		"redis://:x#secret@h":                    "cannot be read",
		"redis://:secret%zz@h":                   "cannot be read",
		"redis://:x@y/secret@h":                  `--redis is "redis://***@h"`,
		"redis://:secret,x@h:x":                  `--redis is "redis://***@h:x"`,
		"user:secret@h":                          `--redis is "***@h"`,
		"redis://:se/cret@h/0?master_name=m&a=b": "cannot be read",
	} {
		_, err := (&servers.Flags{RedisURL: url}).RedisOptions()
		assert.ErrorContains(t, err, says, url)
		assert.NotContains(t, err.Error(), "secret")
	}
	for url, says := range map[string]string{
		"nats://u:secret/1@h":               `--nats is "nats://***@h", which has a user or a password that cannot be read; write it percent-encoded: `,
		"nats://u:x,secret@h":               `--nats is "nats://***@h", which has a user or a password that cannot be read; `,
		"nats://u:secret@h,nats://u:x/y@i":  `--nats is "nats://***@h,nats://***@i", which has a user`,
		"nats://u:secret@h, http://u:sec@i": `--nats is "nats://***@h, http://***@i", not the URL of a nats-server; `,
		"u:secret@h":                        `--nats is "***@h", not the URL`,
	} {
		err := (&servers.Flags{NATSURL: url}).CheckURLs()
		assert.ErrorContains(t, err, says, url)
		assert.NotContains(t, err.Error(), "secret")
	}
	assert.Equal(t, "redis://***@h", servers.Public("redis://:p@ss@h"), "which is a URL")
	for _, url := range []string{"redis://h/2", "redis://s:sentinels@h/2?master_name=m&username=u&password=secret"} {
		opt, err := (&servers.Flags{RedisURL: url}).RedisOptions()
		require.NoError(t, err)
		c := opt.Client(slog.New(slog.DiscardHandler))
		assert.True(t, c.Options().ContextTimeoutEnabled, url)
		assert.Zero(t, c.Options().MaxRetries, "-1 is none, which go-redis has as 0")
		assert.EqualValues(t, "disabled", c.Options().MaintNotificationsConfig.Mode)
		assert.Equal(t, 2, c.Options().DB)
		require.NoError(t, c.Close())
	}
}

// Both servers over TLS, with an authority of one's own, a password and credentials.
func TestServersOverTLS(t *testing.T) {
	cert, key := certify(t)
	addr, _ := startRedisAt(t, func(port string) []string {
		return []string{"--bind", "127.0.0.1", "--port", "0", "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert,
			"--tls-auth-clients", "no", "--save", "", "--dir", t.TempDir(), "--requirepass", "secret"}
	})
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		TLS: true, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, Username: "u", Password: "pw",
	})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { stopNATS(srv) })
	require.True(t, srv.ReadyForConnections(generous))
	nats := func(scheme, user string) string { return scheme + "://" + user + "@" + srv.Addr().String() }
	at := func(redis, nats string, more ...string) []string {
		return append([]string{"--redis", redis, "--nats", nats}, more...)
	}
	redis := "rediss://:secret@" + addr + "/0"

	client(t, cli.ExitUsage, at(redis, nats("tls", "u:pw")), "submit").says(`^scheduler: Redis at rediss://\*\*\*@\S+ does not answer: .*unknown authority; name the file with its authority's certificate with --tls-ca\n$`)
	plainNATS := startNATS(t, freeAddr(t), t.TempDir()).Addr().String()
	client(t, cli.ExitUsage, at(strings.Replace(startRedis(t), "redis", "rediss", 1), nats("tls", "u:pw")), "submit").says(`does not answer: no answer within 5s; write redis:// if it takes no TLS, start redis-server, or give another with --redis\n$`)
	client(t, cli.ExitUsage, at(startRedis(t), "tls://"+plainNATS), "submit").says(`does not answer: it takes no TLS; write nats://, or configure the server for TLS\n$`)
	client(t, cli.ExitUsage, at(startRedis(t), "nats://127.0.0.1:1"), "submit").says(`does not answer: connection refused; start nats-server -js, or give another with --nats\n$`)
	client(t, cli.ExitUsage, at("redis://"+plainNATS, nats("tls", "u:pw")), "submit").says(`^scheduler: the program that listens at redis://\S+ does not answer as Redis does; check the port, or give another Redis with --redis\n$`)
	client(t, cli.ExitUsage, at(startRedis(t), nats("tls", "u:pw")), "submit").says(`^scheduler: NATS at tls://\*\*\*@\S+ does not answer: .*unknown authority; name the file with its authority's certificate with --tls-ca\n$`)
	client(t, cli.ExitUsage, at(redis, nats("tls", "u:wrong"), "--tls-ca", cert), "submit").says(`^scheduler: NATS at tls://\*\*\*@\S+ refuses: nats: Authorization Violation; give the user and the password in the URL, `)
	client(t, cli.ExitUsage, at(redis, nats("tls", "u:wrong"), "--tls-ca", cert), "serve", "--listen", "none").says(`(?m)^scheduler: NATS at tls://\*\*\*@\S+ refuses: nats: Authorization Violation; give the user `)
	for _, scheme := range []string{"tls", "nats"} { // a server that asks for TLS gets it
		used := at(redis, nats(scheme, "u:pw"), "--tls-ca", cert)
		s := start(t, quickly(used...)...)
		s.is(200, `"status":"ok"`)
		w := start(t, append([]string{"worker", "--id", "worker-1", "--heartbeat", "200ms"}, used...)...)
		client(t, cli.ExitHeld, used, "submit", "--id", "over-"+scheme, "--wait").says(`(?m)^1 SUCCEEDED$`)
		client(t, cli.ExitHeld, used, "show", "over-"+scheme)
		w.stops()
		s.stops()
	}
}

// What is said about TLS and credentials and cannot be so is refused before anything else.
func TestFlagsOfSecurity(t *testing.T) {
	cert, key := certify(t)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	creds := filepath.Join(t.TempDir(), "user.creds")
	require.NoError(t, os.WriteFile(creds, []byte("-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n"+string(seed)+"\n------END USER NKEY SEED------\n"), 0o600))
	for _, c := range []struct {
		flags servers.Flags
		says  string
	}{
		{servers.Flags{NATSURL: "nats://h", NATSCreds: creds}, ""},
		{servers.Flags{NATSURL: "nats://h", RedisURL: "rediss://h", TLSCA: cert}, ""},
		{servers.Flags{NATSURL: "nats://h,tls://i", RedisURL: "redis://h", TLSCA: cert}, ""},
		{servers.Flags{NATSCreds: creds}, "--nats-creds is for a NATS that is given, but none is"},
		{servers.Flags{NATSURL: "nats://h", NATSCreds: cert}, "holds no JWT and seed of a user"},
		{servers.Flags{NATSURL: "nats://h", NATSCreds: cert + "x"}, "name a file that can be read"},
		{servers.Flags{NATSURL: "nats://h", RedisURL: "redis://h", TLSCA: cert}, "--tls-ca is for TLS, but neither URL asks for TLS"},
		{servers.Flags{RedisURL: "rediss://h", TLSCA: key}, "holds no certificate in PEM"},
		{servers.Flags{NATSURL: "tls://h", TLSCA: cert + "x"}, "name a file that can be read"},
	} {
		err := c.flags.CheckURLs()
		if c.says == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.says)
		}
	}
}
