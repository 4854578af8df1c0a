package model

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// ticks is what is known of the parts that one replica at a time does for all.
type ticks struct {
	Reconciler, Replayer, Writer Tick
	Poller, Runs, Letters        Tick               // of delays, of the runs' reconciler, and of dead letters
	Writing                      []string           // the processes that have had the Writer's lock since anybody wrote
	Snapshot                     []known            // what sys:workers:snapshot holds; never changed in place
	Offered                      map[string][]known // what it held when the process began, by its name
	recovered                    map[string]bool    // the processes that have looked for delays at their start
}

// Tick is one such part: the lock under which a replica ticks, as Redis holds it, and the last tick.
type Tick struct {
	Lock
	What string
	By   string // the process that set the lock

	Has    map[string]bool // the processes that were told that they have the lock, and nothing else since
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

// Takes takes in that a process takes or renews the lock, by which it ticks.
func (t *Tick) Takes(s *Step) {
	t.Begins, t.Before, t.Since, t.Ago = true, t.Last, t.lastBy, s.At-t.LastAt
	t.Last, t.LastAt, t.lastBy = t.By, s.At, s.Step
}

// told takes in whether a process knows that it has the lock.
func (t *Tick) told(process string, has bool) {
	if t.Has == nil {
		t.Has = map[string]bool{}
	}
	t.Has[process] = has
}

// Granted takes in that a process sets or renews the lock, or deletes it. Of what comes late it was told long ago.
func (t *Tick) Granted(s *Step, gone bool) {
	if s.Kind != sim.KindLate {
		t.told(invariants.Process(s.Node, s.Incarnation), !gone && !s.Failed)
	}
}

// asked takes in what a process is told that asks for the lock. One that changes nothing is refused.
func (t *Tick) asked(s *Step) {
	if s.Failed || s.Kind == sim.KindRedis && s.Outcome != sim.OutcomePending && len(s.Changes) == 0 {
		t.told(invariants.Process(s.Node, s.Incarnation), false)
	}
}

// Begin takes in that a tick begins.
func (f *Facts) Begin(t *Tick) {
	t.Began = f.At
	if f.StruckNow() == 0 {
		t.sound = [3]time.Duration{t.sound[1], t.sound[2], f.At}
	}
}

// Late is how late a tick comes to what was due: it is there when it begins, however long it takes for all that it finds.
func (t *Tick) Late(due, at time.Duration) time.Duration {
	if t.Began >= due {
		at = t.Began
	}
	return at - due
}

// Left is for how long a tick has left what was due, if that is longer than it may take: a lock that lasts for two polls keeps
// everybody out for three, and a tick asks for it twice at most. Nothing is late while anything strikes.
func (f *Facts) Left(t *Tick, due, at time.Duration) (late time.Duration, left bool) {
	calm, ok := f.Calm()
	late = t.Late(max(due, calm), at)
	return late, ok && late > 3*f.Poll(t)+2*f.Config.StoreOpTimeout
}

// PassedOver says whether two ticks have ended since something was due, and a third one has begun, which nothing struck.
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

// Poll is how long it is from one tick to the next.
func (f *Facts) Poll(t *Tick) time.Duration {
	if t == &f.Ticks.Poller {
		return f.Config.Workflow.DelayPoll
	}
	return f.Config.PollInterval
}

// lists has the phases in which a tick looks what is due, and which tick's they are.
var lists = map[string]string{
	"reconcile_read": history.ReconcilerKey, "replay_read": history.ReplayerKey, "scan_read": history.ReplayerKey,
	"timer_pop": history.PollerKey, "timer_clean": history.PollerKey, "runs_read": history.RunsKey,
	"dlq_read": history.LettersKey, "dlq_growth_read": history.LettersKey, "dlq_growth_write": history.LettersKey,
}

// Lists returns the tick in which a scheduler looks for what is due, by a step that is about no job, or nil. Each process
// looks for delays at its start once, for itself.
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

// Ticked takes in an operation that is about no single job.
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
