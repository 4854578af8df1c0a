package campaign

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
)

// Merge makes the campaign's own folder, out, from the folders of its shards. There it does what is left to
// do: the examinations that no shard had reason to make. It does not repeat an examination of a shard, unless
// another finding explains the violation in the whole campaign. So the result is that of one machine, byte
// for byte.
//
// Folders may share runs, which must be equal; otherwise the error is a [*NotDeterministicError]. If no
// folder has some run, the error is a [*GapsError]. In both cases nothing is written. Another Merge, or
// [Run], continues one that was cut short, even if only its page is missing.
func Merge(ctx context.Context, dirs []string, out string, opt Options) (*Result, error) {
	m, err := newMerger(dirs, out, opt)
	if err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if !m.over {
		if err := m.write(); err != nil {
			return nil, err
		}
	}
	return Run(ctx, out, opt)
}

// merger puts the runs of several folders together.
type merger struct {
	sources  []source
	spec     Spec // of the whole campaign
	out      string
	head     header              // of its journal
	begun    bool                // out already has a part of the merged campaign
	over     bool                // out has the whole campaign, except its page
	took     time.Duration       // real time of all machines together
	runs     []uint64            // for each run, what its records have in common; 0 if there is none
	examined map[broken]examined // the examinations of the folders that are kept
}

func newMerger(dirs []string, out string, opt Options) (*merger, error) {
	if len(dirs) == 0 {
		return nil, errors.New("no folder is given to merge")
	}
	opt = opt.withDefaults()
	program, err := Program(opt.Command)
	if err != nil {
		return nil, err
	}
	m := &merger{out: out, head: header{SpecVersion, buildname.Of(), program, ""}, examined: map[broken]examined{}}
	for _, dir := range dirs {
		if sameFolder(dir, out) {
			return nil, fmt.Errorf("%s is both a folder to merge and the folder to write; choose another folder to write", dir)
		}
		s, err := sourceOf(dir)
		if err != nil {
			return nil, err
		}
		if s.head != (header{}) { // an empty journal has no header
			if err := s.head.fits(m.head); err != nil {
				return nil, fmt.Errorf("%s: %w", dir, err)
			}
		}
		if s.spec.Budget > 0 {
			return nil, fmt.Errorf("%s is of a campaign whose budget is a time; such a campaign has no other parts to merge", dir)
		}
		if len(m.sources) > 0 {
			if how := s.differs(&m.sources[0]); how != "" {
				return nil, fmt.Errorf("%s belongs to another campaign than %s: %s", dir, dirs[0], how)
			}
		}
		m.sources = append(m.sources, s)
	}
	slices.SortStableFunc(m.sources, func(a, b source) int { return cmp.Compare(a.spec.span().first, b.spec.span().first) })
	m.spec = m.sources[0].spec.Whole()
	m.head.Spec = m.spec.hash()
	return m, m.adopt()
}

// adopt examines the folder out, and takes over what an earlier merge has done there.
func (m *merger) adopt() error {
	state, err := Look(m.out)
	if err != nil {
		return err
	}
	if state == Unfinished {
		s, err := sourceOf(m.out)
		if err != nil {
			return err
		}
		m.begun = s.spec.Equal(m.spec) && (s.head == header{} || s.head == m.head)
		if m.begun {
			m.sources = append(m.sources, s)
			return nil
		}
	}
	if state == Finished {
		if there, err := Load(m.out); err != nil || !there.Equal(m.spec) {
			return fmt.Errorf("%s holds another campaign, which has ended; remove it, or choose another folder", m.out)
		}
		if m.over = missing(filepath.Join(m.out, PageFile)); m.over {
			return nil
		}
	}
	return giveWay(m.out)
}

// fits returns an error if this program cannot merge what another one has run.
func (h header) fits(this header) error {
	if h.Build != this.Build || h.Program != this.Program {
		return fmt.Errorf("%w; merge with the build that ran it", this.differs(h))
	}
	return nil
}

// check reads all folders, and compares runs that are in several.
func (m *merger) check() error {
	m.runs = make([]uint64, m.spec.size())
	for i := range m.sources {
		s := &m.sources[i]
		took, err := s.replay(func(r *Record) error { return m.run(s, r) }, func(x examined) error { return m.finding(s, x) })
		if nd := new(NotDeterministicError); errors.As(err, &nd) {
			return nd // a line number of a journal would add nothing
		} else if err != nil {
			return err
		}
		if s.dir == m.out { // its time includes that of the others
			m.took = max(m.took, took)
		} else {
			m.took += took
		}
	}
	return m.gaps()
}

func (m *merger) run(s *source, r *Record) error {
	switch is, was := cmp.Or(r.same(), 1), m.runs[r.N]; was {
	case 0:
		m.runs[r.N] = is
	case is:
	default:
		return m.disagree(s, r)
	}
	return nil
}

// disagree says how a run of s differs from the same run of an earlier folder.
func (m *merger) disagree(s *source, r *Record) error {
	for i := range m.sources {
		before := &m.sources[i]
		err := before.each(func(e entry) error {
			if e.Record != nil && e.Record.N == r.N && before != s {
				return notDeterministic(&m.spec, e.Record, r, before.dir, s.dir)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// finding keeps an examination. If a violation is flaky in one folder, that finding replaces others.
func (m *merger) finding(s *source, x examined) error {
	b := broken{x.N, x.Invariant}
	was, there := m.examined[b]
	switch {
	case !there || !was.Finding.Flaky && x.Finding.Flaky:
		m.examined[b] = x
	case was.Finding.Flaky || hashOf(was.Finding) == hashOf(x.Finding):
	default:
		return unlike(&m.spec, x.N, fmt.Sprintf("a different smallest plan that breaks %s", x.Invariant), s.dir, "another folder")
	}
	return nil
}

// write makes out an unfinished campaign whose runs are all done. Whenever it is cut short, out is an
// unfinished campaign, too.
func (m *merger) write() error {
	if !m.begun {
		if err := Create(m.out, m.spec); err != nil {
			return err
		}
	}
	lock, err := lockJournal(m.out)
	if err != nil {
		return err
	}
	defer lock.close()
	path := filepath.Join(m.out, JournalFile)
	if err := m.journal(path + partial); err != nil {
		_ = os.Remove(path + partial)
		return unwritable(path, err)
	}
	if err := os.Rename(path+partial, path); err != nil {
		return unwritable(path, err)
	}
	return nil
}

// journal writes each run and each examination once.
func (m *merger) journal(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<18)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(entry{Header: &m.head}); err != nil {
		return err
	}
	written := set{}
	for i := range m.sources {
		err := m.sources[i].each(func(e entry) error {
			if e.Record == nil || written.has(e.Record.N) {
				return nil
			}
			written.add(e.Record.N)
			return enc.Encode(entry{Elapsed: m.took, Record: e.Record})
		})
		if err != nil {
			return err
		}
	}
	inOrder := func(a, b broken) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.invariant, b.invariant)) }
	for _, b := range slices.SortedFunc(maps.Keys(m.examined), inOrder) {
		x := m.examined[b]
		if err := enc.Encode(entry{Examined: &x}); err != nil {
			return err
		}
	}
	return w.Flush()
}
