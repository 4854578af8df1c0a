package campaign

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// supervisor runs one campaign. Its state belongs to the goroutine that runs it; workers and the
// examination that is under way reach it by channels.
type supervisor struct {
	ctx     context.Context
	dir     string
	temp    string
	spec    Spec
	opt     Options
	orders  Orders
	launch  launch
	journal *journal
	begun   time.Time
	before  time.Duration // that the campaign took until then
	err     error         // why it cannot go on

	todo     todo
	fold     *fold
	waiting  map[int]*Record // for a run before them
	inOrder  int             // all runs before this one are done
	hunt     hunt
	kept     int     // findings that have their file
	finished *Result // it was over before

	seats    []*seat
	events   chan event
	calls    chan call
	call     *call // a trial that no worker has yet
	learnt   chan learnt
	active   *examination
	examiner *seat // does its trials, and nothing else meanwhile
	quit     chan struct{}

	looked   time.Time     // after the workers
	ending   bool          // no run is handed out any more
	grace    time.Duration // that runs under way have then
	leave    time.Time     // when it is over
	patience time.Time     // when examinations end, too; zero is never
}

func (s *supervisor) elapsed() time.Duration {
	if s.begun.IsZero() {
		return s.before
	}
	return s.before + time.Since(s.begun)
}

// plan is that of the n-th run, which a worker has run before.
func (s *supervisor) plan(n int) *plans.Plan {
	p, err := s.spec.Plan(n)
	if err != nil {
		s.fail(err)
		return plans.Defaults()
	}
	return p
}

func (s *supervisor) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// record takes a finished run.
func (s *supervisor) record(r *Record) {
	if s.err != nil || s.todo.done.has(r.N) {
		return
	}
	if err := s.journal.append(entry{Elapsed: s.elapsed(), Record: r}); err != nil {
		s.fail(err)
		return
	}
	s.done(r)
	s.deliver()
}

func (s *supervisor) done(r *Record) {
	s.todo.done.add(r.N)
	s.fold.add(r)
	s.waiting[r.N] = r
}

// deliver hands on the runs that all before them are done of.
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
