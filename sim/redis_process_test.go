package sim_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// A program that is no redis-server is one clear error, and leaves nothing running.
func TestNoRedisServer(t *testing.T) {
	before := len(socketsOf(t))
	script := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
		return path
	}
	for program, says := range map[string]string{
		"no-such-redis":           "no-such-redis is no program",
		"false":                   "false: it ended before it answered",
		script("says", "echo ow"): "says: it ended before it answered: ow",
		script("wraps", redisServer(t)+` "$@"; true`):                      "wraps: it has started a redis-server as another process, which may outlive it; a wrapper must exec it, and without --daemonize",
		script("forks", "exec "+redisServer(t)+` "$@" --daemonize yes`):    "/forks: it ",
		script("locks", "exec "+redisServer(t)+` "$@" --requirepass word`): `locks: it answers "NOAUTH`,
	} {
		_, err := sim.Run(sim.Config{RedisServer: program}, func(*sim.World) error { return nil })
		require.ErrorIs(t, err, sim.ErrNoRedisServer)
		assert.ErrorContains(t, err, says)
	}
	_, err := sim.Run(sim.Config{RedisServer: script("execs", "exec "+redisServer(t)+` "$@"`)}, func(*sim.World) error { return nil })
	require.NoError(t, err)
	assert.Len(t, socketsOf(t), before+1, "the last one's")
}

// socketsOf lists the sockets of this process's servers.
func socketsOf(t *testing.T) []string {
	sockets, err := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("wavetank-redis-%d-*.sock", os.Getpid())))
	require.NoError(t, err)
	return sockets
}

// However a process ends, its redis-server ends with it, and leaves nothing behind. What a world has on its disk when its process
// is killed, the next process removes.
func TestARedisServerEndsWithItsProcess(t *testing.T) {
	program := redisServer(t)
	if how := os.Getenv("WAVETANK_TEST_CHILD"); how != "" {
		_, err := sim.Run(sim.Config{RedisServer: program}, func(*sim.World) error { return nil })
		require.NoError(t, err)
		_, err = sim.Run(sim.Config{RedisServer: program, RedisDisk: sim.DiskAlways}, func(w *sim.World) error {
			w.KillRedis()
			if how == "killed in a world" {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		})
		require.NoError(t, err)
		if how == "killed" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return
	}
	for _, how := range []string{"ends", "killed", "killed in a world"} {
		t.Run(how, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "wt") // a short path
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			stale := filepath.Join(dir, "wavetank-redis-1-0.sock")
			makeStaleSocket(t, stale)
			self, err := os.Executable()
			require.NoError(t, err)
			child := func(how string) {
				cmd := exec.CommandContext(context.Background(), self, "-test.run", "^TestARedisServerEndsWithItsProcess$")
				cmd.Env = append(os.Environ(), "WAVETANK_TEST_CHILD="+how, "TMPDIR="+dir)
				out, err := cmd.CombinedOutput()
				require.Equal(t, how != "ends", err != nil, "%s", out)
			}
			if child(how); how == "killed in a world" {
				folders, err := filepath.Glob(filepath.Join(dir, "wavetank-world-*"))
				require.NoError(t, err)
				require.Len(t, folders, 1)
				old := time.Now().Add(-time.Hour)
				require.NoError(t, os.Chtimes(folders[0], old, old))
				child("ends")
			}
			require.Eventually(t, func() bool {
				left, err := os.ReadDir(dir)
				return err == nil && len(left) == 0
			}, time.Minute, 10*time.Millisecond)
		})
	}
}

// A server that somebody ends is an error of the run, and not the end of its process: the next world has another.
func TestARedisServerThatHasEndedIsReplaced(t *testing.T) {
	run := func(end bool) error {
		_, err := sim.Run(sim.Config{RedisServer: redisServer(t)}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				for range 3 {
					_ = p.Redis().Incr(p.Context(), "k").Err()
				}
			}).Start()
			w.Step(time.Second, nil)
			if end {
				endServers(t)
			}
			w.Step(time.Minute, nil)
			return nil
		})
		return err
	}
	require.NoError(t, run(false))
	err := run(true)
	require.ErrorIs(t, err, sim.ErrNoRedisServer)
	assert.ErrorContains(t, err, "has ended in the middle of a run")
	require.NoError(t, run(false))
	endServers(t)
	require.NoError(t, run(false))
}

// endServers ends this process's servers, as somebody else may, and returns when they have ended.
func endServers(t *testing.T) {
	for _, socket := range socketsOf(t) {
		if fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); assert.NoError(t, err) && syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}) == nil {
			_, err = syscall.Write(fd, []byte("SHUTDOWN NOSAVE\r\n"))
			assert.NoError(t, err)
			_, _ = syscall.Read(fd, make([]byte, 100)) // until it ends the connection
			assert.NoError(t, syscall.Close(fd))
		}
	}
}

// makeStaleSocket leaves a socket that nobody listens on, as a server does that is killed.
func makeStaleSocket(t *testing.T, path string) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}))
	require.NoError(t, syscall.Close(fd))
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
}

// A script that does not end is the end of its process, and the server does not outlive it.
func TestAScriptThatDoesNotEnd(t *testing.T) {
	program := redisServer(t)
	if os.Getenv("WAVETANK_ENDLESS") != "" {
		_, _ = sim.Run(sim.Config{RedisServer: program, Stall: 400 * time.Millisecond, OnStall: func(string) {
			fmt.Println("servers:", len(socketsOf(t)))
			os.Exit(0)
		}}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) { p.Redis().Eval(p.Context(), "while true do end", nil) }).Start()
			w.Step(time.Minute, nil)
			return nil
		})
		return
	}
	assert.Contains(t, inChild(t, "WAVETANK_ENDLESS=1"), "servers: 0")
}
