package observe

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// tickLockChanged notes a change of a tick's lock. A replica that takes or renews it, and is told so, begins
// a tick.
func (o *Observer) tickLockChanged(s *model.Step, c *sim.Change) {
	t := o.Facts.Ticks.ByLock(c.Key)
	t.Granted(s, c.Gone)
	if c.Gone {
		t.Node, t.Token, t.Expires = "", "", 0
		return
	}
	t.Node, t.By, t.Token, t.Expires = s.Node, invariants.Process(s.Node, s.Incarnation), c.Value, c.Expires
	if s.Failed {
		return
	}
	if k := &o.Facts.Ticks; t == &k.Writer && !slices.Contains(k.Writing, t.By) {
		k.Writing = append(k.Writing, t.By)
	}
	if t.By != t.Last || s.At-t.Began > o.Facts.Poll(t)*5/6 { // a tick that continues renews it after two thirds of a poll
		o.Facts.Begin(t)
	}
	t.Takes(s)
	for _, check := range o.hooks.Ticked {
		check(s, t)
	}
}

// snapshotChanged notes a write of the snapshot.
func (o *Observer) snapshotChanged(s *model.Step, c *sim.Change) {
	f := o.Facts
	f.Ticks.Snapshot = nil
	if c.Gone {
		return
	}
	f.Ticks.Snapshot = f.ReadSnapshot(s.Event, c.Value)
	o.snapshotWritten(s)
}

func (o *Observer) snapshotWritten(s *model.Step) {
	f := o.Facts
	t := f.Ticks.ByLock(history.WriterKey)
	t.Begins = false
	for _, check := range o.hooks.Ticked {
		check(s, t)
	}
	f.Ticks.Writing = f.Ticks.Writing[:0]
}
