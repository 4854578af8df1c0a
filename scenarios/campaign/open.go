package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

func newSupervisor(ctx context.Context, dir string, opt Options) (*supervisor, error) {
	spec, err := Load(dir)
	if err != nil {
		return nil, err
	}
	if len(opt.Command) == 0 {
		return nil, errors.New("campaign: Options.Command is empty; give the command that starts a worker")
	}
	s := &supervisor{
		ctx: ctx, dir: dir, spec: spec, opt: opt,
		orders: Orders{Spec: spec, Stall: opt.RunTimeout, Total: runTimeouts * opt.RunTimeout, MemoryMax: opt.MemoryMax}, grace: runGrace,
		todo: newTodo(spec.span()), inOrder: spec.span().first, fold: newFold(), waiting: map[int]*Record{},
		hunt:   hunt{max: opt.FindingsMax, known: map[broken]*Finding{}, grid: spec.Grid != nil},
		events: make(chan event, 64), calls: make(chan call), learnt: make(chan learnt, 1), quit: make(chan struct{}),
	}
	for range opt.Workers {
		s.seats = append(s.seats, &seat{run: -1})
	}
	program, err := programOf(opt.Command[0])
	if err != nil {
		return nil, fmt.Errorf("a worker cannot be started (%s): %w", opt.Command[0], plainExec(err))
	}
	if s.journal, err = openJournal(dir, header{SpecVersion, scenarios.Build(), program, spec.hash()}, s.entered); err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// prepare makes the folders, or finds that there is nothing to do.
func (s *supervisor) prepare() (err error) {
	if state, _ := Look(s.dir); state == Finished {
		s.deliverAll(false)
		s.finished, err = LoadResult(s.dir)
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.dir, FindingsDir), 0o755); err != nil {
		return unwritable(filepath.Join(s.dir, FindingsDir), err)
	}
	if s.temp, err = os.MkdirTemp("", "wavetank-campaign-"); err != nil {
		return fmt.Errorf("no temporary folder: %w; set TMPDIR to one that can be written", strictyaml.FileReason(err))
	}
	s.launch = processes(s.opt.Command, s.temp)
	return nil
}

func (s *supervisor) close() {
	for _, t := range s.seats {
		if t.worker != nil {
			t.worker.End()
		}
	}
	close(s.quit)
	s.journal.close()
	if s.temp != "" {
		_ = os.RemoveAll(s.temp)
	}
}

// programOf is a hash of an executable.
func programOf(command string) (string, error) {
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

// entered takes what the journal holds.
func (s *supervisor) entered(e entry) error {
	s.before = max(s.before, e.Elapsed)
	switch {
	case e.Record != nil:
		if err := e.Record.check(s.todo.span, s.todo.done); err != nil {
			return err
		}
		s.done(e.Record)
		s.deliver()
	case e.Examined != nil && e.Examined.Finding != nil:
		s.hunt.found(broken{e.Examined.N, e.Examined.Invariant}, *e.Examined.Finding)
	default:
		return errors.New("the line says nothing")
	}
	return nil
}
