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
		none(actors.StrangerName, actors.PhasePoison, "a stranger publishes to sys.job.submit what nobody can read (workload.poison)", publish),
		p(sched, "submit_deliver", "a scheduler receives the request", deliver),
		p(sched, phase.ProcessedRead, "it asks whether this message of the job, of whatever kind, has been handled already", store),
		p(sched, phase.InflightWrite, "it notes that the message is being handled, or is not any more and comes back", store),
		p(sched, phase.LockAcquire, "it takes the job's lock", store),
		p(sched, phase.LockRenew, "it renews the lock, every third of its TTL", store),
		p(sched, phase.StateRead, "it reads the job's state, to tell a redelivery from a new job", store),
		p(sched, phase.PendingWrite, "it stores a job that arrived without a record", store),
		p(sched, phase.BreakerRead, "it reads whether the circuit to the safety kernel is open (a plan with a kernel, as the next five)", store),
		p(sched, phase.BreakerProbe, "while the circuit is half-open it counts its call before it makes it (engine.policy.shared_probes)", store),
		p(sched, phase.SafetyCheck, "it asks the safety kernel whether the job may run", call),
		p(sched, phase.BreakerWrite, "it counts that the call failed, or that failures are forgotten as one succeeded", store),
		p(sched, phase.ApprovalWrite, "it writes APPROVAL_REQUIRED", store),
		p(actors.ApproverName, phase.ApproveRead, "an approver looks at the job (workload.approve, as the next two)", store),
		p(actors.ApproverName, phase.ApproveWrite, "the approver writes its approval into the record", store),
		p(actors.ApproverName, phase.ApprovePublish, "the approver publishes the request again, to sys.job.submit", publish),
		p(sched, phase.ApprovalAge, "a scheduler asks Redis for the time, which tells how old the approval is (engine.policy.bind_approvals)", store),
		p(sched, phase.ApprovedWrite, "a scheduler takes the approved job back to PENDING", store),
		p(sched, phase.AskAgainWrite, "it notes that the job has become another request, which needs an approval of its own (workload.change)", store),
		p(sched, phase.DeniedWrite, "it writes DENIED", store),
		p(sched, phase.ScheduledWrite, "it writes SCHEDULED, which counts one attempt", store),
		p(sched, phase.Pick, "it picks a worker, in memory", faults.PlaceNone),
		p(sched, phase.TenantRead, "it counts the tenant's jobs in flight (engine.tenant_limit without tenant_reserve), or at the limit looks whether some are over", store),
		p(sched, phase.TenantHeal, "it gives the tenant back the slots of jobs that are over", store),
		p(sched, phase.DispatchedWrite, "it writes DISPATCHED", store),
		p(sched, phase.Publish, "it publishes the dispatch to the worker", publish),
		p(sched, phase.PublishRead, "it reads back what the stream holds of an epoch that it refused to store again (engine.epochs)", store),
		p(sched, phase.RollbackWrite, "after a failed publish it writes SCHEDULED again, which counts one more attempt (engine.resume_intents=false, or the worker has died: engine.void_intents, or its timeout has passed: engine.retry_unpublished)", store),
		p(sched, phase.RunningWrite, "it writes RUNNING", store),
		p(sched, phase.LockRelease, "it gives the lock back", store),
		p(sched, phase.ProcessedWrite, "it notes that the message has been handled; the ack follows", store),
		p(sched, phase.ReplicaRead, "before its first handling it asks which server is Redis's master (engine.wait_replica, as the next)", store),
		p(sched, phase.ReplicaWait, "it waits until a replica of Redis has what was written; the ack follows", store),
		none(sched, phase.OutboxRead, "a scheduler's relay reads which entries of the outbox are due (engine.dispatch_order=outbox, as the next two)", store),
		p(sched, phase.OutboxClaim, "it takes an entry up: reads it with the job's state, and puts off the next try; the publish follows", store),
		p(sched, phase.OutboxRemove, "it takes the entry out, with the write of RUNNING if it was published", store),
		p(sched, "submit_ack", "it acknowledges the request", send),
		p(sched, "submit_nak", "it hands the request back, to be redelivered after a delay", send),
		none(sched, "submit_term", "it gives up for good what is no request (workload.poison)", send),
		p(work, "job_deliver", "a worker receives the dispatch", deliver),
		p(work, "effect", "the worker begins the job, or finishes it: its external side effect", faults.PlaceWork),
		p(work, worker.PhaseOutput, "the worker stores what it has put out, and what is left of it once redacted (engine.output.enabled, as all that is about outputs)", store),
		p(work, "result_publish", "the worker publishes to sys.job.result", publish),
		p(work, "job_ack", "the worker acknowledges the dispatch", send),
		p(work, "job_progress", "the worker asks for more time, at half of the dispatch's AckWait", send),
		p(work, "job_term", "the worker gives up a dispatch that it cannot read", send),
		none(work, "heartbeat", "a worker says that it lives, on sys.heartbeat", send),
		p(sched, "result_deliver", "a scheduler receives the result", deliver),
		p(sched, phase.OutputCheck, "it asks the output policy about the result's metadata", call),
		p(sched, phase.ResultWrite, "it writes the terminal state", store),
		p(sched, phase.FailedWrite, "it writes FAILED: the retry ceiling, or a job that can never be routed", store),
		p(sched, phase.DLQWrite, "it writes the entry of the dead-letter queue, and its index, on their own", store),
		p(sched, phase.OutputRead, "after SUCCEEDED it reads the output, in the background", store),
		p(sched, phase.OutputScan, "it asks the output policy about the output itself", call),
		p(sched, phase.QuarantineRead, "it reads the record of a job whose output is blocked, under the job's lock (engine.output.recheck)", store),
		p(sched, phase.OutputWrite, "it writes OUTPUT_QUARANTINED over SUCCEEDED", store),
		p(sched, phase.OutputRecord, "it notes what the scan found", store),
		p(sched, "result_ack", "it acknowledges the result", send),
		p(sched, "result_nak", "it hands the result back, to be redelivered after a delay", send),
		p(sched, "result_term", "it gives the result up for good", send),
		p(actors.CancellerName, phase.CancelKeep, "the canceller stores the cancellation where the job's record will be (engine.keep_cancellations)", store),
		p(actors.CancellerName, phase.CancelPublish, "the canceller publishes to sys.job.cancel (workload.cancel, as all that is about a cancellation)", publish),
		p(sched, "cancel_deliver", "a scheduler receives the cancellation", deliver),
		p(sched, phase.VoidPublish, "before a DISPATCHED job ends, or is scheduled again, it takes the place of the job's dispatch in the stream (engine.void_intents)", publish),
		p(sched, phase.CancelWrite, "it writes CANCELLED", store),
		p(sched, phase.CancelNotice, "it tells the job's worker (engine.cancel_notice)", publish),
		p(sched, "cancel_ack", "it acknowledges the cancellation", send),
		p(sched, "cancel_nak", "it hands the cancellation back, to be redelivered after a delay", send),
		p(sched, "cancel_term", "it gives the cancellation up for good", send),
		p(work, "notice_deliver", "a worker hears that a job of its is cancelled", deliver),
		p(work, "notice_ack", "it acknowledges that", send),
		p(work, "void_deliver", "a worker receives what stands in a dispatch's place", deliver),
		p(work, "void_ack", "it acknowledges that", send),
		p(sched, phase.SagaRecord, "a scheduler that has the result of a job of a saga (workload.saga, as the next six) records its compensation (engine.saga.atomic_record=false)", store),
		none(sched, phase.SagaLock, "after FAILED_FATAL it takes the lock of the saga, to roll it back", store),
		none(sched, phase.SagaRead, "it looks at the compensation on top of the saga's stack (engine.saga.peek)", store),
		none(sched, phase.SagaPop, "it takes that off the stack: before it is submitted, or with engine.saga.peek afterwards", store),
		p(sched, phase.SagaPublish, "it publishes the job's compensation to sys.job.submit", publish),
		none(sched, phase.SagaClose, "it notes that the stack is empty and the rollback over (engine.saga.durable_rollback)", store),
		none(sched, phase.SagaUnlock, "it gives the saga's lock back", store),
		none(actors.StrangerName, actors.PhaseUnreadable, "a stranger pushes onto the stack of wf-1 what nobody can read (workload.unreadable)", store),
		none(sched, phase.ReconcileLock, "a scheduler's reconciler takes its tick's lock (engine.reconciler, as the next three)", store),
		none(sched, phase.ReconcileRead, "it reads which jobs are past a timeout or a deadline", store),
		p(sched, phase.TimeoutRead, "it reads one of them again, under the job's lock (engine.recheck_timeouts)", store),
		p(sched, phase.TimeoutWrite, "it writes TIMEOUT", store),
		none(sched, phase.ReplayLock, "a scheduler's replayer takes its tick's lock (engine.pending_replayer)", store),
		p(sched, phase.ReplayRead, "it reads which jobs wait for too long, and each of them; their handling follows", store),
		p(sched, phase.ScanRead, "it reads which outputs have not been scanned in time (engine.output.durable_scans), and the record of each; the scan follows", store),
		none(sched, phase.DLQLock, "a scheduler's replay worker takes its tick's lock (engine.replay.enabled, as all that follows up to the snapshot)", store),
		none(sched, phase.GrowthRead, "it reads how the dead-letter queue has grown", store),
		none(sched, phase.GrowthWrite, "it raises the growth alert, or ends it", store),
		none(sched, phase.DLQRead, "it reads which entries are due", store),
		p(sched, phase.DLQEntryRead, "it reads the job's entry, and what the job asked for; so does the operator (workload.approve_replay, mend_replay, ask_replay and deny_replay)", store),
		p(sched, phase.CommittedRead, "it asks whether what the job is about has been done after all (engine.replay.check_committed)", store),
		p(sched, phase.DLQUpdate, "it writes what becomes of the job's entry, and with it stores its replay; or takes the entry off its list; or the operator decides", store),
		p(sched, phase.ReplayPublish, "it publishes the job's replay to sys.job.submit", publish),
		p(sched, phase.CommitWrite, "a scheduler notes that a job that had ended has succeeded after all", store),
		none(sched, phase.SnapshotLock, "a scheduler takes the lock of the snapshot's writer (engine.snapshot_lock)", store),
		none(sched, phase.SnapshotWrite, "it writes the snapshot of the workers that it knows, by the time of Redis (engine.snapshot_last_seen)", store),
		none(sched, phase.SnapshotUnlock, "it gives that lock back (engine.snapshot_lock)", store),
		none(actors.StarterName, phase.RunCreate, "the starter stores a run (workload.runs, as all that is about runs)", store),
		none(sched, phase.RunLock, "a scheduler takes the lock of a run", store),
		none(sched, phase.RunRenew, "it renews that lock, every third of its TTL", store),
		none(sched, phase.RunRead, "it reads the run", store),
		none(sched, phase.StepRead, "it reads the records of the jobs that the run waits for", store),
		none(sched, phase.RunWrite, "it writes how far the run is; the submissions that it has decided on follow", store),
		none(sched, phase.RunUnlock, "it gives the run's lock back", store),
		none(sched, phase.TimerWrite, "it keeps a run's delay in Redis (engine.workflow.durable_timers, as the next three)", store),
		none(sched, phase.TimerRemove, "a delay is over: it takes it out of Redis; the run's lock follows", store),
		none(sched, phase.TimerPop, "it takes out of Redis the delays that are over and that nobody has fired, at its start and when it polls", store),
		none(sched, phase.TimerRead, "a scheduler that starts reads the delays that are to come", store),
		none(sched, phase.TimerClean, "a poller takes out what has been over for an hour (engine.workflow.delay_poller, as the next)", store),
		none(sched, phase.PollLock, "a scheduler takes the lock of the poller's tick", store),
		none(sched, phase.RunsLock, "a scheduler takes the lock of the workflow reconciler's tick (engine.workflow.run_reconciler, as the next two)", store),
		none(sched, phase.RunsRead, "it reads which runs are not over", store),
		none(sched, phase.RunsDrop, "it takes a run that has no record out of those that are not over", store),
		none(sched, phase.SnapshotRead, "a scheduler that starts reads the snapshot, and asks for the time of Redis (engine.warm_start; the time with engine.snapshot_last_seen)", store),
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
		{Name: faults.Redis, Says: "a node's way to Redis", Nodes: slices.DeleteFunc(p.Nodes(), func(n string) bool {
			return strings.HasPrefix(n, "worker-") && !p.Engine.Output.Enabled || n == actors.StrangerName || n == actors.KernelName
		})},
		{Name: faults.NATS, Says: "a node's way to NATS", Nodes: slices.DeleteFunc(p.Nodes(), func(n string) bool { return n == actors.KernelName })},
	}
	if p.Kernel.On() {
		links = append(links, faults.Link{Name: actors.KernelName, Says: "a scheduler's way to the safety kernel", Nodes: NodeNames("scheduler", p.Topology.Schedulers)})
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
