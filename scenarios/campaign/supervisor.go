package campaign

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// supervisor runs one campaign. Its state belongs to the goroutine that runs it. Workers, and the examination
// under way, communicate with it by channels.
type supervisor struct {
	crew
	dir     string
	program string // a hash of the workers' executable
	journal *journal
	begun   time.Time
	before  time.Duration // how long the campaign took in earlier processes

	fold     *fold
	waiting  map[int]*Record // runs that wait for an earlier run
	inOrder  int             // all runs before this one are done
	hunt     hunt
	kept     int     // how many findings have their file
	finished *Result // the result of a campaign that was over before

	learnt   chan learnt
	active   *examination
	patience time.Time // when examinations end, too; zero is never

	elsewhere <-chan Arrival // results from other machines; nil if there are none
	same      []uint64       // for each run made there, what its records have in common; 0 if there is none yet
}

func (s *supervisor) elapsed() time.Duration {
	if s.begun.IsZero() {
		return s.before
	}
	return s.before + time.Since(s.begun)
}

// record takes a finished run. If the run has also come from elsewhere meanwhile, both must be equal.
func (s *supervisor) record(r *Record) {
	switch {
	case s.err != nil:
		return
	case s.todo.done.has(r.N):
		s.compare(r, "a worker of this machine")
		return
	}
	if err := s.journal.append(entry{Elapsed: s.elapsed(), Record: r}); err != nil {
		s.fail(err)
		return
	}
	s.done(r)
	s.deliver()
}

// compare fails if the run was done before with another outcome, and says how they differ.
func (s *supervisor) compare(r *Record, from string) {
	if s.same == nil || s.same[r.N-s.todo.first] == r.same() {
		return
	}
	own := source{dir: s.dir, spec: s.spec}
	err := own.each(func(e entry) error {
		if e.Record != nil && e.Record.N == r.N {
			return notDeterministic(&s.spec, e.Record, r, s.dir, from)
		}
		return nil
	})
	if differ := new(NotDeterministicError); errors.As(err, &differ) {
		err = differ // a line number of a journal would add nothing
	}
	s.fail(err)
}

func (s *supervisor) done(r *Record) {
	s.todo.done.add(r.N)
	if s.same != nil {
		s.same[r.N-s.todo.first] = r.same()
	}
	s.fold.add(r)
	s.waiting[r.N] = r
}

// deliver passes on each run once all runs before it are done.
func (s *supervisor) deliver() {
	for r := s.waiting[s.inOrder]; r != nil; r = s.waiting[s.inOrder] {
		delete(s.waiting, s.inOrder)
		s.inOrder++
		s.opt.Record(r)
		s.hunt.see(r)
	}
}

// deliverAll also passes on the other runs, once no more will come. With quietly, it passes them only to the
// hunt.
func (s *supervisor) deliverAll(quietly bool) {
	s.deliver()
	for _, n := range slices.Sorted(maps.Keys(s.waiting)) {
		if !quietly {
			s.opt.Record(s.waiting[n])
		}
		s.hunt.see(s.waiting[n])
		delete(s.waiting, n)
	}
}
