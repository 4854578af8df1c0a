package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// seat is the place of a worker, and of its successors.
type seat struct {
	worker   Worker
	assigned []Assignment // oldest first
	run      int          // the run under way; -1 is none
	step     int          // the last step that the worker reported
	call     *call        // the trial that it has
	spoke    bool         // the worker has answered at all
	heard    time.Time    // when it last answered
	begun    time.Time    // when the run or trial under way began
	hung     string       // why it was ended as hung; empty if it was not
	leaves   bool         // it was ended because the campaign's time is over
	alone    *alone       // the next assignment
	idlers   int          // how many workers in succession ended without doing anything
}

// alone is a run that went out of bounds. A fresh worker runs it again by itself, to learn how far it comes,
// and whether it goes out of bounds again.
type alone struct {
	n     int
	first *Contained // how it ended; nil if the worker was killed from outside
	kills int
}

// killsMax is how often a run's worker may be killed from outside. If it is always the same run, the system
// kills it for lack of memory.
const killsMax = 8

// idlersMax is how many workers may end before they have done anything.
const idlersMax = 3

func (t *seat) idle() bool { return len(t.assigned) == 0 && t.alone == nil }

// assign gives the seat an assignment.
func (s *crew) assign(t *seat, a Assignment) {
	if t.worker == nil {
		w, err := s.launch(s.ctx, s.orders)
		if err != nil {
			s.fail(err)
			return
		}
		t.worker, t.run, t.spoke, t.hung, t.leaves = w, -1, false, "", false
		go s.forward(t, w)
	}
	if len(t.assigned) == 0 {
		t.heard = time.Now()
		t.begun = t.heard
	}
	t.assigned, t.step = append(t.assigned, a), 0
	t.worker.Assign(a)
}

// event is an answer of a worker, or its end.
type event struct {
	seat   *seat
	answer Answer
	gone   bool
}

func (s *crew) forward(t *seat, w Worker) {
	send := func(e event) {
		select {
		case s.events <- e:
		case <-s.quit:
		}
	}
	for a := range w.Answers() {
		send(event{seat: t, answer: a})
	}
	send(event{seat: t, gone: true})
}

func (s *crew) heard(e event) {
	t, a := e.seat, e.answer
	if e.gone {
		s.gone(t)
		return
	}
	t.spoke, t.heard = true, time.Now()
	switch {
	case a.Problem != "":
		s.fail(errors.New("a worker cannot go on: " + a.Problem))
	case a.Begin:
		t.run, t.step, t.begun = a.N, 0, t.heard
	case a.Step > 0:
		t.step = a.Step
	case a.Record != nil:
		t.run, t.idlers = -1, 0
		s.answered(t, a.Record)
	case a.Outcome != nil:
		t.idlers = 0
		t.reply(a.Outcome)
	case a.Done && len(t.assigned) > 0:
		s.takeBack(t, t.assigned[0])
		t.assigned = t.assigned[1:]
	}
}

// takeBack takes back the runs of a that were not done and are not to be run alone.
func (s *crew) takeBack(t *seat, a Assignment) {
	for n := a.First; n < a.First+a.Count; n++ {
		if t.alone == nil || t.alone.n != n {
			s.todo.back(n)
		}
	}
}

func (t *seat) reply(o *Outcome) {
	if t.call != nil {
		t.call.reply <- o
		t.call = nil
	}
}

// answered takes a run's record, unless the run must be repeated alone first.
func (s *crew) answered(t *seat, r *Record) {
	was, c := t.alone, r.Contained
	if c != nil && c.What.doubtful() && (was == nil || was.first == nil) {
		t.alone = &alone{n: r.N, first: c}
		return
	}
	t.alone = nil
	switch {
	case was == nil || was.first == nil:
	case c == nil && was.first.What.doubtful():
	case c == nil:
		r = containedRecord(r.N, s.plan(r.N), *was.first)
		r.Contained.Flaky = true
	default:
		c.Flaky = c.What != was.first.What
	}
	s.sink(r)
}

// gone handles the end of a seat's worker.
func (s *crew) gone(t *seat) {
	death := t.worker.Death()
	assigned, run, call := t.assigned, t.run, t.call
	t.worker, t.assigned, t.run, t.call = nil, nil, -1, nil
	switch {
	case t.leaves:
		t.alone, run = nil, -1
		s.call = cmp.Or(call, s.call)
	case call != nil && !t.spoke:
		s.call = call
	case call != nil:
		s.trialDied(call, t.blame(death))
	case run >= 0:
		s.runDied(t, run, t.blame(death))
	}
	for _, a := range assigned {
		s.takeBack(t, a)
	}
	if !t.leaves && (!t.spoke || run < 0 && call == nil) {
		if t.idlers++; t.idlers > idlersMax {
			s.fail(fmt.Errorf("the workers end before they have answered anything (%s)%s", strings.Join(s.opt.Command, " "), firstLine(death.Output)))
		}
	}
}

func firstLine(output string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

// blame says how the run under way ended its worker; nil if it did not.
func (t *seat) blame(d Death) *Contained {
	c := &Contained{What: Panicked, Step: t.step, Stack: stackOfPanic(d.Output)}
	switch {
	case t.hung != "":
		c.What, c.Stack = Hung, t.hung
	case d.Killed && c.Stack == "":
		return nil
	case c.Stack == "":
		c.Stack = "the process ended without a panic"
	case strings.Contains(c.Stack, "out of memory") || strings.Contains(c.Stack, "cannot allocate memory"):
		c.What, c.Stack = Overgrew, "the system gave the process no more memory" // which allocation failed is chance
	}
	return c
}

// runDied handles the end of a worker during the n-th run.
func (s *crew) runDied(t *seat, n int, how *Contained) {
	was := t.alone
	if was == nil {
		was = &alone{n: n}
		t.alone = was
		if how != nil {
			was.first = how
			return
		}
	}
	if how != nil && how.What.doubtful() && was.first == nil {
		was.first = how
		return
	}
	if how == nil {
		if was.kills++; was.kills < killsMax {
			return
		}
		how = &Contained{What: Overgrew, Stack: "the system killed the process each time"}
	}
	how.Flaky = was.first != nil && (was.first.What != how.What || was.first.Stack != how.Stack && !how.What.doubtful())
	t.alone = nil
	s.sink(containedRecord(n, s.plan(n), *how))
}

// trialDied handles the end of a worker during a trial.
func (s *crew) trialDied(c *call, how *Contained) {
	if how == nil {
		if c.deaths++; c.deaths < killsMax {
			s.call = c
			return
		}
		how = &Contained{What: Overgrew, Stack: "the system killed the process each time"}
	}
	c.reply <- &Outcome{Contained: how}
}

// listenFor ends workers that have an assignment and no longer answer, and workers that answer but do not end
// a run that takes too long.
func (s *crew) listenFor(now time.Time) {
	gap, slack := now.Sub(s.looked), 3*s.orders.Stall
	s.looked = now
	for _, t := range s.seats {
		switch {
		case t.worker == nil || len(t.assigned) == 0:
		case gap > s.orders.Stall: // this process was stopped, and its workers with it
			t.heard, t.begun = now, t.begun.Add(gap)
		case now.Sub(t.heard) > slack:
			t.hung = "the process said nothing any more"
			t.worker.End()
		case (t.run >= 0 || t.call != nil) && now.Sub(t.begun) > s.orders.Total+slack:
			t.hung = tookTooLong
			t.worker.End()
		}
	}
}
