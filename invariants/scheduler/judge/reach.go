package judge

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// strikes is what has struck in a run, and how far it reaches.
type strikes struct {
	list []invariants.Strike
	seen invariants.Kinds // all of them
	run  invariants.Kinds // those that reach every job: of a server, or of a clock
	open []window         // those of nodes that last, or whose leases may

	sagas map[string]invariants.Kinds // by the saga's workflow: those that reach it
}

func (k *strikes) saga(id string, kind invariants.StrikeKind) {
	if k.sagas == nil {
		k.sagas = map[string]invariants.Kinds{}
	}
	k.sagas[id] |= history.StrikesOf(kind)
}

// window is the time in which a node is struck, and for as long as what it held may stay held.
type window struct {
	kind  invariants.StrikeKind
	node  string
	place int           // in the list
	until time.Duration // 0 while it lasts
}

// struck takes in the strike that an event tells of, if it does, and the end of one.
func (f *facts) struck(e *sim.Event) {
	if e.Kind == sim.KindControl {
		f.ends(e)
	}
	s, ok := history.StrikeOf(e)
	if !ok {
		return
	}
	f.note(s)
	if s.Kind == history.NATSPowerLoss { // it is an outage besides
		s.Kind = history.NATSAway
		f.note(s)
	}
}

// note keeps a strike, and marks what it reaches.
func (f *facts) note(s invariants.Strike) {
	k := &f.strikes
	k.list, k.seen = append(k.list, s), k.seen|history.StrikesOf(s.Kind)
	switch {
	case history.StrikesOf(s.Kind)&servers != 0:
		k.run |= history.StrikesOf(s.Kind)
	case s.Kind == history.NATSPowerLoss: // it hit the messages that went, and what takes their places
	case s.Kind == history.HeartbeatLost, s.Phase != "":
		f.hit(s)
	default:
		k.open = append(k.open, window{kind: s.Kind, node: s.Node, place: len(k.list) - 1})
		for _, j := range f.order {
			if f.concerns(s.Kind, s.Node, j) {
				f.reachJob(j, s.Kind)
			}
		}
		for _, r := range f.workflow.order {
			if s.Kind != history.SchedulerCrash || r.inHandOf(s.Node) || f.lastOf(s.Node) {
				r.as.struck |= history.StrikesOf(s.Kind)
			}
		}
	}
}

// lastOf says whether no scheduler but this one is up.
func (f *facts) lastOf(scheduler string) bool {
	for name, n := range f.nodes {
		if name != scheduler && strings.HasPrefix(name, history.SchedulerNodes) && !n.down {
			return false
		}
	}
	return true
}

// servers are the kinds that reach every job.
var servers = history.StrikesOf(history.NATSAway, history.RedisFailover, history.ClockWrong)

// hit marks what a strike on an operation reaches: its job; the saga or the run that it is on; and what is about
// neither, whatever is not over.
func (f *facts) hit(s invariants.Strike) {
	if s.Kind == history.HeartbeatLost {
		return
	}
	if s.Kind == history.KernelFails || s.Kind == history.TickFails { // it fails all: by their circuit, or as what a replica does and knows for them
		f.strikes.open = append(f.strikes.open, window{kind: s.Kind, node: s.Node, until: s.From + f.aftermath()})
	}
	if j := f.job(s.Job); j != nil && s.Kind != history.KernelFails {
		f.reachJob(j, s.Kind)
		if step := f.workflow.stepJob(j.id); step != nil {
			step.run.as.struck |= history.StrikesOf(s.Kind)
		}
		return
	}
	if id, is := strings.CutPrefix(s.Key, history.SagaPrefix); is {
		id, _, _ = strings.Cut(id, ":")
		f.strikes.saga(id, s.Kind)
		return
	}
	for _, prefix := range []string{history.RunLockPrefix, history.RunPrefix} {
		if id, is := strings.CutPrefix(s.Key, prefix); is {
			if r := f.workflow.runs[id]; r != nil {
				r.as.struck |= history.StrikesOf(s.Kind)
				return
			}
		}
	}
	for _, j := range f.order {
		if f.unfinished(j) {
			f.reachJob(j, s.Kind)
		}
	}
	for _, r := range f.workflow.order {
		r.as.struck |= history.StrikesOf(s.Kind)
	}
}

// reachJob marks a job, and the saga that it is part of.
func (f *facts) reachJob(j *job, k invariants.StrikeKind) {
	j.struck |= history.StrikesOf(k)
	if j.saga.workflow != "" {
		f.strikes.saga(j.saga.workflow, k)
	}
}

// concerns says whether what strikes a node reaches a job: of a scheduler, what is not finished, and could be its to
// handle; of a worker, what was dispatched to it.
func (f *facts) concerns(k invariants.StrikeKind, node string, j *job) bool {
	if k == history.WorkerCrash || k == history.WorkerAway {
		return f.unfinished(j) && j.isFor(node)
	}
	return f.unfinished(j)
}

// isFor says whether a dispatch of the job went to the worker.
func (j *job) isFor(worker string) bool {
	if j.worker == worker {
		return true
	}
	for i := range j.dispatches {
		if w := j.dispatches[i].worker; w == worker || w == "" {
			return true
		}
	}
	return false
}

// unfinished says whether anything is left to be done about a job.
func (f *facts) unfinished(j *job) bool {
	if !j.state.terminal() || j.saga.workflow != "" || f.config.Output.Enabled || f.config.Replay.Enabled && j.state.buried() || len(j.handlings) > 0 {
		return true
	}
	for i := range j.messages {
		if m := &j.messages[i]; !m.done && !m.lost && !m.abandoned {
			return true
		}
	}
	return false
}

// aftermath is for how long the leases of a struck node may outlast the strike: its locks, what it knows of workers,
// and what it keeps others from doing.
func (f *facts) aftermath() time.Duration {
	return max(2*f.config.PollInterval, f.config.JobLockTTL, f.config.SnapshotLockTTL, f.config.WorkerTTL)
}

// ends takes in that a node is well again.
func (f *facts) ends(e *sim.Event) {
	ended := history.StrikesOf()
	switch e.Name {
	case "restart":
		ended = history.StrikesOf(history.SchedulerCrash, history.WorkerCrash, history.SubmissionFails, history.KernelFails)
	case "resume", "heal redis", "heal nats", "heal kernel":
		ended = history.StrikesOf(history.SchedulerAway, history.WorkerAway, history.SubmissionFails, history.KernelFails)
	}
	for i := range f.strikes.open {
		if w := &f.strikes.open[i]; w.node == e.Target && ended&history.StrikesOf(w.kind) != 0 && w.until == 0 {
			f.strikes.list[w.place].Until = e.At
			w.until = e.At + f.aftermath()
		}
	}
}

// appears marks a job that is new with the strikes on nodes that could handle it.
func (f *facts) appears(j *job, at time.Duration) {
	for i := range f.strikes.open {
		w := &f.strikes.open[i]
		if (w.until == 0 || at < w.until) && w.kind != history.WorkerCrash && w.kind != history.WorkerAway {
			f.reachJob(j, w.kind)
		}
	}
}

// assigned marks a job that is dispatched to a worker with the strikes that the worker is under.
func (f *facts) assigned(j *job, worker string, at time.Duration) {
	for i := range f.strikes.open {
		w := &f.strikes.open[i]
		if (w.until == 0 || at < w.until) && (w.kind == history.WorkerCrash || w.kind == history.WorkerAway) && (w.node == worker || worker == "") {
			f.reachJob(j, w.kind)
		}
	}
}
