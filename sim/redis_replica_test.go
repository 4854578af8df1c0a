package sim_test

import (
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a world has WAIT confirm a failover does not lose, and the rest it may lose. So it is with two real servers.
func TestWaitConfirmsWhatAReplicaHas(t *testing.T) {
	link := newLink(t)
	master, kill := startRedis(t, link.to)
	replica, _ := startRedis(t, freePort(t), "--replicaof", "127.0.0.1", link.port)
	ctx := t.Context()
	for { // until the replica has its first copy
		info, err := replica.Info(ctx, "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}

	write := func(key string, patience time.Duration) (replicas int64) {
		pipe := master.Pipeline()
		pipe.Set(ctx, key, "v", 0)
		wait := pipe.Do(ctx, "wait", 1, patience.Milliseconds()) // 0 is for ever
		_, err := pipe.Exec(ctx)
		require.NoError(t, err)
		replicas, err = wait.Int64()
		require.NoError(t, err)
		return replicas
	}
	assert.EqualValues(t, 1, write("confirmed", 0))
	link.cut()
	assert.EqualValues(t, 0, write("unconfirmed", 50*time.Millisecond))

	kill()
	require.NoError(t, replica.ReplicaOf(ctx, "NO", "ONE").Err())
	keys, err := replica.Keys(ctx, "*").Result()
	require.NoError(t, err)
	assert.Equal(t, []string{"confirmed"}, keys)
}

// startRedis starts a redis-server that keeps nothing, and waits until it answers.
func startRedis(t *testing.T, port string, args ...string) (c *redis.Client, kill func()) {
	t.Helper()
	server := exec.Command(redisServer(t), append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--repl-diskless-sync-delay", "0", "--dir", t.TempDir()}, args...)...)
	require.NoError(t, server.Start())
	kill = sync.OnceFunc(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	t.Cleanup(kill)
	c = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
	t.Cleanup(func() { _ = c.Close() })
	for c.Ping(t.Context()).Err() != nil {
		time.Sleep(10 * time.Millisecond)
	}
	return c, kill
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// link is a connection between two servers that can be cut.
type link struct {
	port, to string // where it listens, and where it leads
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
}

func newLink(t *testing.T) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &link{port: strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), to: freePort(t), listener: listener}
	t.Cleanup(l.cut)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", "127.0.0.1:"+l.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			l.mu.Lock()
			l.open = append(l.open, from, to)
			l.mu.Unlock()
			go func() { _, _ = io.Copy(to, from) }()
			go func() { _, _ = io.Copy(from, to) }()
		}
	}()
	return l
}

func (l *link) cut() {
	_ = l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
}
