package plans

import (
	"slices"
	"strings"
	"sync"

	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/worker"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// Phases lists the operations that a fault can name: the engine's phases, those of its messages, and those of
// the world around it. They are in the order in which a job passes them.
func Phases() []faults.Phase {
	table := phases()
	list := make([]faults.Phase, len(table))
	for i := range table {
		list[i] = table[i].Phase
	}
	return list
}

// acted is a phase, and the role of the nodes that operate in it.
type acted struct {
	faults.Phase
	by string
}

// phases is long because it is a table: a line for each phase.
func phases() []acted {
	const (
		store, publish, send, deliver, call = faults.PlaceStore, faults.PlacePublish, faults.PlaceSend, faults.PlaceDeliver, faults.PlaceCall
		sched, work                         = actors.SchedulerRole, actors.WorkerRole
	)
	p := func(by string, name phase.Phase, says string, place faults.Place) acted {
		return acted{faults.Phase{Name: string(name), Says: says, Place: place, Family: faults.FamilyOf(string(name))}, by}
	}
	none := func(by string, name phase.Phase, says string, place faults.Place) acted {
		a := p(by, name, says, place)
		a.NoJob = true
		return a
	}
	return []acted{
		p(actors.SubmitterName, phase.SubmitWrite, "the submitter stores the request and PENDING", store),
		p(actors.SubmitterName, phase.SubmitPublish, "the submitter publishes to sys.job.submit", publish),
		none(actors.StrangerName, actors.PhasePoison, "a stranger publishes a message that nobody can read to sys.job.submit (workload.poison)", publish),
		p(sched, "submit_deliver", "a scheduler receives the request", deliver),
		p(sched, phase.ProcessedRead, "the scheduler asks whether this message of the job has been handled already", store),
		p(sched, phase.InflightWrite, "the scheduler notes that the message is being handled, or that its handling has ended and the message comes back", store),
		p(sched, phase.LockAcquire, "the scheduler takes the job's lock", store),
		p(sched, phase.LockRenew, "the scheduler renews the lock, at every third of its TTL", store),
		p(sched, phase.StateRead, "the scheduler reads the job's state, to tell a redelivery from a new job", store),
		p(sched, phase.PendingWrite, "the scheduler stores a job that arrived without a record", store),
		p(sched, phase.BreakerRead, "the scheduler reads whether the circuit to the safety kernel is open (in a plan with a kernel; so are the next five)", store),
		p(sched, phase.BreakerProbe, "while the circuit is half-open, the scheduler counts a call before it makes it (engine.policy.shared_probes)", store),
		p(sched, phase.SafetyCheck, "the scheduler asks the safety kernel whether the job may run", call),
		p(sched, phase.BreakerWrite, "the scheduler counts that the call failed, or resets the count after a call that succeeded", store),
		p(sched, phase.ApprovalWrite, "the scheduler writes APPROVAL_REQUIRED", store),
		p(actors.ApproverName, phase.ApproveRead, "an approver looks at the job (workload.approve; so are the next two)", store),
		p(actors.ApproverName, phase.ApproveWrite, "the approver writes its approval into the record", store),
		p(actors.ApproverName, phase.ApprovePublish, "the approver publishes the request again, to sys.job.submit", publish),
		p(sched, phase.ApprovalAge, "a scheduler asks Redis for the time, to compute how old the approval is (engine.policy.bind_approvals)", store),
		p(sched, phase.ApprovedWrite, "a scheduler takes the approved job back to PENDING", store),
		p(sched, phase.AskAgainWrite, "the scheduler notes that the job has become another request, which needs an approval of its own (workload.change)", store),
		p(sched, phase.DeniedWrite, "the scheduler writes DENIED", store),
		p(sched, phase.ScheduledWrite, "the scheduler writes SCHEDULED, which counts one attempt", store),
		p(sched, phase.Pick, "the scheduler picks a worker, in memory", faults.PlaceNone),
		p(sched, phase.TenantRead, "the scheduler counts the tenant's jobs in flight (engine.tenant_limit without tenant_reserve), or, at the limit, checks whether some of them are over", store),
		p(sched, phase.TenantHeal, "the scheduler gives the tenant back the slots of jobs that are over", store),
		p(sched, phase.DispatchedWrite, "the scheduler writes DISPATCHED", store),
		p(sched, phase.Publish, "the scheduler publishes the dispatch to the worker", publish),
		p(sched, phase.PublishRead, "the stream refused to store the dispatch of an epoch again, and the scheduler reads back what it holds of that epoch (engine.epochs)", store),
		p(sched, phase.RollbackWrite, "after a failed publish the scheduler writes SCHEDULED again, which counts one more attempt (with engine.resume_intents=false; or with engine.void_intents, if the worker has died; or with engine.retry_unpublished, once the dispatch timeout has passed)", store),
		p(sched, phase.RunningWrite, "the scheduler writes RUNNING", store),
		p(sched, phase.LockRelease, "the scheduler gives the lock back", store),
		p(sched, phase.ProcessedWrite, "the scheduler notes that the message has been handled; the ack follows", store),
		p(sched, phase.ReplicaRead, "before its first handling, the scheduler asks which server is the master of Redis (engine.wait_replica; so is the next)", store),
		p(sched, phase.ReplicaWait, "the scheduler waits until a replica of Redis has what was written; the ack follows", store),
		none(sched, phase.OutboxRead, "a scheduler's relay reads which entries of the outbox are due (engine.dispatch_order=outbox; so are the next two)", store),
		p(sched, phase.OutboxClaim, "the relay takes an entry up: it reads the entry with the job's state, and puts off the next try; the publish follows", store),
		p(sched, phase.OutboxRemove, "the relay removes the entry; if the entry was published, the same write sets RUNNING", store),
		p(sched, "submit_ack", "the scheduler acknowledges the request", send),
		p(sched, "submit_nak", "the scheduler hands the request back, to be redelivered after a delay", send),
		none(sched, "submit_term", "the scheduler gives up for good a message that is no request (workload.poison)", send),
		p(work, "job_deliver", "a worker receives the dispatch", deliver),
		p(work, "effect", "the worker begins the job, or finishes it: the job's external side effect", faults.PlaceWork),
		p(work, worker.PhaseOutput, "the worker stores the job's output, and its redacted copy (engine.output.enabled, as everything about outputs)", store),
		p(work, "result_publish", "the worker publishes to sys.job.result", publish),
		p(work, "job_ack", "the worker acknowledges the dispatch", send),
		p(work, "job_progress", "the worker asks for more time, at half of the dispatch's AckWait", send),
		p(work, "job_term", "the worker gives up a dispatch that it cannot read", send),
		none(work, "heartbeat", "a worker sends a heartbeat, on sys.heartbeat", send),
		p(sched, "result_deliver", "a scheduler receives the result", deliver),
		p(sched, phase.OutputCheck, "the scheduler asks the output policy about the result's metadata", call),
		p(sched, phase.ResultWrite, "the scheduler writes the terminal state", store),
		p(sched, phase.FailedWrite, "the scheduler writes FAILED: the job has used up its attempts, or can never be routed", store),
		p(sched, phase.DLQWrite, "the scheduler writes the entry of the dead-letter queue, and its index, in a write of their own", store),
		p(sched, phase.OutputRead, "after SUCCEEDED, the scheduler reads the output, in the background", store),
		p(sched, phase.OutputScan, "the scheduler asks the output policy about the output itself", call),
		p(sched, phase.QuarantineRead, "the scheduler reads the record of a job whose output is blocked, under the job's lock (engine.output.recheck)", store),
		p(sched, phase.OutputWrite, "the scheduler writes OUTPUT_QUARANTINED over SUCCEEDED", store),
		p(sched, phase.OutputRecord, "the scheduler notes what the scan found", store),
		p(sched, "result_ack", "the scheduler acknowledges the result", send),
		p(sched, "result_nak", "the scheduler hands the result back, to be redelivered after a delay", send),
		p(sched, "result_term", "the scheduler gives the result up for good", send),
		p(actors.CancellerName, phase.CancelKeep, "the canceller stores the cancellation where the job's record will be (engine.keep_cancellations)", store),
		p(actors.CancellerName, phase.CancelPublish, "the canceller publishes to sys.job.cancel (workload.cancel, as everything about a cancellation)", publish),
		p(sched, "cancel_deliver", "a scheduler receives the cancellation", deliver),
		p(sched, phase.VoidPublish, "before a DISPATCHED job ends, or is scheduled again, the scheduler publishes a void in the place of the job's dispatch in the stream (engine.void_intents)", publish),
		p(sched, phase.CancelWrite, "the scheduler writes CANCELLED", store),
		p(sched, phase.CancelNotice, "the scheduler tells the job's worker (engine.cancel_notice)", publish),
		p(sched, "cancel_ack", "the scheduler acknowledges the cancellation", send),
		p(sched, "cancel_nak", "the scheduler hands the cancellation back, to be redelivered after a delay", send),
		p(sched, "cancel_term", "the scheduler gives the cancellation up for good", send),
		p(work, "notice_deliver", "a worker receives the notice that one of its jobs is cancelled", deliver),
		p(work, "notice_ack", "the worker acknowledges the notice", send),
		p(work, "void_deliver", "a worker receives the void that stands in the place of a dispatch", deliver),
		p(work, "void_ack", "the worker acknowledges the void", send),
		p(sched, phase.SagaRecord, "a scheduler that has the result of a job of a saga records the job's compensation (workload.saga, as the next six; engine.saga.atomic_record=false)", store),
		none(sched, phase.SagaLock, "after FAILED_FATAL, the scheduler takes the lock of the saga, to roll it back", store),
		none(sched, phase.SagaRead, "the scheduler reads the compensation on top of the saga's stack (engine.saga.peek)", store),
		none(sched, phase.SagaPop, "the scheduler takes that compensation off the stack: before it submits it, or with engine.saga.peek afterwards", store),
		p(sched, phase.SagaPublish, "the scheduler publishes the job's compensation to sys.job.submit", publish),
		none(sched, phase.SagaClose, "the scheduler notes that the stack is empty and the rollback is over (engine.saga.durable_rollback)", store),
		none(sched, phase.SagaUnlock, "the scheduler gives the saga's lock back", store),
		none(actors.StrangerName, actors.PhaseUnreadable, "a stranger pushes a compensation that nobody can read onto the stack of wf-1 (workload.unreadable)", store),
		none(sched, phase.ReconcileLock, "a scheduler's reconciler takes the lock of its tick (engine.reconciler; so are the next three)", store),
		none(sched, phase.ReconcileRead, "the reconciler reads which jobs are past a timeout or a deadline", store),
		p(sched, phase.TimeoutRead, "the reconciler reads one of these jobs again, under the job's lock (engine.recheck_timeouts)", store),
		p(sched, phase.TimeoutWrite, "the reconciler writes TIMEOUT", store),
		none(sched, phase.ReplayLock, "a scheduler's replayer takes the lock of its tick (engine.pending_replayer)", store),
		p(sched, phase.ReplayRead, "the replayer reads which jobs have waited too long, and each of these jobs; their handling follows", store),
		p(sched, phase.ScanRead, "the replayer reads which outputs have not been scanned in time, and the record of each; the scan follows (engine.output.durable_scans)", store),
		none(sched, phase.DLQLock, "a scheduler's replay worker takes the lock of its tick (engine.replay.enabled; so is everything up to the snapshot)", store),
		none(sched, phase.GrowthRead, "the replay worker reads how the dead-letter queue has grown", store),
		none(sched, phase.GrowthWrite, "the replay worker raises the growth alert, or ends it", store),
		none(sched, phase.DLQRead, "the replay worker reads which entries are due", store),
		p(sched, phase.DLQEntryRead, "the replay worker reads the job's entry and the job's request; so does the operator (workload.approve_replay, mend_replay, ask_replay and deny_replay)", store),
		p(sched, phase.CommittedRead, "the replay worker asks whether the job has had its effect after all (engine.replay.check_committed)", store),
		p(sched, phase.DLQUpdate, "the replay worker writes the outcome of the job's entry, and with it stores the replay; or it takes the entry off its list; or the operator writes a decision", store),
		p(sched, phase.ReplayPublish, "the replay worker publishes the job's replay to sys.job.submit", publish),
		p(sched, phase.CommitWrite, "a scheduler notes that a job that had ended has succeeded after all", store),
		none(sched, phase.SnapshotLock, "a scheduler takes the lock of the snapshot's writer (engine.snapshot_lock)", store),
		none(sched, phase.SnapshotWrite, "the scheduler writes the snapshot of the workers that it knows, by the time of Redis (engine.snapshot_last_seen)", store),
		none(sched, phase.SnapshotUnlock, "the scheduler gives that lock back (engine.snapshot_lock)", store),
		none(actors.StarterName, phase.RunCreate, "the starter stores a run (workload.runs, as everything about runs)", store),
		none(sched, phase.RunLock, "a scheduler takes the lock of a run", store),
		none(sched, phase.RunRenew, "the scheduler renews that lock, at every third of its TTL", store),
		none(sched, phase.RunRead, "the scheduler reads the run", store),
		none(sched, phase.StepRead, "the scheduler reads the records of the jobs that the run waits for", store),
		none(sched, phase.RunWrite, "the scheduler writes the run's progress; the submissions that it has decided on follow", store),
		none(sched, phase.RunUnlock, "the scheduler gives the run's lock back", store),
		none(sched, phase.TimerWrite, "the scheduler stores a run's delay in Redis (engine.workflow.durable_timers; so are the next three)", store),
		none(sched, phase.TimerRemove, "the scheduler removes from Redis a delay that is over; the run's lock follows", store),
		none(sched, phase.TimerPop, "at its start and when it polls, the scheduler removes from Redis the delays that are over and that nobody has fired", store),
		none(sched, phase.TimerRead, "a scheduler that starts reads the delays that are still to come", store),
		none(sched, phase.TimerClean, "a poller removes the delays that have been over for an hour (engine.workflow.delay_poller; so is the next)", store),
		none(sched, phase.PollLock, "a scheduler takes the lock of the poller's tick", store),
		none(sched, phase.RunsLock, "a scheduler takes the lock of the workflow reconciler's tick (engine.workflow.run_reconciler; so are the next two)", store),
		none(sched, phase.RunsRead, "the workflow reconciler reads which runs are not over", store),
		none(sched, phase.RunsDrop, "the workflow reconciler removes a run that has no record from those that are not over", store),
		none(sched, phase.SnapshotRead, "a scheduler that starts reads the snapshot (engine.warm_start), and asks Redis for the time (engine.snapshot_last_seen)", store),
	}
}

// Phases lists those of [Phases] that runs of p can have with its settings.
func (p *Plan) Phases() []faults.Phase {
	e := &p.Engine
	kernel := p.Kernel.On()
	replays := e.PendingReplayer || e.SweepScheduled || e.ResumeIntents
	met := map[phase.Phase]bool{
		phase.OutboxRead: e.DispatchOrder == settings.Outbox, phase.OutboxClaim: e.DispatchOrder == settings.Outbox, phase.OutboxRemove: e.DispatchOrder == settings.Outbox,
		phase.PublishRead: e.Epochs, phase.RollbackWrite: !e.ResumeIntents, phase.LockRenew: e.LockRenewal,
		phase.ProcessedRead: e.IdempotencyGuard, phase.InflightWrite: e.IdempotencyGuard, phase.ProcessedWrite: e.IdempotencyGuard, phase.ReplicaRead: e.WaitReplica, phase.ReplicaWait: e.WaitReplica,
		phase.VoidPublish: e.Epochs && e.VoidIntents, "void_deliver": e.Epochs && e.VoidIntents, "void_ack": e.Epochs && e.VoidIntents,
		phase.CancelNotice: e.CancelNotice, "notice_deliver": e.CancelNotice, "notice_ack": e.CancelNotice,
		phase.ReconcileLock: e.Reconciler, phase.ReconcileRead: e.Reconciler, phase.TimeoutRead: e.Reconciler && e.RecheckTimeouts, phase.TimeoutWrite: e.Reconciler,
		phase.ReplayLock: replays, phase.ReplayRead: replays,
		phase.DLQWrite:    e.DLQOrder != settings.AtomicDLQ || p.Workload.Poison > 0,
		phase.BreakerRead: kernel && e.Policy.SharedBreaker, phase.BreakerProbe: kernel && e.Policy.SharedBreaker && e.Policy.SharedProbes,
		phase.SafetyCheck: kernel, phase.BreakerWrite: kernel && e.Policy.SharedBreaker, phase.ApprovalWrite: kernel, phase.DeniedWrite: kernel,
		phase.ApproveRead: kernel, phase.ApproveWrite: kernel, phase.ApprovePublish: kernel, phase.ApprovalAge: kernel && e.Policy.BindApprovals, phase.ApprovedWrite: kernel, phase.AskAgainWrite: kernel,
		phase.SagaRecord: !e.Saga.AtomicRecord, phase.SagaRead: e.Saga.Peek, phase.SagaClose: e.Saga.DurableRollback,
		worker.PhaseOutput: e.Output.Enabled, phase.OutputCheck: e.Output.Enabled, phase.OutputRead: e.Output.Enabled, phase.OutputScan: e.Output.Enabled,
		phase.QuarantineRead: e.Output.Enabled && e.Output.Recheck, phase.OutputWrite: e.Output.Enabled, phase.OutputRecord: e.Output.Enabled,
		phase.ScanRead: e.Output.Enabled && e.Output.DurableScans,
		phase.DLQLock:  e.Replay.Enabled, phase.GrowthRead: e.Replay.Enabled, phase.GrowthWrite: e.Replay.Enabled, phase.DLQRead: e.Replay.Enabled,
		phase.DLQEntryRead: e.Replay.Enabled, phase.CommittedRead: e.Replay.Enabled && e.Replay.CheckCommitted,
		phase.DLQUpdate:     e.Replay.Enabled,
		phase.ReplayPublish: e.Replay.Enabled, phase.CommitWrite: e.Replay.Enabled,
		phase.SnapshotLock: e.SnapshotLock, phase.SnapshotUnlock: e.SnapshotLock, phase.SnapshotRead: e.WarmStart,
	}
	p.metByRuns(met)
	return slices.DeleteFunc(Phases(), func(ph faults.Phase) bool {
		can, depends := met[phase.Phase(ph.Name)]
		return depends && !can
	})
}

// Nodes lists the names of the plan's nodes.
func (p *Plan) Nodes() []string {
	w := &p.Workload
	has := map[string]bool{
		actors.SubmitterName: true, actors.KernelName: p.Kernel.On(), actors.StarterName: w.Runs > 0, actors.CancellerName: len(w.Cancel) > 0, actors.OperatorName: w.HasOperator(),
		actors.ApproverName: len(w.Approve) > 0, actors.ChangerName: len(w.Change) > 0, actors.StrangerName: w.Poison+w.Unreadable > 0,
	}
	names := append(NodeNames(actors.SchedulerRole, p.Topology.Schedulers), NodeNames(actors.WorkerRole, p.Topology.Workers)...)
	for _, role := range actors.Roles {
		if has[role] {
			names = append(names, role)
		}
	}
	return names
}

// Heartbeats is the link whose cut loses a worker's heartbeats, and nothing else.
const Heartbeats = "heartbeats"

// Links lists the links that partitions can cut.
func Links() []string { return []string{Heartbeats, faults.Redis, faults.NATS, actors.KernelName} }

// FaultWorld is what the plan's faults can refer to.
func (p *Plan) FaultWorld() faults.World {
	links := []faults.Link{
		{Name: Heartbeats, Says: "a worker's heartbeats to every scheduler", Nodes: NodeNames("worker", p.Topology.Workers)},
		{Name: faults.Redis, Says: "a node's connection to Redis", Nodes: slices.DeleteFunc(p.Nodes(), func(n string) bool {
			return strings.HasPrefix(n, "worker-") && !p.Engine.Output.Enabled || n == actors.StrangerName || n == actors.KernelName
		})},
		{Name: faults.NATS, Says: "a node's connection to NATS", Nodes: slices.DeleteFunc(p.Nodes(), func(n string) bool { return n == actors.KernelName })},
	}
	if p.Kernel.On() {
		links = append(links, faults.Link{Name: actors.KernelName, Says: "a scheduler's connection to the safety kernel", Nodes: NodeNames("scheduler", p.Topology.Schedulers)})
	}
	return faults.World{Jobs: p.Workload.Jobs, Nodes: p.Nodes(), Phases: Phases(), Links: links}
}

// actedBy maps each phase to the role of the nodes that operate in it.
var actedBy = sync.OnceValue(func() map[string]string {
	roles := map[string]string{}
	for _, p := range phases() {
		roles[p.Name] = p.by
	}
	return roles
})

// ActorIn is the role of the nodes that operate in a phase.
func ActorIn(phase string) string { return actedBy()[phase] }

// Actors lists the nodes that operate in a phase.
func (t Topology) Actors(phase string) []string {
	switch role := ActorIn(phase); role {
	case actors.SchedulerRole:
		return NodeNames(role, t.Schedulers)
	case actors.WorkerRole:
		return NodeNames(role, t.Workers)
	default:
		return []string{role}
	}
}
