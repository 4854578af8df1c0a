package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Hearing is what one replica hears of one worker.
type Hearing struct {
	Scheduler   string
	Incarnation int
	Worker      string
}

// Replica is a process of a scheduler.
type Replica struct {
	Node        string
	Incarnation int
}

// Ear is what a replica knows of a worker.
type Ear struct {
	Worker string
	At     time.Duration // when it last heard of the worker, by a heartbeat or from the snapshot
	Live   bool          // by a heartbeat
	since  time.Duration // when it first heard a heartbeat, or heard one again after the worker TTL
	Seen   time.Duration // from the snapshot: when its writer had last heard of the worker
	said   string        // the heartbeat, as it was received
	lie    string        // how that differs from what the plan says of the worker
	Load   history.Load
	given  int // jobs that the replica has dispatched to it since
}

// Age is how long ago the worker was last heard of, as far as the replica should know.
func (r *Ear) Age(at time.Duration, cfg *config.Config) time.Duration {
	if !r.Live && cfg.SnapshotLastSeen {
		return at - r.Seen
	}
	return at - r.At
}

// learned says whether the replica took over the worker. It does not if the worker was past its TTL when the
// snapshot was read, provided that the time at which the snapshot's writer had heard of it counts.
func (r *Ear) learned(cfg *config.Config) bool {
	return r.Live || !cfg.SnapshotLastSeen || r.At-r.Seen <= cfg.WorkerTTL+Doubt
}

// ears are what the event's process knows of workers, sorted by name.
func (f *Facts) ears(e *sim.Event) []*Ear { return f.Heard[Replica{e.Node, e.Incarnation}] }

// Ear returns what a replica knows of a worker; nil if it has not heard of it.
func (f *Facts) Ear(at Hearing) *Ear {
	ears := f.Heard[Replica{at.Scheduler, at.Incarnation}]
	if i, ok := slices.BinarySearchFunc(ears, at.Worker, (*Ear).compare); ok {
		return ears[i]
	}
	return nil
}

// hear does the same, and adds an entry if there is none.
func (f *Facts) hear(at Hearing) *Ear {
	by := Replica{at.Scheduler, at.Incarnation}
	i, ok := slices.BinarySearchFunc(f.Heard[by], at.Worker, (*Ear).compare)
	if !ok {
		f.Heard[by] = slices.Insert(f.Heard[by], i, &Ear{Worker: at.Worker})
	}
	return f.Heard[by][i]
}

func (r *Ear) compare(worker string) int { return cmp.Compare(r.Worker, worker) }

// Heartbeat notes the worker that a replica has heard of, if any. The unit of work of a heartbeat is its
// worker, so the event's Job names it.
func (f *Facts) Heartbeat(e *sim.Event) (heard bool) {
	if e.Target != history.SubjectBeat || e.Job == "" || e.Fault != "" || history.AnswerOf(e).Failed() {
		return false
	}
	known := f.hear(Hearing{e.Node, e.Incarnation, e.Job})
	back := known.Live && e.At-known.At > f.Config.WorkerTTL
	if back {
		f.Reach(LateHeartbeat)
	}
	if back || !known.Live {
		known.since = e.At
	}
	if e.Data != known.said || !known.Live {
		known.said, known.lie, known.Load = e.Data, "", history.Load{}
		if p, err := history.Read[history.Packet](e.Data); err == nil {
			known.Load, known.lie = p.Load(), f.lie(p)
		}
	}
	known.At, known.Live, known.given = e.At, true, 0
	me := invariants.Process(e.Node, e.Incarnation)
	l, ok := f.Listens[me]
	if !ok || e.At-l.Last > f.Config.WorkerTTL {
		l.Since = e.At
	}
	l.Last = e.At
	f.Listens[me] = l
	return true
}

// Untrue says which statement in the event's heartbeat is false for sure; "" if there is none.
func (f *Facts) Untrue(e *sim.Event) string {
	known := f.Ear(Hearing{e.Node, e.Incarnation, e.Job})
	w, n := f.Config.Workers[e.Job], f.Nodes[f.Config.Workers[e.Job].Node]
	if known.lie != "" || n == nil || !known.Load.Known {
		return known.lie
	}
	if f.Strikes.behind(e.Node, e.At) || f.StruckNow()&history.StrikesOf(history.NATSAway, history.NATSPowerLoss) != 0 {
		return "" // it may be an old one
	}
	active, least, most, sure := known.Load.Active(), 0, 0, false
	for _, s := range n.Beats.sent {
		s.most = min(s.most, w.MaxParallel)
		switch {
		case s.at > e.At || e.At-s.at > f.Config.HeartbeatLag+Doubt:
		case !s.known, s.least <= active && active <= s.most:
			return ""
		default:
			least, most, sure = s.least, s.most, true
		}
	}
	switch {
	case !sure:
		return ""
	case active < least:
		return fmt.Sprintf("active_jobs is %d, and it executed %d", active, least)
	}
	return fmt.Sprintf("active_jobs is %d, and it had %d in hand, of which it executes %d at once", active, most, w.MaxParallel)
}

// Listening is when a process last heard of any worker, and since when it has never gone a worker's TTL
// without hearing of one.
type Listening struct{ Since, Last time.Duration }

// Silence is how long the event's process has not heard of the worker, although it has heard of others
// throughout; otherwise 0.
func (f *Facts) Silence(e *sim.Event, worker string) time.Duration {
	l, ok := f.Listens[invariants.Process(e.Node, e.Incarnation)]
	if !ok || worker == "" || e.At-l.Last > f.Config.WorkerTTL {
		return 0
	}
	silent := e.At - l.Since
	if known := f.Ear(Hearing{e.Node, e.Incarnation, worker}); known != nil {
		silent = min(silent, known.Age(e.At, &f.Config))
	}
	return silent
}

// KnowsWorkers says whether the step's replica has heard of a worker within its TTL.
func (f *Facts) KnowsWorkers(s *Step) bool {
	return slices.ContainsFunc(f.ears(s.Event), func(known *Ear) bool { return known.Age(s.At, &f.Config) <= f.Config.WorkerTTL })
}

// KnowsStaleWorker says whether the step's replica last heard of some worker longer ago than the worker TTL,
// but not so long ago that it must have evicted it.
func (f *Facts) KnowsStaleWorker(s *Step) bool {
	return slices.ContainsFunc(f.ears(s.Event), func(known *Ear) bool {
		age := known.Age(s.At, &f.Config)
		return known.learned(&f.Config) && age > f.Config.WorkerTTL && age <= f.Config.WorkerTTL+f.Config.RegistrySweep
	})
}

// Picks notes that the step's handling picks a worker, since it has written SCHEDULED.
func (f *Facts) Picks(s *Step) {
	h := s.Handling
	h.Choice, h.Busy, h.Lacks, h.Preferred = f.Candidates(s), f.Overloaded(s), f.Lacks(s), f.Preferred(s)
	if slices.ContainsFunc(f.ears(s.Event), func(known *Ear) bool {
		age := known.Age(s.At, &f.Config)
		swept := age > f.Config.WorkerTTL+f.Config.RegistrySweep+Doubt && f.StruckNow()&history.StrikesOf(history.NATSAway) == 0 // else it may have begun just now
		return age > f.Config.WorkerTTL-Doubt && !swept
	}) {
		f.Count.StaleMaybe++
	}
}

// known is a worker in the snapshot.
type known struct {
	Worker string
	Seen   time.Duration // when the snapshot's writer had last heard of it
	Load   history.Load
}

// ReadSnapshot decodes sys:workers:snapshot. The time of its write does not count: its writer may have put it
// together long before. A time in it that is later than the writer's last heartbeat does not count either.
func (f *Facts) ReadSnapshot(by *sim.Event, text string) (list []known) {
	snapshot, err := history.Read[history.WorkerSnapshot](text)
	if err != nil {
		return nil
	}
	for i := range snapshot.Workers {
		w := &snapshot.Workers[i]
		seen := time.UnixMilli(w.LastSeen).Sub(f.Workflow.Began)
		if ear := f.Ear(Hearing{by.Node, by.Incarnation, w.Heartbeat.WorkerID}); ear != nil && ear.Live {
			seen = min(seen, ear.At)
		} else if ear != nil {
			seen = min(seen, ear.Seen)
		}
		list = append(list, known{Worker: w.Heartbeat.WorkerID, Seen: seen, Load: w.Heartbeat.Load()})
	}
	return list
}

// Unlike says how the snapshot that the step has written differs for sure from what its writer had heard of
// the workers; "" if it does not. A late write shows what its writer had heard before.
func (f *Facts) Unlike(s *Step) string {
	if s.Kind == sim.KindLate || f.Strikes.on(s.Node, s.At) {
		return ""
	}
	for _, ear := range f.ears(s.Event) {
		i := slices.IndexFunc(f.Ticks.Snapshot, func(w known) bool { return w.Worker == ear.Worker })
		switch {
		case !ear.Live || s.At-ear.At > f.Config.WorkerTTL-Doubt || s.At-ear.since < Doubt:
		case i < 0:
			return "without " + ear.Worker
		case s.At-ear.At < Doubt || f.StruckEver()&history.StrikesOf(history.HeartbeatLost) != 0: // the writer may have had another heartbeat
		case f.Ticks.Snapshot[i].Load.Pool != ear.Load.Pool || f.Ticks.Snapshot[i].Load.Score() != ear.Load.Score():
			return "with another heartbeat of " + ear.Worker
		}
	}
	return ""
}

// snapshotRead notes what a replica learns at its start; with snapshot_last_seen it learns it only once it
// knows the time.
func (f *Facts) snapshotRead(s *Step) {
	switch {
	case s.Outcome == sim.OutcomePending:
	case s.Failed, f.Config.SnapshotLastSeen && s.Name != "time":
	default:
		for _, w := range f.Ticks.Snapshot {
			at := Hearing{s.Node, s.Incarnation, w.Worker}
			if known := f.Ear(at); known == nil || s.At-known.At > f.Config.WorkerTTL { // by then the replica has forgotten it
				*f.hear(at) = Ear{Worker: w.Worker, At: s.At, Seen: w.Seen, Load: w.Load}
			}
		}
	}
}

// Doubt is how much a worker's age may differ from what its replica takes it for: a heartbeat is under way
// for a while, and so is a snapshot.
const Doubt = time.Second

// Give notes that the step's replica has written which worker a job goes to.
func (f *Facts) Give(s *Step) {
	if known := f.Ear(Hearing{s.Node, s.Incarnation, s.About.Worker}); known != nil {
		known.given++
	}
}

// Candidate is a worker that a replica may dispatch a job to.
type Candidate struct {
	Worker string
	Score  float64 // by its last heartbeat
	Given  int     // jobs that the replica has dispatched to it since
}

// Candidate is the worker as a candidate, by its last heartbeat.
func (r *Ear) Candidate() Candidate { return Candidate{r.Worker, r.Load.Score(), r.given} }

// Candidates returns the workers, sorted by name, among which the step's replica picks, if events show them
// for sure and all are in one pool.
func (f *Facts) Candidates(s *Step) (list []Candidate) {
	if s.About.Wish.Particular() || f.Strikes.behind(s.Node, s.At) {
		return nil
	}
	pool := ""
	for _, known := range f.ears(s.Event) {
		age, l := known.Age(s.At, &f.Config), &known.Load
		switch {
		case age > f.Config.WorkerTTL+f.Config.RegistrySweep+Doubt, l.Overloaded():
			continue
		case !l.Known, age > f.Config.WorkerTTL-Doubt, l.Choosy, len(list) > 0 && pool != l.Pool:
			return nil
		}
		pool = l.Pool
		list = append(list, known.Candidate())
	}
	return list
}

// Preferred is the worker that the step's job prefers, if the step's replica knows for sure when it picks
// that the worker is alive, free and all that the job requires; otherwise "".
func (f *Facts) Preferred(s *Step) string {
	w := &s.About.Wish
	known := f.Ear(Hearing{s.Node, s.Incarnation, w.hints()[preferredWorker]})
	if known == nil || !known.Live || !f.free(s, known) || f.Strikes.behind(s.Node, s.At) || !w.pooled(&f.Config.Routing) || w.Unmet(&known.Load, &f.Config.Routing) != "" {
		return ""
	}
	return known.Worker
}

// OnlyStale says whether the step's replica still lists that worker although it is past its TTL, and lists no
// other such worker.
func (f *Facts) OnlyStale(s *Step, worker string) bool {
	is := false
	for _, known := range f.ears(s.Event) {
		age := known.Age(s.At, &f.Config)
		if age <= f.Config.WorkerTTL-Doubt || age > f.Config.WorkerTTL+f.Config.RegistrySweep+Doubt {
			continue
		}
		if known.Worker != worker || age <= f.Config.WorkerTTL+Doubt || !known.Load.Known || known.Load.Choosy {
			return false
		}
		is = true
	}
	return is
}

// Alive returns the workers, sorted by name, that the step's replica knows for sure to be alive and free.
func (f *Facts) Alive(s *Step) (list []Candidate) {
	for _, known := range f.ears(s.Event) {
		if f.free(s, known) {
			list = append(list, known.Candidate())
		}
	}
	return list
}

// free says whether the step's replica knows for sure that the worker is alive and free.
func (f *Facts) free(s *Step, known *Ear) bool {
	l := &known.Load
	return l.Known && !l.Choosy && !l.Overloaded() && known.Age(s.At, &f.Config) <= f.Config.WorkerTTL-Doubt
}

// Lacks is the reason code if the step's replica, when it picks, finds no worker for its job for sure;
// otherwise "".
func (f *Facts) Lacks(s *Step) (reasonCode string) {
	if s.About.Wish.Particular() {
		return ""
	}
	pool, reasonCode := "", history.ReasonNoWorkers
	for _, known := range f.ears(s.Event) {
		age, l := known.Age(s.At, &f.Config), &known.Load
		switch {
		case age > f.Config.WorkerTTL+f.Config.RegistrySweep+Doubt:
			continue
		case !l.Known, l.Choosy, !l.Overloaded(), age > f.Config.WorkerTTL-Doubt, reasonCode == history.ReasonBusy && pool != l.Pool:
			return ""
		}
		pool, reasonCode = l.Pool, history.ReasonBusy
	}
	return reasonCode
}

// Overloaded returns the workers, sorted by name, that were overloaded when the step's replica last heard of
// them.
func (f *Facts) Overloaded(s *Step) (list []string) {
	for _, known := range f.ears(s.Event) {
		if known.Load.Known && known.Load.Overloaded() {
			list = append(list, known.Worker)
		}
	}
	return list
}
