package sim

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// redisProcess is a redis-server that runs.
type redisProcess struct {
	socket  string
	version string // as in "redis-server 7.0.15"
}

var (
	redisProcesses   = map[string]*redisProcess{} // by their programs
	redisProcessesMu sync.Mutex
)

// ErrNoRedisServer is the error of a world whose redis-server cannot be had.
var ErrNoRedisServer = errors.New("no redis-server")

// startedRedis returns the process that startRedis has started, from within a bubble.
func startedRedis(program string) (*redisProcess, error) {
	redisProcessesMu.Lock()
	defer redisProcessesMu.Unlock()
	if p := redisProcesses[program]; p != nil {
		return p, nil
	}
	return nil, ErrNoRedisServer
}

// startRedis starts a redis-server, if this process has not yet. The server ends with the process, however that ends. It keeps
// nothing on the disk but its socket, which it removes.
func startRedis(program string) error {
	redisProcessesMu.Lock()
	defer redisProcessesMu.Unlock()
	if redisProcesses[program] != nil {
		return nil
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("%w: %s is no program: install Redis, or name one with --redis-server=PATH", ErrNoRedisServer, program)
	}
	dir := socketDir()
	removeStaleSockets(dir)
	p := &redisProcess{socket: filepath.Join(dir, fmt.Sprintf("%s%d-%d.sock", socketPrefix, os.Getpid(), len(redisProcesses)))}
	if err := p.start(path); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoRedisServer, path, err)
	}
	redisProcesses[program] = p
	return nil
}

// start starts the server, and waits until it answers.
func (p *redisProcess) start(path string) error {
	cmd := exec.Command(path, "--port", "0", "--unixsocket", p.socket, "--unixsocketperm", "700", "--dir", filepath.Dir(p.socket),
		"--save", "", "--appendonly", "no", "--hash-max-listpack-entries", "100000", "--hash-max-listpack-value", "1048576")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	endWithUs(cmd.SysProcAttr)
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel sends Pdeathsig when the thread ends that has started the child
		err := cmd.Start()
		if started <- err; err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	deadline := time.After(10 * time.Second)
	for {
		info, err := p.ask("INFO server")
		if err == nil {
			p.version = versionIn(info)
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it ended (%v): %s", err, lastLine(said.String()))
		case <-deadline:
			_ = cmd.Process.Kill()
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

const (
	socketPrefix = "wavetank-redis-"
	socketDirMax = 107 - len(socketPrefix) - len("/1234567-1.sock") // bytes: sun_path holds 108, with a zero at the end (unix(7))
)

// socketDir is the folder for temporary files, or /tmp where the path of a socket in it would be too long.
func socketDir() string {
	if dir := os.TempDir(); len(dir) <= socketDirMax {
		return dir
	}
	return "/tmp"
}

// endWithUs makes a child end with this process, where the system can (Linux, FreeBSD).
func endWithUs(attr *syscall.SysProcAttr) {
	if f := reflect.ValueOf(attr).Elem().FieldByName("Pdeathsig"); f.IsValid() {
		f.Set(reflect.ValueOf(syscall.SIGTERM).Convert(f.Type())) // at which redis-server removes its socket
	}
}

// ask sends one command, and returns what has come of the answer.
func (p *redisProcess) ask(command string) (string, error) {
	conn, err := net.Dial("unix", p.socket)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	answer := make([]byte, 16<<10)
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}

// versionIn reads the server's name and version from what INFO says.
func versionIn(info string) string {
	for _, name := range []string{"valkey", "redis"} {
		if _, rest, ok := strings.Cut(info, name+"_version:"); ok {
			version, _, _ := strings.Cut(rest, "\r\n")
			return name + "-server " + version
		}
	}
	return "redis-server"
}

// removeStaleSockets removes the sockets of servers that were killed. One that was made just now may be of a server that does
// not listen yet.
func removeStaleSockets(dir string) {
	sockets, _ := filepath.Glob(filepath.Join(dir, socketPrefix+"*.sock"))
	for _, path := range sockets {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
