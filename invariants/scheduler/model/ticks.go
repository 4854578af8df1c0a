package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// ticks is what is known of the parts that one replica at a time does for all.
type ticks struct {
	Reconciler, Replayer, Writer Tick
	Snapshot                     []known            // what sys:workers:snapshot holds; never changed in place
	Offered                      map[string][]known // what it held when the process began, by its name
}

// Tick is one such part: the lock under which a replica ticks, as Redis holds it, and the last tick.
type Tick struct {
	What    string
	Node    string // who set the lock; "" for nobody
	By      string // the process
	Token   string
	Expires time.Duration

	Under  map[string]bool // the processes that have begun a tick and not done what it is for
	Last   string          // the process that began the last tick
	LastAt time.Duration
	lastBy int              // the step
	Began  time.Duration    // of the tick that the last renewal is of
	sound  [3]time.Duration // when the last ticks began that nothing struck, the latest last
	Begins bool             // the step begins a tick; else it writes what the tick is for
	Before string           // the process that ticked last before this one, and
	Since  int              // at which step
	Ago    time.Duration
}

func (t *Tick) Live(at time.Duration) bool { return t.Node != "" && (t.Expires == 0 || at < t.Expires) }

// Takes takes in that a process takes or renews the lock, by which it ticks.
func (t *Tick) Takes(s *Step) {
	t.Begins, t.Before, t.Since, t.Ago = true, t.Last, t.lastBy, s.At-t.LastAt
	t.Last, t.LastAt, t.lastBy = t.By, s.At, s.Step
}

// Begin takes in that a tick begins.
func (f *Facts) Begin(t *Tick) {
	t.Began = f.At
	if f.StruckNow() == 0 {
		t.sound = [3]time.Duration{t.sound[1], t.sound[2], f.At}
	}
}

// PassedOver says whether two ticks have ended since something was due, and a third one has begun, which nothing struck.
func (t *Tick) PassedOver(due time.Duration) bool { return t.sound[0] >= due }

func (k *ticks) ByLock(key string) *Tick {
	switch key {
	case history.ReconcilerKey:
		k.Reconciler.What = "reconciler"
		return &k.Reconciler
	case history.ReplayerKey:
		k.Replayer.What = "replayer"
		return &k.Replayer
	}
	k.Writer.What = "snapshot's writer"
	return &k.Writer
}

// heldBy says whether a node holds the lock of a tick.
func (k *ticks) heldBy(node string, at time.Duration) bool {
	return k.loopHeldBy(node, at) || k.Writer.Node == node && k.Writer.Live(at)
}

// loopHeldBy says whether a node holds the lock of a loop's tick; the snapshot's writer is no loop.
func (k *ticks) loopHeldBy(node string, at time.Duration) bool {
	return k.Reconciler.Node == node && k.Reconciler.Live(at) || k.Replayer.Node == node && k.Replayer.Live(at)
}

// offer notes what a process could learn from the snapshot at its start.
func (k *ticks) offer(e *sim.Event) {
	if k.Offered == nil {
		k.Offered = map[string][]known{}
	}
	k.Offered[invariants.Process(e.Node, e.Incarnation)] = k.Snapshot
}

// Ticked takes in an operation that is about no single job.
func (f *Facts) Ticked(s *Step) {
	switch s.Phase {
	case "snapshot_read":
		f.snapshotRead(s)
	case "reconcile_lock", "replay_lock", "snapshot_lock":
		t := f.Ticks.ByLock(s.Target)
		if s.Kind == sim.KindRedis && s.Name == "set" && !s.Failed && s.Outcome != sim.OutcomePending && len(s.Changes) == 0 && t.Live(s.At) && t.Node != s.Node {
			f.Reach(TickContended)
		}
	}
}
