package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

var (
	ofWorkers  = history.StrikesOf(history.WorkerCrash, history.WorkerAway)
	ofReplicas = history.StrikesOf(history.SchedulerCrash, history.SchedulerAway)
)

// StruckBy returns the kinds of strike that have reached a job; with saga, also those that have reached its
// saga.
func (f *Facts) StruckBy(j *Job, saga bool) invariants.Kinds {
	struck := j.Struck
	for i := range f.Strikes.windows {
		if w := &f.Strikes.windows[i]; (w.reach == dealt || w.reach == ofRuns) && w.until == 0 && f.awaits(j, w.node, true) {
			struck |= history.StrikesOf(w.kind)
		}
	}
	if saga && j.Saga.ID != "" {
		struck |= f.Sagas.Of(j.Saga.ID).struck
		for _, other := range f.Order {
			if other.Saga.ID == j.Saga.ID {
				struck |= other.Struck
			}
		}
	}
	return struck
}

// Struck notes the strike in an event, if there is one, and the end of a strike.
func (f *Facts) Struck(e *sim.Event) {
	if e.Kind == sim.KindControl {
		f.strikeEnds(e)
	}
	f.dealt(e)
	s, ok := history.StrikeOf(e)
	if !ok {
		return
	}
	f.Strikes.ever |= history.StrikesOf(s.Kind)
	f.Strikes.last = e.At
	switch {
	case s.Kind == history.HeartbeatLost && s.Phase != "snapshot_read": // its consequences come by the passing of time
	case s.Kind == history.ClockWrong && !writesTimes(s.Node):
	case s.Kind == history.NATSPowerLoss: // it hits the lost messages, and what takes their places; it is also an outage
		f.Strikes.ever |= history.StrikesOf(history.NATSAway)
		f.struckNode(history.NATSAway, s.Node, e.Name)
	case s.Phase == "":
		f.struckNode(s.Kind, s.Node, e.Name)
	default:
		f.struckOperation(s)
	}
	switch {
	case s.Kind == history.RedisFailover, s.Kind == history.RedisDeath:
		f.takenBack(e, history.StrikesOf(s.Kind))
	case e.Name == "kill", s.Kind == history.NATSPowerLoss:
		f.Strikes.forgot |= history.StrikesOf(history.NATSAway, s.Kind)
	}
}

// strikeEnds notes that a strike is over, unless another of its kind continues.
func (f *Facts) strikeEnds(e *sim.Event) {
	k := &f.Strikes
	k.last = e.At
	k.windows = slices.DeleteFunc(k.windows, func(w window) bool { return !w.open(f.At) })
	ends := func(w window) bool { return w.until == 0 && w.node == e.Target && w.ends == e.Name }
	if i := slices.IndexFunc(k.windows, func(w window) bool { return ends(w) && w.strikes > 1 }); i >= 0 {
		k.windows[i].strikes--
		return
	}
	for i := range k.windows {
		if w := &k.windows[i]; ends(*w) {
			w.until = e.At + f.aftermath(w)
			if w.reach != nothing {
				f.reachAwaited(w)
			}
		}
	}
}

// writesTimes says whether others use times that the node writes. They do not use those of workers and of the
// safety kernel.
func writesTimes(node string) bool {
	return !strings.HasPrefix(node, history.WorkerNodes) && node != history.KernelNode
}

// struckNode notes a strike on a node or a server.
func (f *Facts) struckNode(k invariants.StrikeKind, node, verb string) {
	if verb == "crash" || verb == "pause" {
		if n := f.Nodes[node]; n == nil && history.IsClient(node) || n != nil && n.Down {
			return // it strikes nobody: the node is down, or has yet to start
		}
	}
	w := window{kind: k, node: node, ends: endOf[verb], strikes: 1, since: f.At, reach: dealt}
	if node == sim.Redis {
		w.ends = "" // each node is cut off from it separately
	}
	replica := strings.HasPrefix(node, history.SchedulerNodes)
	if history.IsServer(node) || replica && f.lastOf(node) {
		w.reach = everything
	}
	if w.ends == "" {
		w.until = f.At + f.aftermath(&w)
	}
	f.opens(w)
	f.tickFails(w)
	kind := history.StrikesOf(k)
	if kind&ofWorkers != 0 {
		for _, j := range f.Order {
			if j.with(node) || f.remembers(node, j) {
				f.reachJob(j, kind)
			}
		}
		return
	}
	if w.reach == everything {
		f.reachAll(kind)
		if replica {
			f.nobodyIsUp()
		}
	}
	for _, j := range f.Order {
		step := f.Workflow.StepJob(j.ID)
		if f.inHandOf(node, j) || step != nil && step.Run.inHandOf(node) && f.unfinished(j) {
			f.reachJob(j, kind)
		}
	}
	f.reachHands(node, kind)
}

// tickFails extends a strike to everything that a tick is for, if the struck scheduler holds the tick's lock
// meanwhile. With a wrong clock the tick uses wrong times; under any other strike it fails. A snapshot that
// is not written reaches nobody.
func (f *Facts) tickFails(w window) {
	k := &f.Ticks
	holds := func(t *Tick) bool { return t.Node == w.node && t.Live(f.At) }
	wrong := w.kind == history.ClockWrong
	switch {
	case w.until != 0:
		return
	case holds(&k.Reconciler), holds(&k.Replayer), wrong && holds(&k.Writer):
		w.reach = everything
	case holds(&k.Poller), holds(&k.Runs):
		w.reach = ofRuns
	case holds(&k.Writer):
		w.reach = nothing
	default:
		return
	}
	w.strikes = 0 // the tick fails until the last strike on its holder ends
	if !wrong {
		w.kind = history.TickFails
	}
	if !f.opens(w) || w.reach == nothing {
		return
	}
	kind := history.StrikesOf(w.kind)
	f.Strikes.ever |= kind
	if w.reach == everything {
		f.reachAll(kind)
	} else {
		f.reachRuns(kind)
	}
}

// nobodyIsUp extends the strikes on schedulers that continue to everything, if no other scheduler is up.
func (f *Facts) nobodyIsUp() {
	for i := range f.Strikes.windows {
		if w := &f.Strikes.windows[i]; w.until == 0 && (w.reach == dealt || w.reach == ofRuns) {
			w.reach = everything
			f.reachAll(history.StrikesOf(w.kind))
		}
	}
}

// dealt notes what a struck scheduler deals with.
func (f *Facts) dealt(e *sim.Event) {
	f.Strikes.dealing = 0
	for i := range f.Strikes.windows {
		if w := f.Strikes.windows[i]; w.node == e.Node && w.open(f.At) {
			if w.reach != nothing {
				f.Strikes.dealing |= history.StrikesOf(w.kind) &^ ofWorkers
			}
			f.tickFails(w)
		}
	}
	if f.Strikes.dealing == 0 {
		return
	}
	if j := f.Jobs[e.Job]; j != nil {
		f.reachJob(j, f.Strikes.dealing)
	}
	f.reachKey(e.Target, f.Strikes.dealing)
}

// struckOperation notes a strike on an operation. The strike reaches the operation's job, saga or run. On a key for
// all, it reaches the runs and sagas that the operation's scheduler has in hand. If the operation concerns none, it
// reaches everything unfinished; in a tick for runs, the unfinished runs. Failed calls of the safety kernel also reach
// everything unfinished, once there are enough to open a circuit. A read of the snapshot reaches what its scheduler
// deals with, and a write of it nothing.
func (f *Facts) struckOperation(s invariants.Strike) {
	kind := history.StrikesOf(s.Kind)
	opens := s.Kind == history.KernelFails && f.Strikes.mayOpen(&s, &f.Config.Policy)
	forAll := s.Kind == history.TickFails || s.Kind == history.HeartbeatLost || opens
	if forAll {
		w := window{kind: s.Kind, node: s.Node, since: f.At, reach: everything}
		switch tick := cmp.Or(lists[s.Phase], s.Key); {
		case s.Phase == "snapshot_read": // a starting replica uses it
			w.reach = dealt
		case s.Phase == "snapshot_lock", s.Phase == "snapshot_write", s.Phase == "snapshot_unlock":
			w.reach = nothing
		case tick == history.PollerKey, tick == history.RunsKey:
			w.reach = ofRuns
		}
		w.until = f.At + f.aftermath(&w)
		switch f.opens(w); w.reach {
		case everything:
		case ofRuns:
			f.reachRuns(kind)
			return
		default:
			return
		}
	}
	if j := f.Job(s.Job); j != nil && !opens {
		f.reachJob(j, kind)
		for _, of := range f.Order {
			if (of.Replay.Of == j.ID || of.compensates() == j.ID) && f.unfinished(of) { // a replay or a compensation works on its job, too, under its name
				of.Struck |= kind
			}
		}
		return
	}
	if f.reachKey(s.Key, kind) || !forAll && f.reachHands(s.Node, kind) {
		return
	}
	f.reachAll(kind)
}

// reachHands marks the runs and sagas that a scheduler has in hand, and says whether there are any. An
// operation on a key for all concerns one of them.
func (f *Facts) reachHands(node string, kind invariants.Kinds) (any bool) {
	for _, r := range f.Workflow.Order {
		if r.inHandOf(node) {
			r.As.Struck |= kind
			any = true
		}
	}
	for _, g := range f.Sagas.Order {
		if g.Lock.Node == node && g.Lock.Live(f.At) {
			g.struck |= kind
			any = true
		}
	}
	return any
}

// reachAll marks everything that is unfinished.
func (f *Facts) reachAll(kind invariants.Kinds) {
	for _, j := range f.Order {
		if f.unfinished(j) {
			j.Struck |= kind
		}
	}
	f.reachRuns(kind)
}

// reachRuns marks the unfinished runs.
func (f *Facts) reachRuns(kind invariants.Kinds) {
	for _, r := range f.Workflow.Order {
		if r.unfinished() {
			r.As.Struck |= kind
		}
	}
}

// reachKey marks the job, the saga or the run that a key belongs to, if any.
func (f *Facts) reachKey(key string, kind invariants.Kinds) bool {
	switch what, of := history.KeyOf(key); what {
	case history.SagaStack, history.SagaLock:
		f.Sagas.Of(of).struck |= kind
		return true
	case history.Record, history.Lock, history.Letter:
		if j := f.Jobs[of]; j != nil {
			f.reachJob(j, kind)
			return true
		}
	case history.Run, history.RunLock:
		if r := f.Workflow.Runs[of]; r != nil {
			r.As.Struck |= kind
			return true
		}
	}
	return false
}

// takenBack marks the owners of the keys, and of members of keys, that a failover or a death of Redis has
// changed back, even if they were finished.
func (f *Facts) takenBack(e *sim.Event, kind invariants.Kinds) {
	for i := range e.Changes {
		c := &e.Changes[i]
		f.reachKey(c.Key, kind)
		what, of := history.KeyOf(c.Key)
		for _, id := range []string{of, c.Field} {
			if j := f.Jobs[id]; j != nil {
				f.reachJob(j, kind)
			}
		}
		switch what {
		case history.Processed, history.Inflight:
			for _, j := range f.Order {
				if GuardedMessage(&Step{About: j}, of) != nil {
					f.reachJob(j, kind)
				}
			}
		case history.Timers:
			if _, id, _ := strings.Cut(c.Field, ":"); f.Workflow.Runs[id] != nil {
				f.Workflow.Runs[id].As.Struck |= kind
			}
		}
	}
}

// reachJob marks a job, and the run that it is a step of.
func (f *Facts) reachJob(j *Job, kind invariants.Kinds) {
	j.Struck |= kind
	if step := f.Workflow.StepJob(j.ID); step != nil {
		step.Run.As.Struck |= kind
	}
}

// inHandOf says whether a process of the node has the job in hand: it handles the job, holds its lock, has
// one of its messages, or one may be on its way there. A client has in hand what it has yet to submit, an
// approved job included. So has the node that made the record of a replay.
func (f *Facts) inHandOf(node string, j *Job) bool {
	return j.Lock.Node == node && j.Lock.Live(f.At) || f.awaits(j, node, false) || (history.IsClient(node) || j.MadeBy == node) && (len(j.Messages) == 0 || j.approvedUnsent()) && !j.State.Terminal() ||
		slices.ContainsFunc(j.Handlings, func(h Handling) bool { return h.Node == node }) ||
		slices.ContainsFunc(j.Messages, func(m Message) bool { return m.inHandOn(node) })
}

// awaits says whether a message of the job that nobody was seen to receive may be on its way to a node that
// has asked for such messages. With again, a message that was put off counts, too, since events do not show
// when it is redelivered.
func (f *Facts) awaits(j *Job, node string, again bool) bool {
	n := f.Nodes[node]
	return n != nil && len(n.pulls) > 0 && slices.ContainsFunc(j.Messages, func(m Message) bool {
		return !m.held() && !m.Done && !m.Lost && !m.Abandoned && (again || m.Delivered == 0) && n.pulls[m.Consumer] != 0
	})
}

// reachAwaited marks, when a strike on a scheduler ends, the jobs whose messages may have reached it under
// the strike.
func (f *Facts) reachAwaited(w *window) {
	for _, j := range f.Order {
		if f.awaits(j, w.node, false) {
			f.reachJob(j, history.StrikesOf(w.kind))
		}
	}
}

// with says whether a worker is involved with the job: it executes it, or has a dispatch to begin or to
// acknowledge. The job may be over.
func (j *Job) with(worker string) bool {
	return slices.Contains(j.Executing, worker) || slices.ContainsFunc(j.Dispatches, func(d Dispatch) bool {
		return (d.Worker == worker || d.Worker == "") && !d.acked
	})
}

// remembers says whether only the worker may know that it has finished a dispatch of the job. nats-server may
// have forgotten the ack, and then redelivers the dispatch after it has waited for one.
func (f *Facts) remembers(worker string, j *Job) bool {
	return f.Strikes.forgot != 0 && slices.ContainsFunc(j.Dispatches, func(d Dispatch) bool {
		return (d.Worker == worker || d.Worker == "") && d.acked && f.At < d.given+dispatchAckWait+Slack
	})
}

// Busy returns the first job that a running worker executes, or has yet to begin, or nil. No result of it is
// due.
func (f *Facts) Busy() *Job {
	for _, j := range f.Order {
		if j.State.Terminal() || j.Finished > 0 {
			continue
		}
		for id, n := range f.Nodes {
			if !n.Down && strings.HasPrefix(id, history.WorkerNodes) && j.with(id) {
				return j
			}
		}
	}
	return nil
}

// unfinished says whether anything is left to do about a job.
func (f *Facts) unfinished(j *Job) bool {
	out := f.Config.Output.Enabled && j.State == Succeeded && (!j.Out.Scanned() || j.Out.Blocked)
	replay := f.Config.Replay.Enabled && j.State.Buried()
	return !j.State.Terminal() || out || replay || j.Saga.ID != "" || len(j.Handlings)+len(j.Executing) > 0 ||
		slices.ContainsFunc(j.Messages, func(m Message) bool { return !m.Done && !m.Lost && !m.Abandoned }) ||
		slices.ContainsFunc(j.Dispatches, func(d Dispatch) bool { return !d.acked && !d.Lost })
}

// unfinished says whether anything is left to do about a run.
func (r *WorkflowRun) unfinished() bool {
	return r.State == "RUNNING" || len(r.Hands) > 0 || r.Setting != ""
}

// Assigned marks a job that is dispatched to a worker with the strikes on the worker.
func (f *Facts) Assigned(j *Job, worker string) {
	for i := range f.Strikes.windows {
		w := &f.Strikes.windows[i]
		if kind := history.StrikesOf(w.kind); kind&ofWorkers != 0 && w.open(f.At) && (w.node == worker || worker == "") {
			f.reachJob(j, kind)
		}
	}
}
