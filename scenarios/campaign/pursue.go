package campaign

import (
	"context"
	"fmt"
	"slices"
)

// examine begins the next examination that is due.
func (s *supervisor) examine() {
	if s.active != nil || s.err != nil {
		return
	}
	b, ok := s.hunt.next()
	s.keepFindings()
	if !ok || s.err != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.active = &examination{b, cancel}
	s.examiner = slices.MinFunc(s.seats, func(a, b *seat) int { return len(a.assigned) - len(b.assigned) })
	record := s.hunt.queue[0]
	go func() {
		f, err := examineSafely(ctx, s, b, record)
		s.learnt <- learnt{b, f, err}
	}()
}

// examineSafely examines a run. If the examination fails, it returns the unshrunk plan as the finding:
// another examination would fail, too, and the violation must not be lost.
func examineSafely(ctx context.Context, s *supervisor, b broken, r *Record) (*Finding, error) {
	if c := r.Contained; c != nil && c.Stack == tookTooLong { // each trial would take as long
		return safely(func() (*Finding, error) {
			return unshrunk(&s.spec, r, b.invariant, "the time that a run takes differs from one run to the next")
		})
	}
	f, err := safely(func() (*Finding, error) {
		return examine(ctx, &s.spec, r, b.invariant, believed(b.invariant, trialsBy(s.calls, r.Contained != nil)))
	})
	if err == nil || ctx.Err() != nil {
		return f, err
	}
	return safely(func() (*Finding, error) { return unshrunk(&s.spec, r, b.invariant, err.Error()) })
}

// safely turns a panic into an error.
func safely(examine func() (*Finding, error)) (f *Finding, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("the examination panicked: %v", p)
		}
	}()
	return examine()
}

func (s *supervisor) learn(l learnt) {
	s.active.cancel()
	cancelled := s.hunt.closed || s.ctx.Err() != nil // the examination may learn of an interruption before the supervisor
	if t := s.examiner; t.call != nil {              // nobody waits for that trial any more
		t.call = nil
		t.worker.End()
	}
	s.active, s.examiner, s.call = nil, nil, nil
	switch {
	case cancelled && l.err != nil:
	case l.err != nil:
		s.fail(fmt.Errorf("run %d, which broke %s, could not be examined: %w", l.n, l.invariant, l.err))
	default:
		if err := s.journal.append(entry{Elapsed: s.elapsed(), Examined: &examined{l.n, l.invariant, l.finding}}); err != nil {
			s.fail(err)
			return
		}
		s.hunt.found(l.broken, *l.finding)
	}
}

func (s *supervisor) cancelExamination() {
	if s.active != nil {
		s.active.cancel()
	}
}

// keepFindings writes the plans of new findings.
func (s *supervisor) keepFindings() {
	for ; s.kept < len(s.hunt.findings); s.kept++ {
		f := &s.hunt.findings[s.kept]
		if err := writeFile(s.dir, f.File, []byte(f.Plan)); err != nil {
			s.fail(err)
			return
		}
	}
}

// abandon ends the examination under way, if there is one.
func (s *supervisor) abandon() {
	s.cancelExamination()
	for s.active != nil {
		select {
		case <-s.learnt:
			s.active = nil
		case <-s.calls: // the call ends with its context, too
		}
	}
}
