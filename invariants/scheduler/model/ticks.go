package model

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// ticks is what is known of the tasks that one replica at a time does for all.
type ticks struct {
	Reconciler, Replayer, Writer Tick
	Poller, Runs, Letters        Tick               // of delays, of the run reconciler, and of dead letters
	Writing                      []string           // the processes that have had the Writer's lock since the last write
	Snapshot                     []known            // the content of sys:workers:snapshot; never changed in place
	Offered                      map[string][]known // by process: its content when the process began
	recovered                    map[string]bool    // the processes that have looked for delays at their start
}

// Tick is one such task: the lock under which a replica ticks, as in Redis, and the last tick.
type Tick struct {
	Lock
	What string
	By   string // the process that set the lock

	Has    map[string]bool // the processes that were last told that they have the lock
	Last   string          // the process that began the last tick
	LastAt time.Duration
	lastBy int              // the step of that
	Began  time.Duration    // when the tick began to which the last renewal belongs
	sound  [3]time.Duration // when the last ticks began that nothing struck, the latest last
	Begins bool             // the step begins a tick; otherwise it writes what the tick is for
	Before string           // the process that ticked last before this one,
	Since  int              // and at which step
	Ago    time.Duration
}

// Takes notes that a process takes or renews the lock, which makes it tick.
func (t *Tick) Takes(s *Step) {
	t.Begins, t.Before, t.Since, t.Ago = true, t.Last, t.lastBy, s.At-t.LastAt
	t.Last, t.LastAt, t.lastBy = t.By, s.At, s.Step
}

// told notes whether a process knows that it has the lock.
func (t *Tick) told(process string, has bool) {
	if t.Has == nil {
		t.Has = map[string]bool{}
	}
	t.Has[process] = has
}

// Granted notes that a process sets or renews the lock, or deletes it. For a late operation it was told long
// ago.
func (t *Tick) Granted(s *Step, gone bool) {
	if s.Kind != sim.KindLate {
		t.told(invariants.Process(s.Node, s.Incarnation), !gone && !s.Failed)
	}
}

// asked notes what a process that asks for the lock is told. If nothing changes, it was refused.
func (t *Tick) asked(s *Step) {
	if s.Failed || s.Kind == sim.KindRedis && s.Outcome != sim.OutcomePending && len(s.Changes) == 0 {
		t.told(invariants.Process(s.Node, s.Incarnation), false)
	}
}

// Begin notes that a tick begins.
func (f *Facts) Begin(t *Tick) {
	t.Began = f.At
	if f.StruckNow() == 0 {
		t.sound = [3]time.Duration{t.sound[1], t.sound[2], f.At}
	}
}

// Late is how late a tick comes to what was due. The beginning of the tick counts, however long it takes for
// everything that it finds.
func (t *Tick) Late(due, at time.Duration) time.Duration {
	if t.Began >= due {
		at = t.Began
	}
	return at - due
}

// Left is for how long a tick has left what was due; left says whether that is longer than allowed. A lock
// that lasts for two polls keeps everybody out for three, and a tick asks for it twice at most. Nothing is
// late while anything strikes.
func (f *Facts) Left(t *Tick, due, at time.Duration) (late time.Duration, left bool) {
	calm, ok := f.Calm()
	late = t.Late(max(due, calm), at)
	return late, ok && late > 3*f.Poll(t)+2*f.Config.StoreOpTimeout
}

// PassedOver says whether, since something was due, two ticks have ended and a third has begun, none of them
// struck.
func (t *Tick) PassedOver(due time.Duration) bool { return t.sound[0] >= due }

func (k *ticks) ByLock(key string) *Tick {
	switch key {
	case history.ReconcilerKey:
		return k.Reconciler.named("reconciler")
	case history.ReplayerKey:
		return k.Replayer.named("replayer")
	case history.PollerKey:
		return k.Poller.named("poller of delays")
	case history.RunsKey:
		return k.Runs.named("reconciler of runs")
	case history.LettersKey:
		return k.Letters.named("replayer of dead letters")
	}
	return k.Writer.named("snapshot's writer")
}

func (t *Tick) named(what string) *Tick {
	t.What = what
	return t
}

// Poll is the time from one tick to the next.
func (f *Facts) Poll(t *Tick) time.Duration {
	if t == &f.Ticks.Poller {
		return f.Config.Workflow.DelayPoll
	}
	return f.Config.PollInterval
}

// lists maps the phases in which a tick looks for what is due to the tick.
var lists = map[string]string{
	"reconcile_read": history.ReconcilerKey, "replay_read": history.ReplayerKey, "scan_read": history.ReplayerKey,
	"timer_pop": history.PollerKey, "timer_clean": history.PollerKey, "runs_read": history.RunsKey,
	"dlq_read": history.LettersKey, "dlq_growth_read": history.LettersKey, "dlq_growth_write": history.LettersKey,
}

// Lists returns the tick whose step, of no job, looks for what is due, or nil. Each process looks for delays
// once at its start, for itself.
func (f *Facts) Lists(s *Step) *Tick {
	key, is := lists[s.Phase]
	if !is || s.Kind != sim.KindRedis || !strings.HasPrefix(s.Node, history.SchedulerNodes) || history.AnswerOf(s.Event) == history.Declined {
		return nil
	}
	if me := invariants.Process(s.Node, s.Incarnation); s.Phase == "timer_pop" && !f.Ticks.recovered[me] {
		if f.Ticks.recovered == nil {
			f.Ticks.recovered = map[string]bool{}
		}
		f.Ticks.recovered[me] = true
		return nil
	}
	return f.Ticks.ByLock(key)
}

// offer notes what a process could learn from the snapshot at its start.
func (k *ticks) offer(e *sim.Event) {
	if k.Offered == nil {
		k.Offered = map[string][]known{}
	}
	k.Offered[invariants.Process(e.Node, e.Incarnation)] = k.Snapshot
}

// Ticked notes an operation of no single job.
func (f *Facts) Ticked(s *Step) {
	switch s.Phase {
	case "snapshot_read":
		f.snapshotRead(s)
	case "reconcile_lock", "replay_lock", "snapshot_lock", "poll_lock", "runs_lock", "dlq_lock":
		t := f.Ticks.ByLock(s.Target)
		t.asked(s)
		if s.Kind == sim.KindRedis && s.Name == "set" && !s.Failed && s.Outcome != sim.OutcomePending && len(s.Changes) == 0 && t.Live(s.At) && t.Node != s.Node {
			f.Reach(TickContended)
		}
	}
}
