package phase

import "context"

// Phase is one part of handling a job.
type Phase string

// The phases of the dispatch path. The first three of Dispatch ordering are DispatchedWrite, Publish and
// RollbackWrite; the rest follow their spelling.
const (
	SubmitWrite     Phase = "submit_write"     // a client stores the request and PENDING
	SubmitPublish   Phase = "submit_publish"   // a client publishes to sys.job.submit
	LockAcquire     Phase = "lock_acquire"     // cordum:scheduler:job:<id>, SET NX PX
	LockRenew       Phase = "lock_renew"       // every ttl/3
	LockRelease     Phase = "lock_release"     // owner-checked delete
	StateRead       Phase = "state_read"       // the redelivery gate's read, which fails closed (State-read errors)
	PendingWrite    Phase = "pending_write"    // a job that arrives without a record
	ScheduledWrite  Phase = "scheduled_write"  // counts one attempt
	Pick            Phase = "pick"             // routing; no I/O of its own
	DispatchedWrite Phase = "dispatched_write" // before the publish in state-first order
	Publish         Phase = "publish"          // the dispatch itself
	RollbackWrite   Phase = "rollback_write"   // back to SCHEDULED after a failed publish, or from a dead worker; counts one attempt
	RunningWrite    Phase = "running_write"    // after the publish
	OutboxRead      Phase = "outbox_read"      // a relay reads which outbox entries are due; about no single job
	OutboxClaim     Phase = "outbox_claim"     // it takes one up: reads the entry and the job's state
	OutboxRemove    Phase = "outbox_remove"    // a published entry goes, with RUNNING; or one that is not to be published
	ResultWrite     Phase = "result_write"     // a worker's result to a terminal state
	FailedWrite     Phase = "failed_write"     // the retry ceiling, or a job that can never be routed, to FAILED
	DLQWrite        Phase = "dlq_write"        // dlq:entry:<jobID> and dlq:index, on their own

	PublishRead   Phase = "publish_read"   // with epochs: what the stream holds of an epoch that it refused to store again
	VoidPublish   Phase = "void_publish"   // the message that takes the place of a dispatch that is not to come
	CancelKeep    Phase = "cancel_keep"    // a client stores a cancellation where the job's record will be
	CancelPublish Phase = "cancel_publish" // a client publishes to sys.job.cancel
	CancelWrite   Phase = "cancel_write"   // CANCELLED
	CancelNotice  Phase = "cancel_notice"  // the worker of a cancelled job is told

	ProcessedRead  Phase = "processed_read"  // has the message been handled already?
	InflightWrite  Phase = "inflight_write"  // cordum:bus:inflight:<stream>:<seq>; and its end, if the message comes back
	ProcessedWrite Phase = "processed_write" // cordum:bus:processed:<stream>:<seq>, and the inflight key goes

	ReplicaRead Phase = "replica_read" // which server is the master, before a process's first handling
	ReplicaWait Phase = "replica_wait" // cordum:scheduler:wait, and WAIT: before the ack of what was handled

	ReconcileLock Phase = "reconcile_lock" // cordum:reconciler:default; about no single job, as the read
	ReconcileRead Phase = "reconcile_read" // which jobs are past a timeout or a deadline
	TimeoutRead   Phase = "timeout_read"   // one of them, again, under its lock
	TimeoutWrite  Phase = "timeout_write"  // TIMEOUT

	ReplayLock Phase = "replay_lock" // cordum:replayer:pending; about no single job
	ReplayRead Phase = "replay_read" // which jobs wait for too long (about no single job), and each of them

	SnapshotLock   Phase = "snapshot_lock"   // cordum:scheduler:snapshot:writer; none of these is about a job
	SnapshotWrite  Phase = "snapshot_write"  // sys:workers:snapshot
	SnapshotUnlock Phase = "snapshot_unlock" // the writer's lock is given back
	SnapshotRead   Phase = "snapshot_read"   // at start
)

type key struct{}

// Tag is what a context carries: the job and the phase a call serves.
type Tag struct {
	Job   string
	Phase Phase
}

// With tags ctx. A later tag replaces an earlier one.
func With(ctx context.Context, job string, p Phase) context.Context {
	return context.WithValue(ctx, key{}, Tag{job, p})
}

// From returns the tag of ctx, or the zero Tag.
func From(ctx context.Context) Tag {
	t, _ := ctx.Value(key{}).(Tag)
	return t
}
