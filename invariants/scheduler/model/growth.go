package model

import (
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/sim"
)

// Look is a process's check of how the queue grows.
type Look struct {
	Process string
	Step    int
	Fresh   int
	Alert   bool // there were too many new entries
	Sure    bool // and no entry was at the edge of the window
	Tried   bool // the process has tried to change the alert since, or another has changed it
}

// edge is how far the time in an entry may differ from the time at which it was written.
const edge = time.Second

// LettersIndexed notes a change of the index of dead letters.
func (f *Facts) LettersIndexed(c *sim.Change, id string) {
	if !f.Config.Replay.Wanted {
		return
	}
	r := f.replays()
	if id == "" { // the whole index, in a failover
		for id, a := range r.came {
			a.there = false
			r.came[id] = a
		}
		return
	}
	a, place := r.came[id], int64(0)
	if a.there = !c.Gone; a.there {
		score, _ := strconv.ParseFloat(c.Value, 64)
		place = int64(score)
	}
	if place > a.place { // a failover moves it back
		a.at, a.place = f.At, place
	}
	r.came[id] = a
}

// Indexed says whether the dead letter of a job is in the index.
func (f *Facts) Indexed(id string) bool { return f.Replay.came[id].there }

// GrowthChanged notes that the growth alert was raised or ended. What a process saw before does not apply to
// the alert as it is now.
func (f *Facts) GrowthChanged(s *Step, c *sim.Change) {
	r := f.replays()
	if !r.Alert && !c.Gone {
		r.Reached["alert"]++
	}
	r.Alert = !c.Gone
	for _, check := range f.Hooks.GrowthAlarmed {
		check(s)
	}
	for by, l := range r.Last {
		l.Tried = true
		r.Last[by] = l
	}
}

// GrowthSeen notes that a process has checked how the queue grows, or has tried to change the alert.
func (f *Facts) GrowthSeen(s *Step) {
	r := f.replays()
	by := invariants.Process(s.Node, s.Incarnation)
	now := r.Last[by]
	if s.Phase == "dlq_growth_write" {
		now.Tried = true
		r.Last[by] = now
		return
	}
	if now.Step != 0 {
		for _, check := range f.Hooks.GrowthRead {
			check(s, &now)
		}
	}
	if s.Failed || s.Outcome == sim.OutcomePending {
		delete(r.Last, by)
		return
	}
	limit, window := f.Config.Replay.GrowthAlert, f.Config.Replay.GrowthWindow
	least, most := 0, 0
	for _, a := range r.came {
		if !a.there {
			continue
		}
		if a.at > s.At-window+edge {
			least++
		}
		if a.at > s.At-window-edge {
			most++
		}
	}
	r.Last[by] = Look{Process: by, Step: s.Step, Fresh: least, Alert: least > limit, Sure: (least > limit) == (most > limit)}
}
