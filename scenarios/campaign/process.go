package campaign

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// process is a worker in a process of its own.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	temp    string
	tasks   chan Assignment
	answers chan Answer
	said    capture
	killed  bool // by a signal; valid once answers is closed
	ended   chan struct{}
}

// hello is the first line that a worker process reads.
type hello struct {
	Orders
	Temp string `json:"temp"` // its folder for temporary files, which it removes when its parent is gone
}

// processes launches workers as processes that run command and call [Serve]. Their temporary files are below
// temp.
func processes(command []string, temp string) launch {
	return func(_ context.Context, o Orders) (Worker, error) {
		dir, err := os.MkdirTemp(temp, "worker-")
		if err != nil {
			return nil, fmt.Errorf("no temporary folder: %w; set TMPDIR to one that can be written", strictyaml.FileReason(err))
		}
		p := &process{cmd: exec.Command(command[0], command[1:]...), temp: dir, tasks: make(chan Assignment, 64), answers: make(chan Answer, 256), ended: make(chan struct{})}
		p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOTRACEBACK=single", "TMPDIR="+dir)
		p.cmd.Stderr, p.cmd.WaitDelay = &p.said, outputDelay
		if err := p.start(); err != nil {
			_ = os.RemoveAll(dir)
			return nil, fmt.Errorf("a worker cannot be started (%s): %w", strings.Join(command, " "), plainExec(err))
		}
		go p.listen()
		go p.tell(hello{o, dir})
		return p, nil
	}
}

// outputDelay is how long to wait for the standard error of a process that has ended, if a process that it
// started holds it open.
const outputDelay = 3 * time.Second

func (p *process) start() (err error) {
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return err
	}
	return p.cmd.Start()
}

// tell sends assignments to the process. Nobody else waits for a process that does not read.
func (p *process) tell(first hello) {
	lines := json.NewEncoder(p.in)
	err := lines.Encode(first)
	for err == nil { // its end says why it is gone
		select {
		case a := <-p.tasks:
			err = lines.Encode(a)
		case <-p.ended:
			return
		}
	}
}

// listen passes on the answers of the process until it ends.
func (p *process) listen() {
	defer close(p.ended)
	defer close(p.answers)
	lines := json.NewDecoder(bufio.NewReaderSize(p.out, 1<<16))
	for {
		var a Answer
		if err := lines.Decode(&a); err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) {
			break
		} else if err != nil {
			p.answers <- Answer{Problem: fmt.Sprintf("a worker wrote what is not an answer: %s", jsonReason(err))}
			_ = p.cmd.Process.Kill()
			break
		}
		p.answers <- a
	}
	_ = p.cmd.Wait()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	p.killed = ok && status.Signaled()
	_ = os.RemoveAll(p.temp)
}

func (p *process) Assign(a Assignment) {
	select {
	case p.tasks <- a:
	case <-p.ended:
	}
}

func (p *process) Answers() <-chan Answer { return p.answers }

func (p *process) Death() Death { return Death{Killed: p.killed, Output: p.said.String()} }

func (p *process) End() {
	_ = p.cmd.Process.Kill()
	_ = p.in.Close()
	_ = p.out.Close()     // a child of the process may hold it open
	for range p.answers { // the process may wait for its answers to be read
	}
	<-p.ended
}

// plainExec is the reason why a command cannot be started, without the command.
func plainExec(err error) error {
	var ee *exec.Error
	if errors.As(err, &ee) {
		err = ee.Err
	}
	return strictyaml.FileReason(err)
}

// ProgramOf returns a hash of an executable.
func ProgramOf(command string) (string, error) {
	path, err := exec.LookPath(command)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := xxhash.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%016x", sum.Sum64()), nil
}
