package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// ticks is what is known of the parts that one replica at a time does for all.
type ticks struct {
	reconciler, replayer, writer tick
	snapshot                     []known            // what sys:workers:snapshot holds; never changed in place
	offered                      map[string][]known // what it held when the process began, by its name
}

// tick is one such part: the lock under which a replica ticks, as Redis holds it, and the last tick.
type tick struct {
	what    string
	node    string // who set the lock; "" for nobody
	by      string // the process
	token   string
	expires time.Duration

	under  map[string]bool // the processes that have begun a tick and not done what it is for
	last   string          // the process that began the last tick
	lastAt time.Duration
	began  time.Duration // of the tick that the last renewal is of
	begins bool          // the step begins a tick; else it writes what the tick is for
	before string        // the process that ticked last before this one, and
	ago    time.Duration
}

func (t *tick) live(at time.Duration) bool { return t.node != "" && (t.expires == 0 || at < t.expires) }

func (k *ticks) of(key string) *tick {
	switch key {
	case history.ReconcilerKey:
		k.reconciler.what = "reconciler"
		return &k.reconciler
	case history.ReplayerKey:
		k.replayer.what = "replayer"
		return &k.replayer
	}
	k.writer.what = "snapshot's writer"
	return &k.writer
}

// offer notes what a process could learn from the snapshot at its start.
func (k *ticks) offer(e *sim.Event) {
	if k.offered == nil {
		k.offered = map[string][]known{}
	}
	k.offered[invariants.Process(e.Node, e.Incarnation)] = k.snapshot
}

// tickLockChanged takes in a change of such a lock: a replica that takes or renews it, and is told so,
// begins a tick.
func (j *observer) tickLockChanged(s *step, c *sim.Change) {
	t := j.facts.ticks.of(c.Key)
	if c.Gone {
		t.node, t.token, t.expires = "", "", 0
		return
	}
	t.node, t.by, t.token, t.expires = s.Node, invariants.Process(s.Node, s.Incarnation), c.Value, c.Expires
	if s.failed {
		return
	}
	if t.under == nil {
		t.under = map[string]bool{}
	}
	t.under[t.by] = t == &j.facts.ticks.writer
	t.begins, t.before, t.ago = true, t.last, s.At-t.lastAt
	if t.by != t.last || s.At-t.began > j.facts.config.PollInterval*5/6 { // a tick that goes on renews it after two thirds of a poll
		t.began = s.At
	}
	t.last, t.lastAt = t.by, s.At
	for _, check := range j.ticked {
		check(s, t)
	}
}

// snapshotChanged takes in a write of the snapshot.
func (j *observer) snapshotChanged(s *step, c *sim.Change) {
	f := j.facts
	f.ticks.snapshot = nil
	if c.Gone {
		return
	}
	f.ticks.snapshot = f.readSnapshot(c.Value)
	t, me := f.ticks.of(history.WriterKey), invariants.Process(s.Node, s.Incarnation)
	delete(t.under, me)
	t.begins = false
	for _, check := range j.ticked {
		check(s, t)
	}
}

// ticked takes in an operation that is about no single job.
func (f *facts) ticked(s *step) {
	switch s.Phase {
	case "snapshot_read":
		f.snapshotRead(s)
	case "reconcile_lock", "replay_lock", "snapshot_lock":
		t := f.ticks.of(s.Target)
		if s.Kind == sim.KindRedis && s.Name == "set" && !s.failed && s.Outcome != sim.OutcomePending && len(s.Changes) == 0 && t.live(s.At) && t.node != s.Node {
			f.reach(tickContended)
		}
	}
}
