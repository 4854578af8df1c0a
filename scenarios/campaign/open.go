package campaign

import (
	"context"
	"os"
	"path/filepath"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
)

func newSupervisor(ctx context.Context, dir string, opt Options) (*supervisor, error) {
	spec, err := Load(dir)
	if err != nil {
		return nil, err
	}
	program, err := Program(opt.Command)
	if err != nil {
		return nil, err
	}
	s := &supervisor{
		crew: newCrew(ctx, &spec, opt), dir: dir, inOrder: spec.span().first, fold: newFold(), waiting: map[int]*Record{},
		hunt:   hunt{max: opt.FindingsMax, known: map[broken]*Finding{}, grid: spec.Grid != nil},
		learnt: make(chan learnt, 1),
	}
	s.sink = s.record
	s.program = program
	if opt.Elsewhere != nil {
		s.same = make([]uint64, s.todo.size())
	}
	if s.journal, err = openJournal(dir, header{SpecVersion, buildname.Of(), program, spec.hash()}, s.entered); err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// prepare makes the folders, or finds that there is nothing to do. If a stored result counts more runs than
// the journal has, the folder is an incomplete copy, and the missing runs are made.
func (s *supervisor) prepare() error {
	if state, _ := Look(s.dir); state == Finished {
		res, err := LoadResult(s.dir)
		if err != nil {
			return err
		}
		if s.fold.runs >= res.Runs {
			s.deliverAll(false)
			s.finished = res
			return nil
		}
		if err := os.Remove(filepath.Join(s.dir, ResultFile)); err != nil {
			return unwritable(filepath.Join(s.dir, ResultFile), err)
		}
	}
	if err := os.RemoveAll(filepath.Join(s.dir, PageFile)); err != nil { // a page that Ctrl-C has left shows fewer runs
		return unwritable(filepath.Join(s.dir, PageFile), err)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, FindingsDir), 0o755); err != nil {
		return unwritable(filepath.Join(s.dir, FindingsDir), err)
	}
	return s.equip()
}

func (s *supervisor) close() {
	s.dismiss()
	s.journal.close()
}

// entered applies an entry of the journal.
func (s *supervisor) entered(e entry) error {
	s.before = max(s.before, e.Elapsed)
	return e.into(s.todo.span, &s.todo.done, func(r *Record) error {
		s.done(r)
		s.deliver()
		return nil
	}, s.hunt.examined)
}

// MadeBy fails with [ErrOtherBuild] if another program than that of command made the runs of the campaign in
// dir.
func MadeBy(dir, command string) error {
	s, err := sourceOf(dir)
	if err != nil {
		return err
	}
	h := header{Version: SpecVersion, Build: buildname.Of(), Spec: s.spec.hash()}
	if h.Program, err = ProgramOf(command); err == nil && h != s.head {
		err = h.differs(s.head)
	}
	return err
}
