package campaign

import (
	"context"
	"time"
)

// tickEvery is how often progress is reported and the time is checked.
const tickEvery = 200 * time.Millisecond

// run does the rest of the campaign.
func (s *supervisor) run(ctx context.Context) (*Result, error) {
	s.begun = time.Now()
	s.looked = s.begun
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	cancelled := ctx.Done()
	for s.err == nil {
		s.checkTime()
		s.handOut()
		s.examine()
		if s.err != nil || s.over() {
			break
		}
		select {
		case e := <-s.events:
			s.heard(e)
		case a := <-s.elsewhere:
			s.arrived(a)
		case c := <-s.calls:
			s.call = &c
		case l := <-s.learnt:
			s.learn(l)
		case now := <-tick.C:
			s.listenFor(now)
			s.opt.Progress(s.progress())
		case <-cancelled:
			cancelled = nil
			s.end()
			s.hunt.closed = true
			s.cancelExamination()
		}
	}
	if s.err != nil {
		s.abandon()
		res, _ := s.result(false)
		return res, s.err
	}
	return s.result(ctx.Err() == nil)
}

// handOut keeps every seat busy.
func (s *crew) handOut() {
	for _, t := range s.seats {
		free := len(t.assigned) == 0
		switch {
		case t.alone != nil && free && s.ctx.Err() != nil:
			t.alone = nil // a later process runs it alone
		case t.alone != nil && free:
			s.assign(t, Assignment{First: t.alone.n, Count: 1, Steps: true})
		case t.alone != nil:
		case t == s.examiner && free && s.call != nil:
			t.call, s.call = s.call, nil
			s.assign(t, t.call.Assignment)
		case t != s.examiner:
			s.keepBusy(t)
		}
	}
}

// ahead is how many assignments a worker has, so that it does not wait for the next.
const ahead = 2

func (s *crew) keepBusy(t *seat) {
	for !s.ending && len(t.assigned) < ahead && s.err == nil {
		first, count := s.todo.take(len(s.seats))
		if count == 0 {
			return
		}
		s.assign(t, Assignment{First: first, Count: count})
	}
}

// end stops further runs from beginning.
func (s *crew) end() {
	if s.ending {
		return
	}
	s.ending, s.leave = true, time.Now().Add(s.grace)
	for _, t := range s.seats {
		if len(t.assigned) > 0 && t.call == nil && t.alone == nil {
			s.assign(t, Assignment{Skip: true})
		}
	}
}

// graceMin is the least time that examinations get once the time for runs is over.
const graceMin = 30 * time.Second

// runGrace is how long the runs under way may continue once no more begin.
const runGrace = 30 * time.Second

// checkTime ends runs and examinations for which the budget, or a cancelled campaign, has no time left.
func (s *supervisor) checkTime() {
	if s.ending && time.Now().After(s.leave) && s.leaveRuns() && !s.patience.IsZero() {
		s.bePatient() // what those runs kept waiting is still examined
	}
	switch {
	case s.spec.Budget == 0:
	case !s.ending && s.elapsed() >= s.spec.Budget:
		s.end()
		s.bePatient()
	case !s.patience.IsZero() && time.Now().After(s.patience) && !s.hunt.closed:
		s.hunt.closed = true
		s.cancelExamination()
	}
}

func (s *supervisor) bePatient() {
	s.patience = time.Now().Add(max(graceMin, s.spec.Budget/4))
}

// leaveRuns ends the runs under way, and says whether there were any. They count as never begun.
func (s *crew) leaveRuns() (any bool) {
	for _, t := range s.seats {
		t.alone = nil
		if t.call != nil || len(t.assigned) == 0 || t.leaves {
			continue
		}
		t.leaves, any = true, true
		t.worker.End()
	}
	return any
}

// over says whether nothing is left to do.
func (s *supervisor) over() bool {
	for _, t := range s.seats {
		if t != s.examiner && !t.idle() || t.alone != nil {
			return false
		}
	}
	if !s.ending && !s.allDone() || s.active != nil {
		return false
	}
	s.deliverAll(s.ctx.Err() != nil)
	s.examine()
	return s.active == nil
}

// result returns the present result, and writes it if the campaign is complete.
func (s *supervisor) result(complete bool) (*Result, error) {
	s.opt.Progress(s.progress())
	res := s.fold.result(s.spec)
	res.Complete = complete
	s.hunt.into(res)
	if complete {
		return res, writeJSON(s.dir, ResultFile, res)
	}
	return res, nil
}

func (s *supervisor) progress() Progress {
	p := Progress{
		Runs: s.fold.runs, RunsAll: s.todo.size(), Elapsed: s.elapsed(), Budget: s.spec.Budget,
		Steps: s.fold.steps, Virtual: s.fold.virtual, Findings: len(s.hunt.findings),
	}
	if s.active != nil {
		p.Examining = s.active.invariant
	}
	return p
}
