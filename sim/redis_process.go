package sim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// redisProcess is a running redis-server.
type redisProcess struct {
	program string // its path
	socket  string
	version string   // as in "redis-server 7.0.15"
	files   string   // its folder
	keeps   []string // the options for what it keeps there
	pid     int
	ended   chan struct{}
}

var (
	redisProcesses   = map[string]*redisProcess{} // by the paths of their programs
	redisProcessesMu sync.Mutex
	redisSockets     atomic.Int64 // how many were made so far
	redisRunning     sync.Map     // the processes that run, as keys
)

// keepsNothing are the options of a server that keeps nothing on the disk.
var keepsNothing = []string{"--appendonly", "no"}

// ErrNoRedisServer is the error of a world whose redis-server cannot be started.
var ErrNoRedisServer = errors.New("no redis-server")

// EndRedisServers ends all servers that this process has started. They also end by themselves shortly after
// the process, except one in the middle of a script, which would outlive it.
func EndRedisServers() {
	for p := range redisRunning.Range {
		p.(*redisProcess).kill()
	}
}

// startedRedis returns the process that [CheckRedisServer] has started. It may be called in a bubble.
func startedRedis(program string) (*redisProcess, error) {
	redisProcessesMu.Lock()
	defer redisProcessesMu.Unlock()
	if p := redisProcesses[program]; p != nil {
		return p, nil
	}
	return nil, ErrNoRedisServer
}

// CheckRedisServer starts a redis-server for the worlds of this process ([Config.RedisServer]), unless it has
// started one already. The server ends with the process, however that ends. It keeps nothing on the disk but
// its socket, which it removes. The error is an [ErrNoRedisServer].
func CheckRedisServer(program string) error {
	redisProcessesMu.Lock()
	defer redisProcessesMu.Unlock()
	if p := redisProcesses[program]; p != nil {
		if _, err := p.ask("PING"); err == nil {
			return nil
		}
		p.kill()
	}
	p, err := newRedisProcess(program, socketDir(), keepsNothing)
	if err != nil {
		return err
	}
	redisProcesses[program] = p
	return nil
}

// newRedisProcess starts a redis-server that keeps its files in a folder.
func newRedisProcess(program, files string, keeps []string) (*redisProcess, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no program: %w", ErrNoRedisServer, program, errors.Unwrap(err))
	}
	dir := socketDir()
	if probe, err := os.CreateTemp(dir, socketPrefix); err != nil {
		return nil, fmt.Errorf("%w: no socket can be made in %s; set TMPDIR: %w", ErrNoRedisServer, dir, err)
	} else {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
	}
	number := redisSockets.Add(1)
	if number == 1 {
		removeStaleSockets(dir)
	}
	p := &redisProcess{program: path, files: files, keeps: keeps, socket: filepath.Join(dir, fmt.Sprintf("%s%d-%d.sock", socketPrefix, os.Getpid(), number))}
	if err := p.start(); err != nil {
		_ = os.Remove(p.socket)
		return nil, fmt.Errorf("%w: %s: %w", ErrNoRedisServer, path, err)
	}
	return p, nil
}

// start starts the server, and waits until it answers.
func (p *redisProcess) start() error {
	cmd := exec.Command(p.program, append([]string{"--port", "0", "--unixsocket", p.socket, "--unixsocketperm", "700", "--dir", p.files, "--save", "",
		"--latency-tracking", "no", "--hash-max-listpack-entries", "100000", "--hash-max-listpack-value", "1048576"}, p.keeps...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C") // it sorts by the locale
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second                           // children of it may hold its output open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not meant for it
	endWithUs(cmd.SysProcAttr)
	started, ended := make(chan error, 1), make(chan struct{})
	p.ended = ended
	go func() {
		runtime.LockOSThread() // the kernel sends Pdeathsig when the thread that started the child ends
		err := cmd.Start()
		if started <- err; err == nil {
			_ = cmd.Wait() // its state says how it ended
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	p.pid = cmd.Process.Pid
	redisRunning.Store(p, nil)
	if err := p.answers(); !errors.Is(err, errEnded) {
		return err
	}
	p.killDaemon()
	return fmt.Errorf("%w: %s", errEnded, cmp.Or(lastLine(said.String()), cmd.ProcessState.String()))
}

var errEnded = errors.New("it ended before it answered")

// answers waits until the server answers.
func (p *redisProcess) answers() error {
	deadline := time.After(10 * time.Second)
	for {
		info, err := p.ask("INFO")
		if strings.HasPrefix(info, "-") && !strings.HasPrefix(info, "-LOADING") {
			p.kill()
			return fmt.Errorf("it answers %q", strings.TrimSpace(info[1:]))
		}
		if err == nil && strings.Contains(info, "\nloading:0") {
			if p.version = versionIn(info); tooOld.MatchString(p.version) {
				p.kill()
				return fmt.Errorf("%s is too old; take 7.0 or newer", p.version)
			}
			if pid := processIn(info); pid != p.pid {
				if pid > 0 {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				p.kill()
				return errors.New("it has started a redis-server as another process, which may outlive it; a wrapper must exec it, and without --daemonize")
			}
			return nil
		}
		select {
		case <-p.ended:
			return errEnded
		case <-deadline:
			p.kill()
			switch {
			case err != nil:
				return fmt.Errorf("it does not answer: %w", err)
			case strings.Contains(info, "\nloading:"):
				return errors.New("it is still loading")
			}
			return fmt.Errorf("it answers INFO with %.60q", info)
		case <-time.After(time.Millisecond):
		}
	}
}

// kill ends the server and the processes that it has started.
func (p *redisProcess) kill() {
	if p.runs() {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		<-p.ended
		_ = os.Remove(p.socket)
	}
	redisRunning.Delete(p)
}

// killDaemon ends a server that has detached from the process that was started. It may not listen yet.
func (p *redisProcess) killDaemon() {
	for range 30 {
		info, _ := p.ask("INFO")
		if pid := processIn(info); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// processIn reads the server's process ID from the answer to INFO; it is 0 if the answer has none.
func processIn(info string) int {
	_, rest, _ := strings.Cut(info, "\nprocess_id:")
	line, _, _ := strings.Cut(rest, "\r")
	pid, _ := strconv.Atoi(line)
	return pid
}

// runs says whether the server has not ended.
func (p *redisProcess) runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

const (
	socketPrefix = "wavetank-redis-"
	socketDirMax = 107 - len(socketPrefix) - len("/1234567-1234567.sock") // bytes: sun_path holds 108, with a zero at the end (unix(7))
)

// socketDir is the folder for temporary files, or /tmp if the path of a socket there would be too long. The
// server has another working directory.
func socketDir() string {
	if dir, err := filepath.Abs(os.TempDir()); err == nil && len(dir) <= socketDirMax {
		return dir
	}
	return "/tmp"
}

// endWithUs makes a child end with this process, where the system supports that (Linux, FreeBSD).
func endWithUs(attr *syscall.SysProcAttr) {
	if f := reflect.ValueOf(attr).Elem().FieldByName("Pdeathsig"); f.IsValid() {
		f.Set(reflect.ValueOf(syscall.SIGTERM).Convert(f.Type())) // a signal at which redis-server removes its socket
	}
}

// again kills the server, and restarts it on its files as spoil leaves them. It may be called in a bubble.
func (p *redisProcess) again(spoil func() error) (err error) {
	outside(func() {
		p.kill()
		if err = spoil(); err == nil {
			err = p.start()
		}
	})
	return err
}

// end ends the server for good.
func (p *redisProcess) end() {
	outside(p.kill)
	_ = os.Remove(p.socket)
}

// ask sends one command, and returns what has arrived of the answer.
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

// tooOld matches servers without some commands that a world needs, such as EXPIRETIME.
var tooOld = regexp.MustCompile(`^redis-server [0-6]\.`)

// versionIn reads the server's name and version from the answer to INFO.
func versionIn(info string) string {
	for _, name := range []string{"valkey", "redis"} {
		if _, rest, ok := strings.Cut(info, name+"_version:"); ok {
			version, _, _ := strings.Cut(rest, "\r\n")
			return name + "-server " + version
		}
	}
	return "redis-server"
}

// removeStaleSockets removes the sockets of servers that were killed. It spares recent ones, whose servers
// may not listen yet.
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

var (
	outsideTasks = make(chan func())
	outsideDone  = make(chan struct{})
	outsideTaker sync.Once
)

// takeTasks starts the goroutine that [outside] needs.
func takeTasks() {
	outsideTaker.Do(func() {
		go func() {
			for task := range outsideTasks {
				task()
				outsideDone <- struct{}{}
			}
		}()
	})
}

// outside runs f outside the bubble, where real time passes, while the bubble's stands still. Goroutines that
// f starts do not belong to the bubble.
func outside(f func()) {
	outsideTasks <- f
	<-outsideDone
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
