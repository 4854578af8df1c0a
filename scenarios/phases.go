package scenarios

import (
	"slices"
	"strings"

	"github.com/faultline-sim/faultline/engine"
	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/faults"
	"github.com/faultline-sim/faultline/scenarios/world"
)

// Phases lists the operations that a fault can name, in the order in which a job meets them: the
// engine's phases, those of its messages, and those of the world around it.
func Phases() []faults.Phase {
	const (
		store, publish, send, deliver = faults.PlaceStore, faults.PlacePublish, faults.PlaceSend, faults.PlaceDeliver
	)
	p := func(name phase.Phase, says string, place faults.Place) faults.Phase {
		return faults.Phase{Name: string(name), Says: says, Place: place}
	}
	return []faults.Phase{
		p(phase.SubmitWrite, "the submitter stores the request and PENDING", store),
		p(phase.SubmitPublish, "the submitter publishes to sys.job.submit", publish),
		p("submit_deliver", "a scheduler receives the request", deliver),
		p(phase.LockAcquire, "it takes the job's lock", store),
		p(phase.LockRenew, "it renews the lock, every third of its TTL", store),
		p(phase.StateRead, "it reads the job's state, to tell a redelivery from a new job", store),
		p(phase.PendingWrite, "it stores a job that arrived without a record", store),
		p(phase.ScheduledWrite, "it writes SCHEDULED, which counts one attempt", store),
		p(phase.Pick, "it picks a worker, in memory", faults.PlaceNone),
		p(phase.DispatchedWrite, "it writes DISPATCHED", store),
		p(phase.Publish, "it publishes the dispatch to the worker", publish),
		p(phase.RollbackWrite, "after a failed publish it writes SCHEDULED again, which counts one more attempt", store),
		p(phase.RunningWrite, "it writes RUNNING", store),
		p(phase.LockRelease, "it gives the lock back", store),
		{Name: string(phase.OutboxRead), Says: "a scheduler's relay reads which entries of the outbox are due (engine.dispatch_order=outbox, as the next two)", Place: store, NoJob: true},
		p(phase.OutboxClaim, "it takes an entry up: reads it with the job's state, and puts off the next try; the publish follows", store),
		p(phase.OutboxRemove, "it takes the entry out, with the write of RUNNING if it was published", store),
		p("submit_ack", "it acknowledges the request", send),
		p("submit_nak", "it hands the request back, to be redelivered after a delay", send),
		p("submit_term", "it gives the request up for good", send),
		p("job_deliver", "a worker receives the dispatch", deliver),
		p("effect", "the worker begins the job, or finishes it: its external side effect", faults.PlaceWork),
		p("result_publish", "the worker publishes to sys.job.result", publish),
		p("job_ack", "the worker acknowledges the dispatch", send),
		p("job_progress", "the worker asks for more time, at half of the dispatch's AckWait", send),
		p("job_term", "the worker gives up a dispatch that it cannot read", send),
		{Name: "heartbeat", Says: "a worker says that it lives, on sys.heartbeat", Place: send, NoJob: true},
		p("result_deliver", "a scheduler receives the result", deliver),
		p(phase.ResultWrite, "it writes the terminal state", store),
		p(phase.FailedWrite, "it writes FAILED: the retry ceiling, or a job that can never be routed", store),
		p(phase.DLQWrite, "it writes the entry of the dead-letter queue, and its index", store),
		p("result_ack", "it acknowledges the result", send),
		p("result_nak", "it hands the result back, to be redelivered after a delay", send),
		p("result_term", "it gives the result up for good", send),
	}
}

// Phases lists those of [Phases] that runs of p can have: the outbox's are of one dispatch order only.
func (p *Plan) Phases() []faults.Phase {
	return slices.DeleteFunc(Phases(), func(ph faults.Phase) bool {
		return strings.HasPrefix(ph.Name, "outbox_") && p.Engine.DispatchOrder != engine.Outbox
	})
}

// Nodes lists the names of t's nodes.
func (t Topology) Nodes() []string {
	return append(append(nodeNames("scheduler", t.Schedulers), nodeNames("worker", t.Workers)...), world.SubmitterName)
}

// faultWorld is what the plan's faults can refer to.
func (p *Plan) faultWorld() faults.World {
	return faults.World{
		Jobs:   p.Workload.Jobs,
		Nodes:  p.Topology.Nodes(),
		Phases: Phases(),
		Links:  []faults.Link{{Name: "heartbeats", Says: "a worker's heartbeats to every scheduler", Nodes: nodeNames("worker", p.Topology.Workers)}},
	}
}
