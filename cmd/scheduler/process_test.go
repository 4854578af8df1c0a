package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// generous bounds every wait of a test for a process: it ends what would hang, and no test depends on
// what comes before.
const generous = 2 * time.Minute

// process is a scheduler program of its own, under test. [TestMain] has put the program into the PATH.
type process struct {
	t    testing.TB
	name string
	temp string // where its temporary files go
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended
	code int           // then

	mu   sync.Mutex
	said bytes.Buffer // standard output and standard error
}

// start starts one, which is killed when the test ends.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	return startIn(t, t.TempDir(), args...)
}

// startIn is start with the folder for temporary files.
func startIn(t testing.TB, temp string, args ...string) *process {
	t.Helper()
	p := &process{t: t, temp: temp, name: strings.Join(args[:min(3, len(args))], " "), cmd: exec.Command("scheduler", args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.temp)
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, p.output())
		}
	})
	return p
}

// Write collects what the process says.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// says waits until the process has said what pattern matches, and returns its first group, or else
// all of it.
func (p *process) says(pattern string) string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	p.eventually("say "+pattern, func() bool {
		found = re.FindStringSubmatch(p.output())
		return found != nil
	})
	return found[len(found)-1]
}

// eventually waits until the process, which must live, has done what.
func (p *process) eventually(what string, reached func() bool) {
	p.t.Helper()
	for end := time.Now().Add(generous); !reached(); time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.done:
			if !reached() {
				p.t.Fatalf("%s ended with %d, and did not %s:\n%s", p.name, p.code, what, p.output())
			}
			return
		default:
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s did not %s within %v:\n%s", p.name, what, generous, p.output())
		}
	}
}

// ends waits for the process to end with code.
func (p *process) ends(code int) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(generous):
		p.t.Fatalf("%s did not end within %v:\n%s", p.name, generous, p.output())
	}
	require.Equal(p.t, code, p.code, "%s:\n%s", p.name, p.output())
}

// stops asks the process to end, and waits for it.
func (p *process) stops() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.ends(cli.ExitHeld)
}

// dies kills the process as kill -9 does.
func (p *process) dies() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	<-p.done
	require.Equal(p.t, -1, p.code, "%s ended before it was killed:\n%s", p.name, p.output())
}

// health asks a scheduler how it is.
func (p *process) health() (code int, body string) {
	p.t.Helper()
	return p.get(p.says(`(http://\S+/healthz)`))
}

func (p *process) get(url string) (code int, body string) {
	p.t.Helper()
	res, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	data, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(data)
}

// is waits until the scheduler's health is code, and says what matches pattern.
func (p *process) is(code int, pattern string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("have health %d, %s", code, pattern), func() bool {
		got, body := p.health()
		return got == code && regexp.MustCompile(pattern).MatchString(body)
	})
}
