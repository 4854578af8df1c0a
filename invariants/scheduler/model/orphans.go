package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// reading is a job that a process's replayer has read, to ask the safety kernel about it, and has not asked
// about since.
type reading struct {
	process string
	at      time.Duration
}

// Replayed notes what a replayer has resumed.
func (f *Facts) Replayed(s *Step, w *Write) {
	if s.About.State != Scheduled || s.About.Replayer != invariants.Process(s.Node, s.Incarnation) || s.Handling.Scheduled {
		return
	}
	s.Handling.orphan, s.Handling.Replays = s.Phase == "scheduled_write", true
	switch {
	case s.Phase != "scheduled_write":
	case w.From == Pending:
		f.Reach(OrphanReplayed)
	case w.From == Scheduled:
		f.Reach(ScheduledSwept)
	}
	s.About.Replayer = ""
}

// OrphanReplayed counts a confirmed SCHEDULED write, if it is a replayer's. While its process also has a
// request in hand, events do not show which of its handlings is the replayer's.
func (f *Facts) OrphanReplayed(s *Step) {
	switch {
	case s.Handling == nil || !s.Handling.orphan:
		return
	case s.About.InHandOf(invariants.Process(s.Node, s.Incarnation)):
		f.Count.Maybe(history.CounterOrphans, s.About.TopicOf())
	default:
		f.Count.Sure(history.CounterOrphans, s.About.TopicOf())
		f.Count.Not(history.CounterReceived, s.About.TopicOf())
		f.Count.Sure(history.CounterReceived, s.About.TopicOf())
	}
	s.Handling.orphan = false
}

// ReplayerRead notes that a replayer has read a job that it is to handle.
func (f *Facts) ReplayerRead(s *Step) {
	me := invariants.Process(s.Node, s.Incarnation)
	f.takenUp(s)
	if was := s.About.Replayer; was != "" && was != me {
		f.Count.Maybe(history.CounterOrphans, s.About.TopicOf()) // the other one may still be at it
	}
	s.About.readings = append(s.About.readings, reading{me, s.At})
	s.About.Replayer, s.About.Left = me, !f.PutOff(s.About, s.At) && !f.comesAgain(s.About, s.At)
	if !s.Failed && (s.About.State == Pending || s.About.State == Scheduled || s.About.State == ApprovalRequired) {
		f.Count.Maybe(history.CounterReceived, s.About.TopicOf())
	}
}

// takenUp notes that a replayer handles a job for the first time since the job was written.
func (f *Facts) takenUp(s *Step) {
	j := s.About
	age, waits := f.Age(j.State)
	if !waits || j.SeenTo > j.Touched {
		return
	}
	j.SeenTo = s.At
	for _, check := range f.Hooks.TakenUp {
		check(s, j.Touched+age)
	}
}

// ReplayerAsked notes that a process asks the safety kernel about a job. If it has no request of the job in
// hand, its replayer asks.
func (f *Facts) ReplayerAsked(s *Step) {
	if me := invariants.Process(s.Node, s.Incarnation); s.About != nil && !s.About.InHandOf(me) {
		s.About.readings = slices.DeleteFunc(s.About.readings, func(r reading) bool { return r.process == me })
	}
}

// Crossed says whether the step may ask about its job for somebody else than the one that was last told to
// ask later. It may ask for a second request, for the replayer of its process, which has read the job in the
// present tick, or for a request that was put off before the replayer was.
func (f *Facts) Crossed(s *Step, told time.Duration) bool {
	j, me, tick := s.About, invariants.Process(s.Node, s.Incarnation), &f.Ticks.Replayer
	return j.Requests > 1 ||
		slices.ContainsFunc(j.readings, func(r reading) bool { return r.process == me && (tick.By != me || tick.Began <= r.at) }) ||
		j.Replayer != "" && slices.ContainsFunc(j.Messages, func(m Message) bool { return m.asks() && m.InHandOf(me) && m.PutOff < told })
}
