package model

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Strikes is what has struck in a run, and how far it reaches.
type Strikes struct {
	Seen invariants.Kinds // all of them
	Run  invariants.Kinds // those that reach every job: of a server, or of a clock
	Open []window         // those of nodes that last, or whose leases may

	Sagas map[string]invariants.Kinds // by the saga's workflow: those that reach it
}

func (k *Strikes) saga(id string, kind invariants.StrikeKind) {
	if k.Sagas == nil {
		k.Sagas = map[string]invariants.Kinds{}
	}
	k.Sagas[id] |= history.StrikesOf(kind)
}

// window is the time in which a node is struck, and for as long as what it held may stay held.
type window struct {
	kind  invariants.StrikeKind
	node  string
	Until time.Duration // 0 while it lasts
}

// Struck takes in the strike that an event tells of, if it does, and the end of one.
func (f *Facts) Struck(e *sim.Event) {
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
func (f *Facts) note(s invariants.Strike) {
	k := &f.Strikes
	k.Seen |= history.StrikesOf(s.Kind)
	switch {
	case history.StrikesOf(s.Kind)&servers != 0:
		k.Run |= history.StrikesOf(s.Kind)
	case s.Kind == history.NATSPowerLoss: // it hit the messages that went, and what takes their places
	case s.Kind == history.HeartbeatLost, s.Phase != "":
		f.hit(s)
	default:
		k.Open = append(k.Open, window{kind: s.Kind, node: s.Node})
		for _, j := range f.Order {
			if f.concerns(s.Kind, s.Node, j) {
				f.reachJob(j, s.Kind)
			}
		}
		for _, r := range f.Workflow.Order {
			if s.Kind != history.SchedulerCrash || r.inHandOf(s.Node) || f.lastOf(s.Node) {
				r.As.Struck |= history.StrikesOf(s.Kind)
			}
		}
	}
}

// lastOf says whether no scheduler but this one is up.
func (f *Facts) lastOf(scheduler string) bool {
	for name, n := range f.Nodes {
		if name != scheduler && strings.HasPrefix(name, history.SchedulerNodes) && !n.Down {
			return false
		}
	}
	return true
}

// servers are the kinds that reach every job.
var servers = history.StrikesOf(history.NATSAway, history.RedisFailover, history.ClockWrong)

// hit marks what a strike on an operation reaches: its job; the saga or the run that it is on; and what is about
// neither, whatever is not over.
func (f *Facts) hit(s invariants.Strike) {
	if s.Kind == history.HeartbeatLost {
		return
	}
	if s.Kind == history.KernelFails || s.Kind == history.TickFails { // it fails all: by their circuit, or as what a replica does and knows for them
		f.Strikes.Open = append(f.Strikes.Open, window{kind: s.Kind, node: s.Node, Until: s.From + f.aftermath()})
	}
	if j := f.Job(s.Job); j != nil && s.Kind != history.KernelFails {
		f.reachJob(j, s.Kind)
		if step := f.Workflow.StepJob(j.ID); step != nil {
			step.Run.As.Struck |= history.StrikesOf(s.Kind)
		}
		return
	}
	if id, is := strings.CutPrefix(s.Key, history.SagaPrefix); is {
		id, _, _ = strings.Cut(id, ":")
		f.Strikes.saga(id, s.Kind)
		return
	}
	for _, prefix := range []string{history.RunLockPrefix, history.RunPrefix} {
		if id, is := strings.CutPrefix(s.Key, prefix); is {
			if r := f.Workflow.Runs[id]; r != nil {
				r.As.Struck |= history.StrikesOf(s.Kind)
				return
			}
		}
	}
	for _, j := range f.Order {
		if f.unfinished(j) {
			f.reachJob(j, s.Kind)
		}
	}
	for _, r := range f.Workflow.Order {
		r.As.Struck |= history.StrikesOf(s.Kind)
	}
}

// reachJob marks a job, and the saga that it is part of.
func (f *Facts) reachJob(j *Job, k invariants.StrikeKind) {
	j.Struck |= history.StrikesOf(k)
	if j.Saga.Workflow != "" {
		f.Strikes.saga(j.Saga.Workflow, k)
	}
}

// concerns says whether what strikes a node reaches a job: of a scheduler, what is not finished, and could be its to
// handle; of a worker, what was dispatched to it.
func (f *Facts) concerns(k invariants.StrikeKind, node string, j *Job) bool {
	if k == history.WorkerCrash || k == history.WorkerAway {
		return f.unfinished(j) && j.isFor(node)
	}
	return f.unfinished(j)
}

// isFor says whether a dispatch of the job went to the worker.
func (j *Job) isFor(worker string) bool {
	if j.Worker == worker {
		return true
	}
	for i := range j.Dispatches {
		if w := j.Dispatches[i].Worker; w == worker || w == "" {
			return true
		}
	}
	return false
}

// unfinished says whether anything is left to be done about a job.
func (f *Facts) unfinished(j *Job) bool {
	if !j.State.Terminal() || j.Saga.Workflow != "" || f.Config.Output.Enabled || f.Config.Replay.Enabled && j.State.Buried() || len(j.Handlings) > 0 {
		return true
	}
	for i := range j.Messages {
		if m := &j.Messages[i]; !m.Done && !m.Lost && !m.Abandoned {
			return true
		}
	}
	return false
}

// UnderWay says whether a strike lasts.
func (k *Strikes) UnderWay() bool {
	for i := range k.Open {
		if k.Open[i].Until == 0 {
			return true
		}
	}
	return false
}

// aftermath is for how long the leases of a struck node may outlast the strike: its locks, what it knows of workers,
// and what it keeps others from doing.
func (f *Facts) aftermath() time.Duration {
	return max(2*f.Config.PollInterval, f.Config.JobLockTTL, f.Config.SnapshotLockTTL, f.Config.WorkerTTL)
}

// ends takes in that a node is well again.
func (f *Facts) ends(e *sim.Event) {
	ended := history.StrikesOf()
	switch e.Name {
	case "restart":
		ended = history.StrikesOf(history.SchedulerCrash, history.WorkerCrash, history.SubmissionFails, history.KernelFails)
	case "resume", "heal redis", "heal nats", "heal kernel":
		ended = history.StrikesOf(history.SchedulerAway, history.WorkerAway, history.SubmissionFails, history.KernelFails)
	}
	for i := range f.Strikes.Open {
		if w := &f.Strikes.Open[i]; w.node == e.Target && ended&history.StrikesOf(w.kind) != 0 && w.Until == 0 {
			w.Until = e.At + f.aftermath()
		}
	}
}

// Appears marks a job that is new with the strikes on nodes that could handle it.
func (f *Facts) Appears(j *Job, at time.Duration) {
	for i := range f.Strikes.Open {
		w := &f.Strikes.Open[i]
		if (w.Until == 0 || at < w.Until) && w.kind != history.WorkerCrash && w.kind != history.WorkerAway {
			f.reachJob(j, w.kind)
		}
	}
}

// Assigned marks a job that is dispatched to a worker with the strikes that the worker is under.
func (f *Facts) Assigned(j *Job, worker string, at time.Duration) {
	for i := range f.Strikes.Open {
		w := &f.Strikes.Open[i]
		if (w.Until == 0 || at < w.Until) && (w.kind == history.WorkerCrash || w.kind == history.WorkerAway) && (w.node == worker || worker == "") {
			f.reachJob(j, w.kind)
		}
	}
}
