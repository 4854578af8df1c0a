package observe

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// tickLockChanged takes in a change of such a lock: a replica that takes or renews it, and is told so,
// begins a tick.
func (j *Observer) tickLockChanged(s *Step, c *sim.Change) {
	t := j.Facts.Ticks.of(c.Key)
	if c.Gone {
		t.node, t.token, t.Expires = "", "", 0
		return
	}
	t.node, t.By, t.token, t.Expires = s.Node, invariants.Process(s.Node, s.Incarnation), c.Value, c.Expires
	if s.Failed {
		return
	}
	if t.under == nil {
		t.under = map[string]bool{}
	}
	t.under[t.By] = t == &j.Facts.Ticks.Writer
	t.Begins, t.Before, t.Ago = true, t.last, s.At-t.lastAt
	if t.By != t.last || s.At-t.Began > j.Facts.Config.PollInterval*5/6 { // a tick that goes on renews it after two thirds of a poll
		t.Began = s.At
	}
	t.last, t.lastAt = t.By, s.At
	for _, check := range j.ticked {
		check(s, t)
	}
}

// snapshotChanged takes in a write of the snapshot.
func (j *Observer) snapshotChanged(s *Step, c *sim.Change) {
	f := j.Facts
	f.Ticks.snapshot = nil
	if c.Gone {
		return
	}
	f.Ticks.snapshot = f.readSnapshot(c.Value)
	t, me := f.Ticks.of(history.WriterKey), invariants.Process(s.Node, s.Incarnation)
	delete(t.under, me)
	t.Begins = false
	for _, check := range j.ticked {
		check(s, t)
	}
}
