package model

import (
	"github.com/wavetank-sim/wavetank/invariants"
)

// Replayed notes what a replayer has brought on.
func (f *Facts) Replayed(s *Step, w *Write) {
	if s.About.State != Scheduled || s.About.Replayer != invariants.Process(s.Node, s.Incarnation) || s.Handling.Scheduled {
		return
	}
	s.Handling.orphan, s.Handling.replays = s.Phase == "scheduled_write", true
	switch {
	case s.Phase != "scheduled_write":
	case w.From == Pending:
		f.Reach(OrphanReplayed)
	case w.From == Scheduled:
		f.Reach(ScheduledSwept)
	}
	s.About.Replayer = ""
}

// OrphanReplayed counts a SCHEDULED write that was confirmed, if it is a replayer's. Of two handlings of one process
// events do not say which is the replayer's, while a request is in hand there too.
func (f *Facts) OrphanReplayed(s *Step) {
	switch {
	case s.Handling == nil || !s.Handling.orphan:
		return
	case s.About.InHandOf(invariants.Process(s.Node, s.Incarnation)):
		f.Count.OrphansMaybe++
	default:
		f.Count.Orphans++
	}
	s.Handling.orphan = false
}

// ReplayerRead takes in that a replayer has read a job that it is to take up.
func (f *Facts) ReplayerRead(s *Step) {
	me := invariants.Process(s.Node, s.Incarnation)
	if was := s.About.Replayer; was != "" && was != me {
		f.Count.OrphansMaybe++ // that one may be at it still
	}
	s.About.Replayer, s.About.Left = me, !f.PutOff(s.About, s.At) && !f.comesAgain(s.About, s.At)
	if !s.Failed && (s.About.State == Pending || s.About.State == Scheduled || s.About.State == ApprovalRequired) {
		f.Count.Taken++
	}
}
