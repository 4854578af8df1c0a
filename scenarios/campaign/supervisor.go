package campaign

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// supervisor runs one campaign. Its state belongs to the goroutine that runs it; workers and the
// examination that is under way reach it by channels.
type supervisor struct {
	crew
	dir     string
	program string // a hash of the workers' executable
	journal *journal
	begun   time.Time
	before  time.Duration // that the campaign took until then

	fold     *fold
	waiting  map[int]*Record // for a run before them
	inOrder  int             // all runs before this one are done
	hunt     hunt
	kept     int     // findings that have their file
	finished *Result // it was over before

	learnt   chan learnt
	active   *examination
	patience time.Time // when examinations end, too; zero is never

	elsewhere <-chan Arrival // what is run on other machines; nil is nothing
	same      []uint64       // of what is run there, what records of each run have in common; 0: there is none yet
}

func (s *supervisor) elapsed() time.Duration {
	if s.begun.IsZero() {
		return s.before
	}
	return s.before + time.Since(s.begun)
}

// record takes a finished run. One that came from elsewhere meanwhile must be the same.
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

// compare fails if a run that was done before, and now by from, was another, and says how.
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
		err = differ // of which a line of a journal says nothing
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

// deliver hands on each run once all before it are done.
func (s *supervisor) deliver() {
	for r := s.waiting[s.inOrder]; r != nil; r = s.waiting[s.inOrder] {
		delete(s.waiting, s.inOrder)
		s.inOrder++
		s.opt.Record(r)
		s.hunt.see(r)
	}
}

// deliverAll hands on the others, too, once no more will come; quietly, to the hunt alone.
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
