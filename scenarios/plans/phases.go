package plans

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/worker"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// Phases lists the operations that a fault can name, in the order in which a job meets them: the
// engine's phases, those of its messages, and those of the world around it.
// It is long because it is a table: a line for each phase.
func Phases() []faults.Phase {
	const (
		store, publish, send, deliver, call = faults.PlaceStore, faults.PlacePublish, faults.PlaceSend, faults.PlaceDeliver, faults.PlaceCall
	)
	p := func(name phase.Phase, says string, place faults.Place) faults.Phase {
		return faults.Phase{Name: string(name), Says: says, Place: place, Family: faults.FamilyOf(string(name))}
	}
	none := func(name phase.Phase, says string, place faults.Place) faults.Phase {
		return faults.Phase{Name: string(name), Says: says, Place: place, Family: faults.FamilyOf(string(name)), NoJob: true}
	}
	return []faults.Phase{
		p(phase.SubmitWrite, "the submitter stores the request and PENDING", store),
		p(phase.SubmitPublish, "the submitter publishes to sys.job.submit", publish),
		none(actors.PhasePoison, "a stranger publishes to sys.job.submit what nobody can read (workload.poison)", publish),
		p("submit_deliver", "a scheduler receives the request", deliver),
		p(phase.ProcessedRead, "it asks whether this message of the job, of whatever kind, has been handled already", store),
		p(phase.InflightWrite, "it notes that the message is being handled, or is not any more and comes back", store),
		p(phase.LockAcquire, "it takes the job's lock", store),
		p(phase.LockRenew, "it renews the lock, every third of its TTL", store),
		p(phase.StateRead, "it reads the job's state, to tell a redelivery from a new job", store),
		p(phase.PendingWrite, "it stores a job that arrived without a record", store),
		p(phase.BreakerRead, "it reads whether the circuit to the safety kernel is open (a plan with a kernel, as the next five)", store),
		p(phase.BreakerProbe, "while the circuit is half-open it counts its call before it makes it (engine.policy.shared_probes)", store),
		p(phase.SafetyCheck, "it asks the safety kernel whether the job may run", call),
		p(phase.BreakerWrite, "it counts that the call failed, or that failures are forgotten as one succeeded", store),
		p(phase.ApprovalWrite, "it writes APPROVAL_REQUIRED", store),
		p(phase.ApproveRead, "an approver looks at the job (workload.approve, as the next two)", store),
		p(phase.ApproveWrite, "the approver writes its approval into the record", store),
		p(phase.ApprovePublish, "the approver publishes the request again, to sys.job.submit", publish),
		p(phase.ApprovedWrite, "a scheduler takes the approved job back to PENDING", store),
		p(phase.AskAgainWrite, "it notes that the job has become another request, which needs an approval of its own (workload.change)", store),
		p(phase.DeniedWrite, "it writes DENIED", store),
		p(phase.ScheduledWrite, "it writes SCHEDULED, which counts one attempt", store),
		p(phase.Pick, "it picks a worker, in memory", faults.PlaceNone),
		p(phase.TenantRead, "it counts the tenant's jobs in flight (engine.tenant_limit without tenant_reserve), or at the limit looks whether some are over", store),
		p(phase.TenantHeal, "it gives the tenant back the slots of jobs that are over", store),
		p(phase.DispatchedWrite, "it writes DISPATCHED", store),
		p(phase.Publish, "it publishes the dispatch to the worker", publish),
		p(phase.PublishRead, "it reads back what the stream holds of an epoch that it refused to store again (engine.epochs)", store),
		p(phase.RollbackWrite, "after a failed publish it writes SCHEDULED again, which counts one more attempt (engine.resume_intents=false, or the worker has died: engine.void_intents, or its timeout has passed: engine.retry_unpublished)", store),
		p(phase.RunningWrite, "it writes RUNNING", store),
		p(phase.LockRelease, "it gives the lock back", store),
		p(phase.ProcessedWrite, "it notes that the message has been handled; the ack follows", store),
		p(phase.ReplicaRead, "before its first handling it asks which server is Redis's master (engine.wait_replica, as the next)", store),
		p(phase.ReplicaWait, "it waits until a replica of Redis has what was written; the ack follows", store),
		none(phase.OutboxRead, "a scheduler's relay reads which entries of the outbox are due (engine.dispatch_order=outbox, as the next two)", store),
		p(phase.OutboxClaim, "it takes an entry up: reads it with the job's state, and puts off the next try; the publish follows", store),
		p(phase.OutboxRemove, "it takes the entry out, with the write of RUNNING if it was published", store),
		p("submit_ack", "it acknowledges the request", send),
		p("submit_nak", "it hands the request back, to be redelivered after a delay", send),
		none("submit_term", "it gives up for good what is no request (workload.poison)", send),
		p("job_deliver", "a worker receives the dispatch", deliver),
		p("effect", "the worker begins the job, or finishes it: its external side effect", faults.PlaceWork),
		p(worker.PhaseOutput, "the worker stores what it has put out, and what is left of it once redacted (engine.output.enabled, as all that is about outputs)", store),
		p("result_publish", "the worker publishes to sys.job.result", publish),
		p("job_ack", "the worker acknowledges the dispatch", send),
		p("job_progress", "the worker asks for more time, at half of the dispatch's AckWait", send),
		p("job_term", "the worker gives up a dispatch that it cannot read", send),
		none("heartbeat", "a worker says that it lives, on sys.heartbeat", send),
		p("result_deliver", "a scheduler receives the result", deliver),
		p(phase.OutputCheck, "it asks the output policy about the result's metadata", call),
		p(phase.ResultWrite, "it writes the terminal state", store),
		p(phase.FailedWrite, "it writes FAILED: the retry ceiling, or a job that can never be routed", store),
		p(phase.DLQWrite, "it writes the entry of the dead-letter queue, and its index, on their own", store),
		p(phase.OutputRead, "after SUCCEEDED it reads the output, in the background", store),
		p(phase.OutputScan, "it asks the output policy about the output itself", call),
		p(phase.QuarantineRead, "it reads the record of a job whose output is blocked, under the job's lock (engine.output.recheck)", store),
		p(phase.OutputWrite, "it writes OUTPUT_QUARANTINED over SUCCEEDED", store),
		p(phase.OutputRecord, "it notes what the scan found", store),
		p("result_ack", "it acknowledges the result", send),
		p("result_nak", "it hands the result back, to be redelivered after a delay", send),
		p("result_term", "it gives the result up for good", send),
		p(phase.CancelKeep, "the canceller stores the cancellation where the job's record will be (engine.keep_cancellations)", store),
		p(phase.CancelPublish, "the canceller publishes to sys.job.cancel (workload.cancel, as all that is about a cancellation)", publish),
		p("cancel_deliver", "a scheduler receives the cancellation", deliver),
		p(phase.VoidPublish, "before a DISPATCHED job ends, or is scheduled again, it takes the place of the job's dispatch in the stream (engine.void_intents)", publish),
		p(phase.CancelWrite, "it writes CANCELLED", store),
		p(phase.CancelNotice, "it tells the job's worker (engine.cancel_notice)", publish),
		p("cancel_ack", "it acknowledges the cancellation", send),
		p("cancel_nak", "it hands the cancellation back, to be redelivered after a delay", send),
		p("cancel_term", "it gives the cancellation up for good", send),
		p("notice_deliver", "a worker hears that a job of its is cancelled", deliver),
		p("notice_ack", "it acknowledges that", send),
		p("void_deliver", "a worker receives what stands in a dispatch's place", deliver),
		p("void_ack", "it acknowledges that", send),
		p(phase.SagaRecord, "a scheduler that has the result of a job of a saga (workload.saga, as the next six) records its compensation (engine.saga.atomic_record=false)", store),
		none(phase.SagaLock, "after FAILED_FATAL it takes the lock of the saga, to roll it back", store),
		none(phase.SagaRead, "it looks at the compensation on top of the saga's stack (engine.saga.peek)", store),
		none(phase.SagaPop, "it takes that off the stack: before it is submitted, or with engine.saga.peek afterwards", store),
		p(phase.SagaPublish, "it publishes the job's compensation to sys.job.submit", publish),
		none(phase.SagaClose, "it notes that the stack is empty and the rollback over (engine.saga.durable_rollback)", store),
		none(phase.SagaUnlock, "it gives the saga's lock back", store),
		none(actors.PhaseUnreadable, "a stranger pushes onto the stack of wf-1 what nobody can read (workload.unreadable)", store),
		none(phase.ReconcileLock, "a scheduler's reconciler takes its tick's lock (engine.reconciler, as the next three)", store),
		none(phase.ReconcileRead, "it reads which jobs are past a timeout or a deadline", store),
		p(phase.TimeoutRead, "it reads one of them again, under the job's lock (engine.recheck_timeouts)", store),
		p(phase.TimeoutWrite, "it writes TIMEOUT", store),
		none(phase.ReplayLock, "a scheduler's replayer takes its tick's lock (engine.pending_replayer)", store),
		p(phase.ReplayRead, "it reads which jobs wait for too long, and each of them; their handling follows", store),
		p(phase.ScanRead, "it reads which outputs have not been scanned in time (engine.output.durable_scans), and the record of each; the scan follows", store),
		none(phase.DLQLock, "a scheduler's replay worker takes its tick's lock (engine.replay.enabled, as all that follows up to the snapshot)", store),
		none(phase.GrowthRead, "it reads how the dead-letter queue has grown", store),
		none(phase.GrowthWrite, "it raises the growth alert, or ends it", store),
		none(phase.DLQRead, "it reads which entries are due", store),
		p(phase.DLQEntryRead, "it reads the job's entry, and what the job asked for; so does the operator (workload.approve_replay, mend_replay, ask_replay and deny_replay)", store),
		p(phase.CommittedRead, "it asks whether what the job is about has been done after all (engine.replay.check_committed)", store),
		p(phase.DLQUpdate, "it writes what becomes of the job's entry, and with it stores its replay; or takes the entry off its list; or the operator decides", store),
		p(phase.ReplayPublish, "it publishes the job's replay to sys.job.submit", publish),
		p(phase.CommitWrite, "a scheduler notes that a job that had ended has succeeded after all", store),
		none(phase.SnapshotLock, "a scheduler takes the lock of the snapshot's writer (engine.snapshot_lock)", store),
		none(phase.SnapshotWrite, "it writes the snapshot of the workers that it knows", store),
		none(phase.SnapshotUnlock, "it gives that lock back (engine.snapshot_lock)", store),
		none(phase.RunCreate, "the starter stores a run (workload.runs, as all that is about runs)", store),
		none(phase.RunLock, "a scheduler takes the lock of a run", store),
		none(phase.RunRenew, "it renews that lock, every third of its TTL", store),
		none(phase.RunRead, "it reads the run", store),
		none(phase.StepRead, "it reads the records of the jobs that the run waits for", store),
		none(phase.RunWrite, "it writes how far the run is; the submissions that it has decided on follow", store),
		none(phase.RunUnlock, "it gives the run's lock back", store),
		none(phase.TimerWrite, "it keeps a run's delay in Redis (engine.workflow.durable_timers, as the next three)", store),
		none(phase.TimerRemove, "a delay is over: it takes it out of Redis; the run's lock follows", store),
		none(phase.TimerPop, "it takes out of Redis the delays that are over and that nobody has fired, at its start and when it polls", store),
		none(phase.TimerRead, "a scheduler that starts reads the delays that are to come", store),
		none(phase.TimerClean, "a poller takes out what has been over for an hour (engine.workflow.delay_poller, as the next)", store),
		none(phase.PollLock, "a scheduler takes the lock of the poller's tick", store),
		none(phase.RunsLock, "a scheduler takes the lock of the workflow reconciler's tick (engine.workflow.run_reconciler, as the next two)", store),
		none(phase.RunsRead, "it reads which runs are not over", store),
		none(phase.RunsDrop, "it takes a run that has no record out of those that are not over", store),
		none(phase.SnapshotRead, "a scheduler that starts reads the snapshot (engine.warm_start)", store),
	}
}

// Phases lists those of [Phases] that runs of p can have, given its settings.
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
		phase.ApproveRead: kernel, phase.ApproveWrite: kernel, phase.ApprovePublish: kernel, phase.ApprovedWrite: kernel, phase.AskAgainWrite: kernel,
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
	names := append(NodeNames("scheduler", p.Topology.Schedulers), NodeNames("worker", p.Topology.Workers)...)
	names = append(names, actors.SubmitterName)
	if p.Kernel.On() {
		names = append(names, actors.KernelName)
	}
	if p.Workload.Runs > 0 {
		names = append(names, actors.StarterName)
	}
	if len(p.Workload.Cancel) > 0 {
		names = append(names, actors.CancellerName)
	}
	if p.Workload.HasOperator() {
		names = append(names, actors.OperatorName)
	}
	if len(p.Workload.Approve) > 0 {
		names = append(names, actors.ApproverName)
	}
	if len(p.Workload.Change) > 0 {
		names = append(names, actors.ChangerName)
	}
	if p.Workload.Poison+p.Workload.Unreadable > 0 {
		names = append(names, actors.StrangerName)
	}
	return names
}

// FaultWorld is what the plan's faults can refer to.
func (p *Plan) FaultWorld() faults.World {
	links := []faults.Link{
		{Name: "heartbeats", Says: "a worker's heartbeats to every scheduler", Nodes: NodeNames("worker", p.Topology.Workers)},
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

// Actors are the nodes that operate in a phase.
func (t Topology) Actors(phase string) []string {
	switch {
	case phase == "submit_write", phase == "submit_publish":
		return []string{actors.SubmitterName}
	case strings.HasPrefix(phase, "approve_"):
		return []string{actors.ApproverName}
	case phase == "cancel_keep", phase == "cancel_publish":
		return []string{actors.CancellerName}
	case phase == string(actors.PhasePoison), phase == string(actors.PhaseUnreadable):
		return []string{actors.StrangerName}
	case phase == "effect", phase == "result_publish", phase == "heartbeat", slices.ContainsFunc([]string{"job_", "notice_", "void_d", "void_a"}, func(p string) bool { return strings.HasPrefix(phase, p) }):
		return NodeNames("worker", t.Workers)
	}
	return NodeNames("scheduler", t.Schedulers)
}
