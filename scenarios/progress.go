package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// progress counts what a run has still to wait for.
type progress struct {
	submitted   int              // submissions that were stored, of those that are to be
	settled     int              // jobs in a terminal state
	cancels     int              // jobs whose cancellation was stored
	outstanding map[message]bool // stored in a stream and not acknowledged yet
	acked       time.Duration    // when a message was last acknowledged
	unforgotten time.Duration    // from when on none comes again that was acknowledged before nats-server died
	buried      time.Duration    // when a job last failed, or a message was terminated: the DLQ entry may be still to come
}

// message is one that a stream holds.
type message struct {
	seq     uint64
	subject string
}

// consumer is the node that alone can acknowledge the message, or "" if any scheduler can.
func (m message) consumer() string { return history.WorkerOf(m.subject) }

// settle counts the job when its record begins to say, or says no more, that it is over.
func (p *progress) settle(j *JobResult, to string, at time.Duration) {
	switch was, is := scheduler.Terminal(j.State), scheduler.Terminal(to); {
	case is && !was:
		p.settled++
		j.Settled = at
	case was && !is: // never in the documented state machine, but for a failover
		p.settled--
		j.Settled = 0
	}
}

// acknowledged takes in that a message comes no more, if the server has heard of that.
func (p *progress) acknowledged(e *sim.Event) {
	if e.Kind == sim.KindTerm {
		p.buried = e.At
	}
	if !history.Applied(e) {
		return
	}
	delete(p.outstanding, message{e.Seq, e.Target})
	p.acked = e.At
}

// unwritten is how old what nats-server has written of its consumers is at most when it is killed: see [sim.World.KillNATS].
const unwritten = 100 * time.Millisecond

// forgets takes in that nats-server has lost what was acknowledged to it last: that comes again once its consumer has waited for
// an ack since its delivery, and what is made of it takes no longer than before.
func (r *record) forgets(e *sim.Event) {
	since := e.At - unwritten
	switch faults.Effect(e.Name) {
	case faults.Kill:
	case faults.PowerLoss:
		since = e.At - max(unwritten, r.syncEvery)
	default:
		return
	}
	if e.Target == sim.NATS && r.acked > 0 && r.acked >= since {
		r.unforgotten = max(r.unforgotten, e.At+r.ackWait+afterwards)
	}
}

// asked says whether all that clients were to publish besides submissions is stored.
func (r *record) asked(w plans.Workload) bool {
	return r.cancels == len(w.Cancel) && len(r.poison) == w.Poison && len(r.runs) == w.Runs
}

// tooShort says why the world, which is not at rest, could not settle in its time, and what to do about it, or "". What comes
// again after an outage may wait for as long as that lasted. And the plan's settings may have a job wait for longer than the
// defaults do.
func (r *run) tooShort() string {
	within := r.plan.Then.SettleWithin
	raise := fmt.Sprintf("; raise then.settle_within, now %s", within)
	switch {
	case r.stop == sim.StopDone:
	case slices.ContainsFunc(r.plan.Faults, func(f faults.Fault) bool { return f.On == nil && f.For+f.RestartIn > within }):
		return "an outage lasted longer than the world had to settle after it" + raise
	case r.record.settled == r.plan.Workload.Jobs:
	case r.plan.LongestAge() > max(within, plans.Defaults().Then.SettleWithin):
		return fmt.Sprintf("with these settings it may take %s until somebody looks for a job", r.plan.LongestAge()) + raise
	case !r.plan.Then.Heal && !slices.ContainsFunc(plans.NodeNames("scheduler", r.plan.Topology.Schedulers), r.goesOn):
		return "no scheduler was left that could go on; give the outages an end (for, restart_in), or let them heal (then.heal)"
	}
	return ""
}

// goesOn says whether the node is there, and reaches both servers.
func (r *run) goesOn(node string) bool {
	n := r.world.Find(node)
	return n.Up() && !n.Paused() && !r.injector.CutOff(node)
}

// busy is the name of a job that a living worker has still to finish, or "".
func (r *run) busy() string {
	if j := r.judge.Facts.Busy(); j != nil {
		return j.ID
	}
	return ""
}

// afterwards is how long the world goes on once a fault has ended, a job has failed or a message was
// terminated: who was paused still has to do what it was about to, and a DLQ entry may be left to write.
const afterwards = time.Second

// lost counts the jobs that have no record, and that nobody will submit any more.
func (r *run) lost() (n int) {
	if r.system.Asks(r.unhindered) {
		return 0
	}
	for _, j := range r.record.jobs {
		if j.State == "" {
			n++
		}
	}
	return n
}

// unhindered says whether the node is a client that is not paused and reaches both servers.
func (r *run) unhindered(node string) bool { return actors.IsClient(node) && r.goesOn(node) }

// stores says whether the client is one that can go on and stores something: it may have left what it could not store, or what it
// was not told is stored.
func (r *run) stores(client string) bool {
	return slices.Contains([]string{actors.SubmitterName, actors.StarterName, actors.CancellerName, actors.ChangerName}, client) && r.goesOn(client)
}

// atRest says whether nothing is left to wait for: every job is settled or lost, the outbox is
// empty, every message that a living node should still see has been acknowledged, and nothing else is to come.
func (r *run) atRest() bool {
	if r.world.Syncs() || !r.injector.Quiet() || r.world.Now() < max(r.injector.Last(), r.record.buried)+afterwards {
		return false
	}
	if open := r.plan.Workload.Jobs - r.record.settled; open > 0 && open > r.waiting()+r.lost() {
		return false
	}
	if r.world.Now() < r.record.unforgotten || slices.ContainsFunc(r.record.jobs, r.record.queued) {
		return false
	}
	for m := range r.record.outstanding {
		if n := r.world.Find(m.consumer()); n == nil || n.Up() {
			return false
		}
	}
	return !r.system.Asks(r.stores) && len(r.judge.Open()) == 0
}
