package model

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// Strikes is what has struck in a run. A strike on a server, or on what is done for all, reaches the jobs and
// runs that are unfinished when it comes, and those that appear until its window closes. So does a strike on
// the last scheduler that is up. A strike on another scheduler reaches what the scheduler has in hand, what
// may be on its way there while the strike lasts, and what it deals with until the window closes. If the
// scheduler holds the lock of a tick, the tick fails for all that it is for, or uses wrong times for them. A
// strike on an operation reaches what the operation concerns.
type Strikes struct {
	ever    invariants.Kinds
	forgot  invariants.Kinds // after which nats-server may have forgotten what it was told of a message
	last    time.Duration    // when anything last struck, or a strike ended
	windows []window
	dealing invariants.Kinds // strikes on the scheduler of the present event
	calls   map[string]int   // by phase: calls that were made to fail
}

// mayOpen notes that a call fails, and says whether enough have failed to open a circuit. A success in
// between would close the circuit, but only the scheduler would know of that.
func (k *Strikes) mayOpen(s *invariants.Strike, cfg *config.PolicyConfig) bool {
	if k.calls == nil {
		k.calls = map[string]int{}
	}
	k.calls[s.Phase]++
	return k.calls[s.Phase] >= cfg.FailBudget
}

// window is the time of a strike, and the time for which its consequences may last.
type window struct {
	kind    invariants.StrikeKind
	node    string
	ends    string // the event that ends the strike; "" if it was over at once
	strikes int    // strikes of the kind that continue, each with an end of its own
	since   time.Duration
	until   time.Duration // 0 while it lasts
	reach   reach
}

// reach is how far a strike reaches, beyond what its node has in hand.
type reach int

const (
	nothing    reach = iota // for example, the snapshot is not written
	dealt                   // what its node deals with
	ofRuns                  // also the runs that are unfinished, or appear
	everything              // everything that is unfinished, or appears
)

func (w *window) open(at time.Duration) bool { return w.until == 0 || at < w.until }

// endOf maps what the harness does to a node or a server to the event that ends it.
var endOf = map[string]string{
	"crash": "restart", "pause": "resume", "skew": "set clock", "stop": "start", "kill": "start", "power-loss": "start",
	"partition redis": "heal redis", "partition nats": "heal nats", "partition kernel": "heal kernel",
}

// StruckNow returns the kinds of strike whose windows are open.
func (f *Facts) StruckNow() (struck invariants.Kinds) {
	for i := range f.Strikes.windows {
		if w := &f.Strikes.windows[i]; w.open(f.At) {
			struck |= history.StrikesOf(w.kind)
		}
	}
	return struck
}

// StruckEver returns the kinds of all strikes so far.
func (f *Facts) StruckEver() invariants.Kinds { return f.Strikes.ever }

// Calm is since when nothing has struck and the consequences of the last strike are over; ok is false while a
// strike lasts.
func (f *Facts) Calm() (since time.Duration, ok bool) {
	k := &f.Strikes
	if k.ever != 0 {
		since = k.last + f.leftBehind()
	}
	return since, f.StruckNow() == 0
}

// opens opens a window, or extends one that is open. It says whether more is reached than before.
func (f *Facts) opens(w window) bool {
	for i := range f.Strikes.windows {
		if o := &f.Strikes.windows[i]; o.kind == w.kind && o.node == w.node && o.ends == w.ends && o.open(f.At) {
			wider := w.reach > o.reach
			if o.until != 0 {
				o.strikes, o.since = 0, w.since
			}
			o.strikes += w.strikes
			o.until, o.reach = w.until, max(o.reach, w.reach)
			return wider
		}
	}
	f.Strikes.windows = append(f.Strikes.windows, w)
	return true
}

// CalmSince says whether nothing has struck since then, and no strike is under way.
func (f *Facts) CalmSince(at time.Duration) bool {
	return f.Strikes.last < at && !slices.ContainsFunc(f.Strikes.windows, func(w window) bool { return w.until == 0 })
}

// lastOf says whether no scheduler but this one is up.
func (f *Facts) lastOf(scheduler string) bool {
	for name, n := range f.Nodes {
		if name != scheduler && strings.HasPrefix(name, history.SchedulerNodes) && !n.Down && !f.Strikes.lasts(name) {
			return false
		}
	}
	return true
}

// lasts says whether a strike that stops a node is under way.
func (k *Strikes) lasts(node string) bool {
	return slices.ContainsFunc(k.windows, func(w window) bool { return w.node == node && w.until == 0 && w.kind != history.ClockWrong })
}

// behind says whether a scheduler was away a short time ago. It then learns in any order of what came
// meanwhile, and of the outcomes of its own writes.
func (k *Strikes) behind(scheduler string, at time.Duration) bool {
	return slices.ContainsFunc(k.windows, func(w window) bool { return w.kind == history.SchedulerAway && w.node == scheduler && w.open(at) })
}

// Undisturbed says whether the step's node is on time: it is not away, and its clock is right.
func (f *Facts) Undisturbed(s *Step) bool { return !f.Strikes.on(s.Node, s.At) }

// on says whether a node still suffers from a strike.
func (k *Strikes) on(node string, at time.Duration) bool {
	return slices.ContainsFunc(k.windows, func(w window) bool { return w.node == node && w.open(at) })
}

// aftermath is how long a strike that is over still affects what appears. What was taken under the strike
// lasts for its TTL: a lock of a job or a tick, a worker's being alive, an open circuit. Clients that lost
// their server are back long before. For a strike on a scheduler it is known whom its own locks and ticks
// reach. What remains is its knowledge of workers. A scheduler that was paused is behind by no more than its
// pause. Times from a wrong clock count for as long as dead letters do.
func (f *Facts) aftermath(w *window) time.Duration {
	if history.StrikesOf(w.kind)&ofReplicas != 0 {
		if w.ends == endOf["pause"] {
			return min(f.At-w.since, f.Config.WorkerTTL)
		}
		return f.Config.WorkerTTL
	}
	if w.kind == history.ClockWrong && f.Config.Replay.Enabled {
		return outlastsRuns
	}
	return f.leftBehind()
}

// leftBehind is the longest time for which something taken under a strike lasts.
func (f *Facts) leftBehind() time.Duration {
	return max(2*f.Config.PollInterval, f.Config.JobLockTTL, f.Config.SnapshotLockTTL, f.Config.WorkerTTL, f.Config.Policy.OpenFor)
}

// outlastsRuns is how long dead letters are kept. It is longer than any run.
const outlastsRuns = 30 * 24 * time.Hour

// Appears marks a new job with the strikes whose windows are open, if they reach everything, or are on the
// scheduler that makes the job.
func (f *Facts) Appears(j *Job) { f.appears(j, everything) }

// RunAppears does the same with a run.
func (f *Facts) RunAppears(r *WorkflowRun) { f.appears(&r.As, ofRuns) }

func (f *Facts) appears(j *Job, within reach) {
	j.Struck |= f.Strikes.dealing
	for i := range f.Strikes.windows {
		if w := &f.Strikes.windows[i]; w.reach >= within && w.open(f.At) {
			j.Struck |= history.StrikesOf(w.kind) &^ ofWorkers
		}
	}
}
